package span

import (
	"context"
	"encoding/hex"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Key is an attribute of a span. They are the keys of the host's log.
type Key string

// The whole vocabulary.
const (
	Plugin  Key = "plugin"  // name in alineo.toml
	Kind    Key = "kind"    // of an exec: exec, code, interactive, session
	Op      Key = "op"      // what was asked for
	Sandbox Key = "sandbox" // id
	Name    Key = "name"    // of the sandbox, in the ledger
	Seq     Key = "seq"     // of an exec
	Run     Key = "run"     // id that a sandbox shares with those that come from it
)

// Tracer starts spans. A nil Tracer does nothing, and takes no memory for it. It is safe for concurrent
// use.
type Tracer struct{ tracer trace.Tracer }

// New returns a tracer over a provider, and nil for none.
func New(provider trace.TracerProvider) *Tracer {
	if provider == nil {
		return nil
	}
	return &Tracer{provider.Tracer("github.com/alineo-labs/alineo-host")}
}

// Start begins a span inside of the one that ctx is in.
func (t *Tracer) Start(ctx context.Context, name string) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	ctx, s := t.tracer.Start(ctx, name) //nolint:spancheck // the caller ends it
	return ctx, &Span{s}                //nolint:spancheck // the caller ends it
}

// StartFor begins a span that is for several others: inside of it when there is one, else beside them
// and linked with each.
func (t *Tracer) StartFor(ctx context.Context, name string, causes []trace.SpanContext) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	if len(causes) == 1 {
		return t.Start(trace.ContextWithSpanContext(ctx, causes[0]), name)
	}
	links := make([]trace.Link, len(causes))
	for i, cause := range causes {
		links[i].SpanContext = cause
	}
	ctx, s := t.tracer.Start(ctx, name, trace.WithLinks(links...)) //nolint:spancheck // the caller ends it
	return ctx, &Span{s}                                           //nolint:spancheck // the caller ends it
}

// Span is something that takes a while. A nil Span takes everything and keeps nothing.
type Span struct{ span trace.Span }

// Text sets an attribute, unless the value is empty.
func (s *Span) Text(key Key, value string) {
	if s != nil && value != "" {
		s.span.SetAttributes(attribute.String(string(key), value))
	}
}

// Number sets an attribute.
func (s *Span) Number(key Key, value int64) {
	if s != nil {
		s.span.SetAttributes(attribute.Int64(string(key), value))
	}
}

// End ends the span. failure is a word of the caller's for what went wrong, empty when nothing did.
func (s *Span) End(failure string) {
	if s == nil {
		return
	}
	if failure != "" {
		s.span.SetStatus(codes.Error, failure)
	}
	s.span.End()
}

// Of returns the span that ctx is in, as a cause for StartFor. It is not valid when there is none.
func Of(ctx context.Context) trace.SpanContext { return trace.SpanContextFromContext(ctx) }

// Traceparent returns the W3C trace context of the span that ctx is in, empty when there is none.
func Traceparent(ctx context.Context) string {
	of := Of(ctx)
	if !of.IsValid() {
		return ""
	}
	id, span := of.TraceID(), of.SpanID()
	text := make([]byte, 0, len("00-")+2*len(id)+1+2*len(span)+len("-01"))
	text = hex.AppendEncode(append(text, "00-"...), id[:])
	text = hex.AppendEncode(append(text, '-'), span[:])
	return string(hex.AppendEncode(append(text, '-'), []byte{byte(of.TraceFlags())}))
}
