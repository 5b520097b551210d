package ledger

import (
	"context"
	"errors"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/alineo-labs/alineo-host/host/internal/span"
	"github.com/alineo-labs/alineo-host/host/store"
)

// caused remembers in which span the stream's entries come.
func (s *Stream) caused(ctx context.Context) {
	if s.w.tracer == nil {
		return
	}
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.cause = span.Of(ctx)
}

// startSpan begins the span of a commit. One that is for a single exec, say, is inside of the exec's.
func (w *Writer) startSpan(parts []*part) (context.Context, *span.Span) {
	if w.tracer == nil {
		return w.base, nil
	}
	var causes []trace.SpanContext
	for _, p := range parts {
		if p.cause.IsValid() && !slices.ContainsFunc(causes, p.cause.Equal) {
			causes = append(causes, p.cause)
		}
	}
	ctx, s := w.tracer.StartFor(w.base, "ledger.append", causes)
	if len(parts) == 1 {
		s.Text(span.Sandbox, parts[0].stream.key.SandboxID)
		s.Text(span.Name, parts[0].stream.key.Name)
	}
	return ctx, s
}

// failureWord says in a span what went wrong.
func failureWord(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, store.ErrConflict):
		return "conflict"
	case errors.Is(err, store.ErrInvalid):
		return "invalid"
	case errors.Is(err, store.ErrUnknownOutcome):
		return "unknown outcome"
	case errors.Is(err, store.ErrUnavailable):
		return "unavailable"
	}
	return "failed"
}
