package opensandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// How long the parts of a cancelled command's end may take.
const (
	// A command can only be interrupted by the id in its first event.
	startGrace = 2 * time.Second
	// SIGTERM, 3 s, SIGKILL, and the way there and back.
	interruptTimeout = 8 * time.Second
	// After the interrupt the terminal event is on its way, behind output that was not read yet.
	// That may take a while when the reader is slow, but the server must keep talking.
	endGrace  = 2 * time.Second
	drainTime = 30 * time.Second
	// What may follow the terminal event of code is on its way when that comes.
	tailTime = 5 * time.Second
)

var errStreamClosed = errors.New("the stream was closed")

// Stream is the events of one running command. Next and Close are for one goroutine; ID is for any.
type Stream struct {
	execd  *Execd
	call   call
	events *EventReader
	body   atomic.Pointer[liveBody]
	cancel context.CancelCauseFunc // ends the request
	// gaveUp returns why the caller's context ended, nil while it stands.
	gaveUp func() error

	idMu sync.Mutex
	id   string

	started chan struct{}      // closed when the id is known
	ended   context.Context    //nolint:containedctx // ends with the command; the parent of the interrupt's context
	markEnd context.CancelFunc // the terminal event was seen
	closed  chan struct{}      // closed by Close
	stopped chan struct{}      // closed when stop has returned
	tail    *time.Timer        // of code that has completed
	detach  func() bool        // see context.AfterFunc
}

// openEvents sends the request. Its context outlives the caller's by the time that an orderly end
// takes.
func (e *Execd) openEvents(ctx context.Context, call call, ends streamEnd) (*Stream, error) {
	// The request below does not end with ctx, so what can be known before is asked under it.
	if _, _, err := e.c.resolve(ctx, call.to); err != nil {
		return nil, &resolveError{call: call, err: err}
	}
	if ctx.Err() != nil {
		return nil, call.fail(ctx, context.Cause(ctx))
	}
	call.bears = true
	detached := context.WithoutCancel(ctx)
	reqCtx, cancel := context.WithCancelCause(detached)
	s := &Stream{
		execd:   e,
		call:    call,
		cancel:  cancel,
		started: make(chan struct{}),
		closed:  make(chan struct{}),
		stopped: make(chan struct{}),
		gaveUp:  func() error { return context.Cause(ctx) },
	}
	s.ended, s.markEnd = context.WithCancel(detached)
	s.detach = context.AfterFunc(ctx, s.stop)
	body, err := e.c.openStream(reqCtx, cancel, call, nil)
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	s.body.Store(body)
	s.events = NewEventReader(body, e.c.opts.MaxLine)
	s.events.ends = ends
	return s, nil
}

// ID returns the command's id in the sandbox, empty until the first event was read.
func (s *Stream) ID() string {
	s.idMu.Lock()
	defer s.idMu.Unlock()
	return s.id
}

// Next returns the next event, valid until the call after. It returns io.EOF after the terminal
// event, *Error when the server failed in the middle, and ErrStreamLost when the stream broke; with
// the cause of the caller's context, when that is what broke it.
func (s *Stream) Next() (*Frame, error) {
	frame, err := s.events.Next()
	if err != nil {
		return nil, s.fail(err)
	}
	switch {
	case frame.Type == TypeInit && s.ID() == "" && frame.HasText():
		s.idMu.Lock()
		s.id = frame.Text()
		s.idMu.Unlock()
		close(s.started)
	case frame.Failure != nil:
		frame.Failure.Op, frame.Failure.Subject = s.call.op, s.call.subject
		s.markEnd()
	case frame.Terminal() && s.events.ends == endsAtTerminal:
		s.markEnd()
	case frame.Type == TypeExecutionComplete:
		s.markEnd()
		if s.tail == nil {
			s.tail = time.AfterFunc(tailTime, func() { s.cancel(errTailOver) })
		}
	}
	return frame, nil
}

func (s *Stream) fail(err error) error {
	var refused *Error
	if errors.Is(err, io.EOF) && !errors.Is(err, ErrStreamLost) || errors.As(err, &refused) {
		return err
	}
	if cause := s.gaveUp(); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return fmt.Errorf("%s: %w", s.call.name(), err)
}

// stop ends the command in an orderly way after the caller gave up. It runs beside Next.
func (s *Stream) stop() {
	defer close(s.stopped)
	grace := time.NewTimer(startGrace)
	defer grace.Stop()
	select {
	case <-s.started:
	case <-s.closed:
	case <-s.ended.Done():
	case <-grace.C:
	}
	if id := s.ID(); id != "" && s.ended.Err() == nil {
		ctx, cancel := context.WithTimeout(s.ended, interruptTimeout)
		// It fails when the sandbox is gone or out of reach, and then there is nothing more to try:
		// the caller learns from the stream that it was lost.
		_ = s.execd.Interrupt(ctx, id)
		cancel()
		if body := s.body.Load(); body != nil {
			body.idle.shorten(endGrace)
		}
		grace.Reset(drainTime)
		select {
		case <-s.closed:
		case <-s.ended.Done():
		case <-grace.C:
		}
	}
	if s.ended.Err() == nil {
		s.cancel(s.gaveUp())
	}
}

// Close lets go of the stream without reading on. If the caller's context has ended, it waits until
// the command was interrupted. It is idempotent and returns nil.
func (s *Stream) Close() error {
	select {
	case <-s.closed:
		return nil
	default:
	}
	close(s.closed)
	if !s.detach() {
		<-s.stopped
	}
	if s.tail != nil {
		s.tail.Stop()
	}
	s.cancel(errStreamClosed)
	s.markEnd()
	if body := s.body.Load(); body != nil {
		_ = body.Close() // the connection is dropped with it, and nothing was to be read any more
	}
	return nil
}
