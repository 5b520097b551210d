package sandbox

import (
	"context"
	"errors"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/internal/span"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// startSpan begins a span about the sandbox.
func (h *Handle) startSpan(ctx context.Context, name string) (context.Context, *span.Span) {
	ctx, s := h.c.trace.Start(ctx, name)
	s.Text(span.Sandbox, h.id)
	s.Text(span.Name, h.name)
	s.Text(span.Run, h.identity.RunID)
	return ctx, s
}

// failureWord says in a span what went wrong, without anything of what an error's text may hold. That a
// command did not exit with 0 is its own business.
func failureWord(err error) string {
	if err == nil || errors.Is(err, ErrDetached) {
		return ""
	}
	if _, code := errors.AsType[*CommandError](err); code {
		return ""
	}
	if _, start := errors.AsType[*StartError](err); start {
		return "not started"
	}
	for _, known := range [...]struct {
		err  error
		word string
	}{
		{ErrStreamLost, "stream lost"},
		{ErrDivergence, "divergence"},
		{ErrClosed, "closed"},
		{ErrInvalid, "invalid"},
		{ErrNotReady, "not ready"},
		{ErrPaused, "paused"},
		{ErrLookOnly, "look only"},
		{ErrNoFork, "no fork"},
		{ErrLimit, "limit"},
		{credential.ErrUnresolved, "credential unresolved"},
		{store.ErrUnknownOutcome, "ledger unknown outcome"},
		{store.ErrUnavailable, "ledger unavailable"},
		{store.ErrConflict, "ledger conflict"},
		{store.ErrNotFound, "not found"},
		{opensandbox.ErrNotFound, "not found"},
		{opensandbox.ErrConflict, "conflict"},
		{opensandbox.ErrUnauthorized, "unauthorized"},
		{opensandbox.ErrTimeout, "timeout"},
		{context.Canceled, "canceled"},
		{context.DeadlineExceeded, "timeout"},
	} {
		if errors.Is(err, known.err) {
			return known.word
		}
	}
	return "failed"
}
