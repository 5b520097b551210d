package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/alineo-labs/alineo-host/host/durable"
	"github.com/alineo-labs/alineo-host/host/store"
)

// httpError is an answer that is no success. It is what clients see.
type httpError struct {
	status  int
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (e *httpError) Error() string { return e.Code + ": " + e.Message }

// stopping refuses what begins something when the daemon is about to end.
func stopping() error {
	return &httpError{http.StatusServiceUnavailable, "closing", "this host is stopping; ask again, or another one"}
}

func invalid(format string, args ...any) error {
	return &httpError{http.StatusBadRequest, "invalid", fmt.Sprintf(format, args...)}
}

// answerOf is the answer to an error of ours; nil when it is none that a client can do anything about.
func answerOf(err error) *httpError {
	if known, ok := errors.AsType[*httpError](err); ok {
		return known
	}
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &httpError{http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("a request may bring %d bytes", large.Limit)}
	}
	for _, of := range [...]struct {
		err    error
		status int
		code   string
	}{
		{durable.ErrExists, http.StatusConflict, "exists"},
		{durable.ErrEnded, http.StatusConflict, "ended"},
		{durable.ErrDriven, http.StatusConflict, "driven"},
		{durable.ErrUnfenced, http.StatusConflict, "unfenced"},
		{durable.ErrTruncated, http.StatusGone, "truncated"},
		{durable.ErrClosed, http.StatusServiceUnavailable, "closing"},
		{store.ErrNotFound, http.StatusNotFound, "not_found"},
		{store.ErrConflict, http.StatusConflict, "conflict"},
		{store.ErrInvalid, http.StatusBadRequest, "invalid"},
		{store.ErrUnsupported, http.StatusNotImplemented, "unsupported"},
		{store.ErrUnavailable, http.StatusServiceUnavailable, "unavailable"},
		{store.ErrUnknownOutcome, http.StatusServiceUnavailable, "unknown_outcome"},
	} {
		if errors.Is(err, of.err) {
			return &httpError{of.status, of.code, err.Error()}
		}
	}
	return nil
}

// fail answers with an error, unless an answer has begun.
func (s *Server) fail(w *answer, r *http.Request, err error) {
	if w.code != 0 {
		s.log.Debug("an answer was cut off", "op", r.Pattern, "err", err)
		return
	}
	known := answerOf(err)
	if known == nil {
		if r.Context().Err() != nil || errors.Is(err, context.Canceled) {
			w.code = 499 // as others count those who went away; nobody reads it
			return
		}
		// What went wrong may name what is private to this machine.
		s.log.Error("a request failed", "op", r.Pattern, "err", err)
		known = &httpError{http.StatusInternalServerError, "internal", "something went wrong here; this host's log says what"}
	}
	if known.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="alineo-host"`)
	}
	if err := writeJSON(w, known.status, known); err != nil {
		s.log.Debug("an answer was cut off", "op", r.Pattern, "err", err)
	}
}

// answer remembers the status that was sent.
type answer struct {
	http.ResponseWriter
	code int
}

func (a *answer) WriteHeader(code int) {
	if a.code == 0 {
		a.code = code
	}
	a.ResponseWriter.WriteHeader(code)
}

func (a *answer) Write(data []byte) (int, error) {
	if a.code == 0 {
		a.code = http.StatusOK
	}
	return a.ResponseWriter.Write(data)
}

// Unwrap lets http.ResponseController find what this is around.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// writeJSON answers with v.
func writeJSON(w http.ResponseWriter, code int, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding an answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	if _, err := w.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("answering: %w", err)
	}
	return nil
}

// empty answers that it was done.
func empty(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}
