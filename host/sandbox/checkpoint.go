package sandbox

import (
	"context"
	"fmt"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// Checkpoint takes a snapshot of the sandbox's files, waits until it is ready, records it, and
// returns its id. name tags it for Resume; it may be empty, and need not be new. What runs meanwhile
// is neither stopped nor waited for.
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
	snapshot, err := h.c.wire.CreateSnapshot(ctx, h.id, name)
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

// drop deletes a snapshot that the ledger will not know. A server may refuse while it is still making
// it; it then stays on the server.
func (h *Handle) drop(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if err := h.c.wire.DeleteSnapshot(ctx, id); err != nil {
		h.log.Warn("a snapshot that the ledger does not know could not be deleted", "snapshot", id, "err", err)
	}
}
