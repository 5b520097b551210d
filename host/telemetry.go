package host

import (
	"context"

	"github.com/alineo-labs/alineo-host/host/internal/span"
	"github.com/alineo-labs/alineo-host/host/internal/telemetry"
)

// openTelemetry makes ready to send spans where [telemetry] says, unless the embedder takes them.
func (h *Host) openTelemetry(ctx context.Context) error {
	if h.tracers != nil || h.cfg.Telemetry.OTLP == "" {
		return nil
	}
	provider, err := telemetry.Open(ctx, telemetry.Options{
		Endpoint: h.cfg.Telemetry.OTLP, Headers: h.cfg.Telemetry.Headers.Reveal(), Version: version,
		Logger: h.log.Named("telemetry"),
	})
	if err != nil {
		return err
	}
	h.telemetry, h.tracers = provider, provider
	return nil
}

// closeTelemetry sends what is left. A collector that does not take it is not the work's failure.
func (h *Host) closeTelemetry(ctx context.Context) {
	if h.telemetry != nil {
		h.telemetry.Close(ctx)
	}
}

// traceparent returns what tells a server which span a request is in; nil when nobody wants spans.
func (h *Host) traceparent() func(context.Context) string {
	if h.tracers == nil {
		return nil
	}
	return span.Traceparent
}
