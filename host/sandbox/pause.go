package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

const (
	opPause   = "pausing"
	opUnpause = "unpausing"
)

// lookWithin bounds how long it is looked for what the server did, when it didn't say so.
const lookWithin = 5 * time.Second

// Pause freezes the sandbox's processes, waits until they are, and records it. Until [Handle.Unpause],
// execs and files are ErrPaused; Close and renewing go on working, and so does Checkpoint where the
// server can. A command that runs meanwhile stands still, and goes on without loss: its silence is borne
// with, also when another process pauses the sandbox. A server or a proxy may cut its connection all the
// same; ExecOptions.Background outlives that.
func (h *Handle) Pause(ctx context.Context) error {
	err := h.drives()
	if err == nil {
		err = h.ready()
	}
	if err != nil {
		return h.fail(opPause, err)
	}
	h.execd.ExpectSilence(true)
	err = h.c.wire.PauseSandbox(ctx, h.id)
	if err != nil && lost(err) && h.stands(ctx, opensandbox.StatePausing, opensandbox.StatePaused) {
		err = nil
	}
	if err != nil {
		h.execd.ExpectSilence(false)
		return h.fail(opPause, err)
	}
	h.setPaused(true)
	if err := h.awaitState(ctx, opensandbox.StatePaused); err != nil {
		return h.fail(opPause, err)
	}
	if err := h.append(ctx, ledger.Event{Step: -1, Name: store.EventSandboxPaused}); err != nil {
		return h.fail(opPause, err)
	}
	return h.fail(opPause, guard("SandboxPaused", func() { h.hooks.paused(h.id) }))
}

// Unpause lets a paused sandbox go on, waits until it answers, and records it.
func (h *Handle) Unpause(ctx context.Context) error {
	if err := h.drives(); err != nil {
		return h.fail(opUnpause, err)
	}
	err := h.c.wire.ResumeSandbox(ctx, h.id)
	// One that this handle thinks to be paused may go on already: another process, or an earlier call that was
	// interrupted, did that.
	before := errors.Is(err, opensandbox.ErrConflict) && errors.Is(h.ready(), ErrPaused)
	if err != nil && (lost(err) || before) && h.stands(ctx, opensandbox.StateResuming, opensandbox.StateRunning) {
		err = nil
	}
	if err != nil {
		return h.fail(opUnpause, err)
	}
	if err := h.awaitState(ctx, opensandbox.StateRunning); err != nil {
		return h.fail(opUnpause, err)
	}
	if err := h.c.awaitExecd(ctx, h.id); err != nil {
		return h.fail(opUnpause, err)
	}
	h.setPaused(false)
	h.execd.ExpectSilence(false)
	if err := h.append(ctx, ledger.Event{Step: -1, Name: store.EventSandboxResumed}); err != nil {
		return h.fail(opUnpause, err)
	}
	return h.fail(opUnpause, guard("SandboxResumed", func() { h.hooks.unpaused(h.id) }))
}

// stands reports whether the sandbox is in one of the states. It is asked also when ctx has ended: what the
// server may have done meanwhile decides about what comes next.
func (h *Handle) stands(ctx context.Context, states ...string) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookWithin)
	defer cancel()
	box, err := h.c.wire.GetSandbox(ctx, h.id)
	return err == nil && slices.Contains(states, box.Status.State)
}

func (h *Handle) setPaused(paused bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.paused = paused
}

func (h *Handle) awaitState(ctx context.Context, want string) error {
	var status opensandbox.Status
	late := func() error {
		return fmt.Errorf("%w: it did not reach %s within %s, and is %s", ErrNotReady, want, h.c.opts.ReadyTimeout, describe(status))
	}
	return poll(ctx, h.c.opts.ReadyTimeout, maxStateWait, late, func() (bool, error) {
		box, err := h.c.wire.GetSandbox(ctx, h.id)
		if err != nil {
			return false, err
		}
		status = box.Status
		if status.State == want {
			return true, nil
		}
		_, err = settled(status)
		return false, err
	})
}
