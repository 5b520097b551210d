package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/alineo-labs/alineo-host/host/durable"
)

const (
	// beatEvery is how often a stream without news says that it is there, so that nobody in between cuts
	// it off.
	beatEvery = 15 * time.Second
	// writeWithin is how long a viewer may take nothing. It holds nobody up, but a connection.
	writeWithin = 2 * time.Minute
)

// viewRun streams a run's events, as server-sent events. The id of each is where to go on: a client that
// comes back with Last-Event-ID, as browsers do, gets what follows. A client that has all of a run that has
// ended gets 204, which tells browsers not to come back.
func (s *Server) viewRun(w http.ResponseWriter, r *http.Request) error {
	opts, err := attachOptions(r)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	run, err := s.runs.Get(r.Context(), id)
	if err != nil {
		return err
	}
	if !run.Status.Terminal() {
		if err := s.ours(r.Context(), id); err != nil {
			return err
		}
		if s.draining.Load() {
			return stopping()
		}
	}
	viewer, err := s.runs.Attach(r.Context(), id, opts)
	if err != nil {
		return err
	}
	defer func() { _ = viewer.Close() }() // it returns nil
	defer s.metrics.view()()
	control := http.NewResponseController(w)
	// The time that a request may take to come is over; this one is answered for as long as it takes.
	if err := control.SetReadDeadline(time.Time{}); err != nil {
		return fmt.Errorf("streaming: %w", err)
	}
	stream := &stream{w: w, control: control}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	events, failed := make(chan durable.Event), make(chan error, 1)
	go func() { failed <- forward(ctx, viewer, events) }()
	defer func() {
		cancel(nil)
		s.log.Trace("a viewer left", "op", "view", "run", id, "err", <-failed)
	}()
	// The connection may have more requests.
	defer func() { _ = control.SetWriteDeadline(time.Time{}) }() // one that fails is broken
	if run.Status.Terminal() {
		// Whether anything is left is known at once.
		select {
		case event := <-events:
			if err := stream.event(event); err != nil {
				return err
			}
		case err := <-failed:
			failed <- err
			if errors.Is(err, io.EOF) {
				return empty(w)
			}
			return err
		}
	} else if err := stream.open(); err != nil {
		return err
	}
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for {
		select {
		case event := <-events:
			err = stream.event(event)
		case <-beat.C:
			err = stream.beat()
		case <-s.leaving:
			return nil // the client comes back, here or to another host
		case err = <-failed:
			failed <- err
			if errors.Is(err, io.EOF) || errors.Is(err, durable.ErrClosed) {
				return nil
			}
			s.log.Debug("a viewer could not be served any more", "op", "view", "run", id, "err", err)
			return stream.failure(answerOf(err))
		}
		if err != nil {
			return err
		}
	}
}

// forward passes on what a viewer sees, one event at a time, until that ends.
func forward(ctx context.Context, viewer *durable.Viewer, to chan<- durable.Event) error {
	for {
		event, err := viewer.Next(ctx)
		if err != nil {
			return err
		}
		select {
		case to <- event:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// attachOptions are where a viewer wants to begin: behind Last-Event-ID, else behind ?after=.
func attachOptions(r *http.Request) (durable.AttachOptions, error) {
	q := queryOf(r, "after", "live")
	var opts durable.AttachOptions
	if after := q.number("after", math.MaxInt64); after != nil {
		opts.After = uint64(*after)
	}
	if q.err != nil {
		return opts, q.err
	}
	switch live := q.values.Get("live"); live {
	case "", "false":
	case "true":
		opts.Live = true
	default:
		return opts, invalid("live=%q is neither true nor false", live)
	}
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		after, err := strconv.ParseUint(last, 10, 63)
		if err != nil {
			return opts, invalid("Last-Event-ID %q is no offset of an event", last)
		}
		opts = durable.AttachOptions{After: after}
	}
	return opts, nil
}

// stream writes server-sent events.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	opened  bool
}

func (s *stream) open() error {
	s.opened = true
	head := s.w.Header()
	head.Set("Content-Type", "text/event-stream")
	head.Set("Cache-Control", "no-store")
	head.Set("X-Accel-Buffering", "no") // nginx would wait for more
	head.Set("X-Content-Type-Options", "nosniff")
	s.w.WriteHeader(http.StatusOK)
	return s.flush()
}

// event writes an event. Its kind stands in its data, because others choose it.
func (s *stream) event(event durable.Event) error {
	data, err := json.Marshal(event)
	if err != nil {
		return fmt.Errorf("encoding an event: %w", err)
	}
	return s.write("id: " + strconv.FormatUint(event.Offset, 10) + "\ndata: " + string(data) + "\n\n")
}

func (s *stream) beat() error { return s.write(": still here\n\n") }

// failure tells why the stream ends before the run.
func (s *stream) failure(why *httpError) error {
	if why == nil {
		why = &httpError{Code: "internal", Message: "something went wrong here; this host's log says what"}
	}
	data, err := json.Marshal(why)
	if err != nil {
		return fmt.Errorf("encoding an error: %w", err)
	}
	return s.write("event: failure\ndata: " + string(data) + "\n\n")
}

func (s *stream) write(text string) error {
	if !s.opened {
		if err := s.open(); err != nil {
			return err
		}
	}
	if err := s.control.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil {
		return fmt.Errorf("streaming: %w", err)
	}
	if _, err := io.WriteString(s.w, text); err != nil {
		return fmt.Errorf("streaming: %w", err)
	}
	return s.flush()
}

func (s *stream) flush() error {
	if err := s.control.Flush(); err != nil {
		return fmt.Errorf("streaming: %w", err)
	}
	return nil
}
