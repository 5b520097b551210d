package telemetry

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// closeWithin bounds the sending of what is left at the end.
const closeWithin = 5 * time.Second

// Options configures a Provider. Only Endpoint is required.
type Options struct {
	// Endpoint is the collector's base URL, such as http://127.0.0.1:4318; /v1/traces is added.
	Endpoint string
	// Headers go with each request: name=value, several with commas between, values percent-encoded.
	Headers string
	// Version is the host's.
	Version string
	Logger  hclog.Logger // nil: none
}

// Provider makes tracers whose spans go to a collector.
type Provider struct {
	*sdktrace.TracerProvider

	log hclog.Logger
}

// Open returns a provider. It does no I/O.
func Open(ctx context.Context, opts Options) (*Provider, error) {
	if opts.Logger == nil {
		opts.Logger = hclog.NewNullLogger()
	}
	sender, err := newExporter(opts)
	if err != nil {
		return nil, fmt.Errorf("configuring telemetry: %w", err)
	}
	about, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "alineo-host"), attribute.String("service.version", opts.Version)),
		resource.WithFromEnv(), // wins
	)
	if err != nil {
		return nil, fmt.Errorf("configuring telemetry from OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return &Provider{
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithBatcher(sender), sdktrace.WithResource(about)),
		log:            opts.Logger,
	}, nil
}

// Close sends what is left, for a few seconds at most. What could not be sent is told in the log.
func (p *Provider) Close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, closeWithin)
	defer cancel()
	if err := p.Shutdown(ctx); err != nil {
		p.log.Warn("not all spans could be sent", "err", err)
	}
}
