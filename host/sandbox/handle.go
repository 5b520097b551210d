package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

const (
	// closeTimeout bounds each of the things that Close does.
	closeTimeout = 30 * time.Second
	// execGrace is how long Close lets interrupted commands tell how they ended, before the sandbox
	// is deleted under them.
	execGrace = 5 * time.Second
)

// Handle is one open sandbox. It is safe for concurrent use.
type Handle struct {
	c         *Client
	id, name  string
	identity  identity
	shell     string
	lifetime  time.Duration // that it is renewed to; 0: it does not expire
	resources Resources
	stream    *ledger.Stream // nil for a handle that only looks
	execd     *opensandbox.Execd
	hooks     *Hooks
	replay    *replay
	log       hclog.Logger
	bound     *bindings
	policed   bool   // it may have a network policy
	release   func() // gives the slot back
	// leave ends being found by others, and departed is closed when that begins; see Drivers.
	leave    func(context.Context)
	departed chan struct{}

	turn chan struct{} // held while an exec takes its seq and its place in the ledger
	seq  int64         // of the last exec; held by turn

	mu      sync.Mutex
	closing bool
	paused  bool
	works   int // execs that keep it alive
	// stopKeeping ends what renews its life meanwhile.
	stopKeeping context.CancelFunc
	keeping     sync.WaitGroup
	running     map[*Exec]struct{}
	// sessions are those that the caller has not closed.
	sessions map[*Session]struct{}
	fenced   error // another driver has the sandbox
	execs    sync.WaitGroup

	quit      chan struct{} // closed when the handle takes no more work
	closeOnce sync.Once
	closeErr  error
}

func (c *Client) newHandle(l *launch, id string, stream *ledger.Stream, release func()) *Handle {
	shell := l.shell
	if shell == "" {
		shell = DefaultShell
	}
	return &Handle{
		c: c, id: id, name: l.name, identity: l.identity, shell: shell, resources: l.resources,
		stream: stream, execd: c.wire.Execd(id), hooks: l.hooks, replay: l.replay, seq: l.after, release: release,
		log:      c.log.With("sandbox", id, "name", l.name),
		policed:  l.request.NetworkPolicy != nil,
		bound:    newBindings(l.request.CredentialProxy != nil, true),
		lifetime: time.Duration(l.request.Timeout) * time.Second,
		turn:     make(chan struct{}, 1),
		running:  make(map[*Exec]struct{}),
		sessions: make(map[*Session]struct{}),
		quit:     make(chan struct{}),
		departed: make(chan struct{}),
	}
}

// ID returns the server's id of the sandbox.
func (h *Handle) ID() string { return h.id }

// Name returns the name under which the ledger has it.
func (h *Handle) Name() string { return h.name }

// RunID returns the id that resumed and forked sandboxes have in common with those they come from.
func (h *Handle) RunID() string { return h.identity.RunID }

// Key returns where in the ledger it is.
func (h *Handle) Key() store.Key { return store.Key{Name: h.name, SandboxID: h.id} }

// Resources returns what it was given.
func (h *Handle) Resources() Resources { return h.resources }

// Emit adds an event of the caller's own to the sandbox's ledger and returns when it is committed.
// The names of the host's own events are refused: sandbox., exec., credential. and egress. payload is
// anything that encodes to JSON; nil is no payload.
func (h *Handle) Emit(ctx context.Context, event string, payload any) error {
	const op = "emitting event"
	if event == "" || store.Reserved(event) {
		return h.fail(op, fmt.Errorf("%w: the event name %q is empty or one of the host's own", ErrInvalid, event))
	}
	var raw json.RawMessage
	switch p := payload.(type) {
	case nil:
	case json.RawMessage:
		raw = append(raw, p...)
	default:
		var err error
		if raw, err = encode(p); err != nil {
			return h.fail(op, fmt.Errorf("%w: %w", ErrInvalid, err))
		}
	}
	if err := h.drives(); err != nil {
		return h.fail(op, err)
	}
	return h.fail(op, h.append(ctx, ledger.Event{Step: -1, Name: event, Payload: raw}))
}

// Renew moves the end of the sandbox's life and returns what the server made of it.
func (h *Handle) Renew(ctx context.Context, at time.Time) (time.Time, error) {
	if err := h.open(); err != nil {
		return time.Time{}, h.fail("renewing", err)
	}
	until, err := h.c.wire.RenewExpiration(ctx, h.id, at)
	return until, h.fail("renewing", err)
}

// Close ends what still runs, deletes the sandbox, and records that. It works when ctx is over,
// takes a minute or so at most, and gives the place under MaxConcurrency back whatever happens. Only
// the first call does something; the others wait for it and return the same. A handle that only looks
// does not end the sandbox.
func (h *Handle) Close(ctx context.Context) error {
	if h.stream == nil {
		return h.Detach(ctx)
	}
	h.closeOnce.Do(func() {
		h.closeErr = h.fail("closing", h.close(context.WithoutCancel(ctx)))
	})
	return h.closeErr
}

// Detach lets go of the sandbox without ending it: what still runs is waited for until ctx ends, and
// then interrupted. The place under MaxConcurrency is given back; the ledger stays open, and
// [Client.Connect] goes on. After it, as after Close, the handle takes no work.
func (h *Handle) Detach(ctx context.Context) error {
	h.closeOnce.Do(func() {
		defer h.release()
		defer h.depart(ctx)
		ended := h.refuse()
		select {
		case <-ended:
		case <-ctx.Done():
			h.interrupt()
			within(ended, execGrace)
			h.closeErr = h.fail("detaching", context.Cause(ctx))
		}
		h.execd.ExpectSilence(false)
		h.keeping.Wait()
		h.endSessions(context.WithoutCancel(ctx))
		h.bound.end()
	})
	return h.closeErr
}

// refuse takes no more work and returns what is closed when the work that there is has ended.
func (h *Handle) refuse() (ended chan struct{}) {
	h.mu.Lock()
	h.closing = true
	h.mu.Unlock()
	close(h.quit)
	ended = make(chan struct{})
	go func() {
		h.execs.Wait()
		close(ended)
	}()
	return ended
}

func (h *Handle) interrupt() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for exec := range h.running {
		exec.cancel(errHandleClosed)
	}
}

func (h *Handle) close(ctx context.Context) error {
	defer h.release()
	defer h.bound.end()
	defer h.depart(ctx)
	ended := h.refuse()
	h.interrupt()
	h.mu.Lock()
	paused := h.paused
	h.mu.Unlock()
	if !paused { // what is frozen can't tell how it ends
		within(ended, execGrace)
	}

	h.mu.Lock()
	fenced := h.fenced
	h.mu.Unlock()
	if fenced != nil {
		// It is somebody else's sandbox now, and so is its ledger.
		return fmt.Errorf("the sandbox is left alone: %w", fenced)
	}
	var clearErr error
	if !paused { // else its sidecar is, too
		clearErr = h.clearCredentials(ctx)
	}
	deleteErr := h.delete(ctx)
	if deleteErr != nil {
		deleteErr = errors.Join(deleteErr, clearErr)
	} else if clearErr != nil {
		h.log.Debug("the sandbox's credentials ended with it", "err", clearErr)
	}
	h.execd.ExpectSilence(false)
	within(ended, closeTimeout) // the streams of what still ran break now

	h.keeping.Wait()

	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	ledgerErr := h.append(ctx, ledger.Event{Step: -1, Name: store.EventSandboxClosed})
	var hookErr error
	if ledgerErr == nil {
		hookErr = guard("SandboxClosed", func() { h.hooks.closed(h.id) })
	}
	return errors.Join(deleteErr, ledgerErr, hookErr)
}

func (h *Handle) delete(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	return h.c.wire.DeleteSandbox(ctx, h.id)
}

func within(done <-chan struct{}, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// open reports whether the handle takes work.
func (h *Handle) open() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closing:
		return fmt.Errorf("the handle is %w", ErrClosed)
	case h.fenced != nil:
		return h.fenced
	}
	return nil
}

// drives is open, for what is recorded.
func (h *Handle) drives() error {
	if err := h.open(); err != nil {
		return err
	}
	if h.stream == nil {
		return ErrLookOnly
	}
	return nil
}

// ready is open, for what needs the sandbox's processes.
func (h *Handle) ready() error {
	if err := h.open(); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.paused {
		return ErrPaused
	}
	return nil
}

// append writes an event of the sandbox and waits for the commit.
func (h *Handle) append(ctx context.Context, event ledger.Event) error {
	return h.noted(h.stream.Append(ctx, event))
}

// noted remembers that another driver has taken the sandbox over.
func (h *Handle) noted(err error) error {
	if errors.Is(err, store.ErrConflict) {
		h.mu.Lock()
		h.fenced = err
		h.mu.Unlock()
	}
	return err
}

func (h *Handle) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return h.c.fail(op, h.id, err)
}
