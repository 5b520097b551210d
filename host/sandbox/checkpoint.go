package sandbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// Checkpoint takes a snapshot of the sandbox's files, waits until it is ready, records it, and
// returns its id. name tags it for Resume; it may be empty, and need not be new. What runs meanwhile
// is neither stopped nor waited for. When ctx ends first, the snapshot is deleted as soon as the server does
// that.
func (h *Handle) Checkpoint(ctx context.Context, name string) (string, error) {
	ctx, s := h.startSpan(ctx, "sandbox.checkpoint")
	snapshot, err := h.checkpoint(ctx, name)
	s.End(failureWord(err))
	return snapshot, err
}

func (h *Handle) checkpoint(ctx context.Context, name string) (string, error) {
	const op = "making checkpoint"
	if err := h.drives(); err != nil {
		return "", h.fail(op, err)
	}
	if err := h.c.mayRecord("its name", name); err != nil {
		return "", h.fail(op, err)
	}
	snapshot, err := h.snapshot(ctx, name)
	if err != nil {
		return "", h.fail(op, err)
	}
	if err := h.awaitSnapshot(ctx, snapshot); err != nil {
		h.drop(ctx, snapshot.ID)
		return "", h.fail(op, err)
	}
	payload, err := encode(struct {
		SnapshotID string `json:"snapshotId"`
		Name       string `json:"name,omitempty"`
	}{snapshot.ID, name})
	if err != nil {
		h.drop(ctx, snapshot.ID)
		return "", h.fail(op, err)
	}
	event := ledger.Event{Step: -1, Name: store.EventCheckpointCreated, Payload: payload}
	if err := h.append(ctx, event); err != nil {
		if unwritten(err) {
			h.drop(ctx, snapshot.ID) // else the ledger may know it
		}
		return "", h.fail(op, err)
	}
	if err := guard("Checkpoint", func() { h.hooks.checkpoint(h.id, snapshot.ID, name) }); err != nil {
		return snapshot.ID, h.fail(op, err)
	}
	return snapshot.ID, nil
}

// Checkpoints lists the sandbox's own checkpoints, oldest first.
func (h *Handle) Checkpoints(ctx context.Context) ([]store.Checkpoint, error) {
	list := []store.Checkpoint{}
	for c, err := range ledger.Checkpoints(ctx, h.c.store, h.Key()) {
		if err != nil {
			return nil, h.fail("listing checkpoints", err)
		}
		list = append(list, c)
	}
	return list, nil
}

func (h *Handle) awaitSnapshot(ctx context.Context, snapshot *opensandbox.Snapshot) error {
	status := snapshot.Status
	late := func() error {
		return fmt.Errorf("%w: snapshot %s is not ready within %s, and is %s", ErrNotReady, snapshot.ID, h.c.opts.ReadyTimeout, describe(status))
	}
	first := true
	return poll(ctx, h.c.opts.ReadyTimeout, maxSnapshotWait, late, func() (bool, error) {
		if !first || status.State == "" {
			now, err := h.c.wire.GetSnapshot(ctx, snapshot.ID)
			if err != nil {
				return false, err
			}
			status = now.Status
		}
		first = false
		if status.State == opensandbox.SnapshotFailed {
			return false, fmt.Errorf("%w: snapshot %s is %s", ErrNotReady, snapshot.ID, describe(status))
		}
		return status.State == opensandbox.SnapshotReady, nil
	})
}

// snapshot has the server begin a snapshot. Servers make one that nobody waits for any more, too, so the
// answer is always waited for: here or, when ctx ends, behind the caller's back, to delete it.
func (h *Handle) snapshot(ctx context.Context, name string) (*opensandbox.Snapshot, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	type answer struct {
		snapshot *opensandbox.Snapshot
		err      error
	}
	answers := make(chan answer, 1)
	detached := context.WithoutCancel(ctx)
	h.c.behind(func() {
		snapshot, err := h.c.wire.CreateSnapshot(detached, h.id, name)
		answers <- answer{snapshot, err}
	})
	select {
	case a := <-answers:
		if a.err != nil && lost(a.err) {
			return nil, fmt.Errorf("%w; the server may have made a snapshot that the ledger does not know", a.err)
		}
		return a.snapshot, a.err
	case <-ctx.Done():
	}
	h.c.behind(func() {
		if a := <-answers; a.err == nil {
			h.dropLater(detached, a.snapshot.ID)
		}
	})
	return nil, context.Cause(ctx)
}

// drop deletes a snapshot that the ledger will not know. A server refuses while it is still making it; then it
// is asked again behind the caller's back.
func (h *Handle) drop(ctx context.Context, id string) {
	if err := h.c.wire.DeleteSnapshot(context.WithoutCancel(ctx), id); errors.Is(err, opensandbox.ErrConflict) {
		h.c.behind(func() { h.dropLater(ctx, id) })
	} else if err != nil {
		h.kept(id, err)
	}
}

// dropLater is drop for who can wait.
func (h *Handle) dropLater(ctx context.Context, id string) {
	ctx = context.WithoutCancel(ctx)
	var last error
	err := poll(ctx, cleanupTimeout, maxSnapshotWait, func() error { return last }, func() (bool, error) {
		last = h.c.wire.DeleteSnapshot(ctx, id)
		if errors.Is(last, opensandbox.ErrConflict) {
			return false, nil
		}
		return true, last
	})
	if err != nil {
		h.kept(id, err)
	}
}

func (h *Handle) kept(snapshot string, err error) {
	h.log.Warn("a snapshot that the ledger does not know could not be deleted", "snapshot", snapshot, "err", err)
}
