// Package telemetry sends spans to a collector that speaks OTLP over HTTP.
//
//	provider, err := telemetry.Open(telemetry.Options{Endpoint: "http://127.0.0.1:4318", Version: "1.0"})
//	tracer := provider.Tracer("…")
//	…
//	provider.Close(ctx) // sends what is left
//
// Spans wait in a queue of a few thousand and are sent in batches, apart from the work; when the queue
// is full they are dropped. A collector that does not answer, or refuses, is told in the log, once until
// it answers again, and never fails anything.
//
// The messages are encoded by hand, because the official exporter brings gRPC along; docs/decisions has
// the figures. The variables OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER and
// OTEL_BSP_* work as OpenTelemetry has them.
//
// imports: none of ours.
package telemetry
