package span_test

import (
	"context"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/alineo-labs/alineo-host/host/internal/span"
)

func work(ctx context.Context, t *span.Tracer, id string) {
	ctx, s := t.Start(ctx, "sandbox.exec")
	s.Text(span.Sandbox, id)
	s.Number(span.Seq, 7)
	_, inner := t.StartFor(ctx, "ledger.append", nil)
	inner.End("")
	s.End("")
}

// Off is free.
func TestOffTakesNothing(t *testing.T) { //nolint:paralleltest // it counts allocations
	id := "6f1c2d3e"
	if n := testing.AllocsPerRun(100, func() { work(context.Background(), nil, id) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if got := span.Traceparent(context.Background()); got != "" || span.New(nil) != nil {
		t.Errorf("traceparent %q", got)
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	tracer := span.New(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)))
	ctx, outer := tracer.Start(t.Context(), "outer")
	outer.Text(span.Name, "") // empty says nothing
	outer.Text(span.Kind, "exec")
	_, one := tracer.StartFor(t.Context(), "for one", nil)
	one.End("unavailable")
	other, second := tracer.Start(t.Context(), "second")
	both, shared := tracer.StartFor(t.Context(), "for both", []trace.SpanContext{span.Of(ctx), span.Of(other)})
	if parent := span.Traceparent(both); len(parent) != 55 || parent[:3] != "00-" || parent[52:] != "-01" {
		t.Errorf("traceparent %q", parent)
	}
	shared.End("")
	_, inside := tracer.StartFor(t.Context(), "inside", []trace.SpanContext{span.Of(ctx)})
	inside.End("")
	second.End("")
	outer.End("")
	ended := recorder.Ended()
	if len(ended) != 5 {
		t.Fatalf("%d spans", len(ended))
	}
	if s := ended[0]; s.Status().Description != "unavailable" || s.Parent().IsValid() {
		t.Errorf("got %v", s)
	}
	if s := ended[1]; len(s.Links()) != 2 || !s.Links()[1].SpanContext.Equal(span.Of(other)) || s.Parent().IsValid() {
		t.Errorf("links %v", s.Links())
	}
	if s := ended[2]; s.Parent().SpanID() != span.Of(ctx).SpanID() || len(s.Links()) != 0 {
		t.Errorf("parent %v", s.Parent())
	}
	if s := ended[4]; len(s.Attributes()) != 1 {
		t.Errorf("attributes %v", s.Attributes())
	}
}

func BenchmarkSpan(b *testing.B) {
	for name, tracer := range map[string]*span.Tracer{
		"off": nil,
		"on":  span.New(sdktrace.NewTracerProvider()),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				work(b.Context(), tracer, "6f1c2d3e")
			}
		})
	}
}
