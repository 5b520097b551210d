package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alineo-labs/alineo-host/host/store"
)

// Checkpoint is a checkpoint in a ledger.
type Checkpoint struct {
	Key        store.Key // of the sandbox that made it
	ID         int64     // of its entry
	TS         int64     // Unix milliseconds
	SnapshotID string
	Tag        string
}

// NoCheckpointError says that there is nothing to resume from. It wraps store.ErrNotFound.
type NoCheckpointError struct {
	Key  store.Key
	Tag  string   // that was asked for, empty for any
	Tags []string // that there are
}

// Error says which tags there are.
func (e *NoCheckpointError) Error() string {
	if e.Tag == "" {
		return fmt.Sprintf("sandbox %s has no checkpoint", e.Key)
	}
	if len(e.Tags) == 0 {
		return fmt.Sprintf("sandbox %s has no checkpoint tagged %q, and none with another tag", e.Key, e.Tag)
	}
	quoted := make([]string, len(e.Tags))
	for i, tag := range e.Tags {
		quoted[i] = fmt.Sprintf("%q", tag)
	}
	return fmt.Sprintf("sandbox %s has no checkpoint tagged %q; its tags are %s", e.Key, e.Tag, strings.Join(quoted, ", "))
}

// Unwrap returns store.ErrNotFound.
func (e *NoCheckpointError) Unwrap() error { return store.ErrNotFound }

func isCheckpoint(e *store.Entry) bool {
	return store.CurrentName(e.Event) == store.EventCheckpointCreated
}

// checkpointOf reads a checkpoint's entry; the snapshot is empty when it names none.
func checkpointOf(e *store.Entry) Checkpoint {
	c := Checkpoint{Key: store.Key{Name: e.Name, SandboxID: e.SandboxID}, ID: e.ID, TS: e.TS}
	if o, err := openObject(e.Payload); err == nil {
		for name, value := range o.members() {
			switch name {
			case "snapshotId":
				c.SnapshotID = text(value)
			case "name":
				c.Tag = text(value)
			}
		}
	}
	return c
}

// SelectCheckpoint returns the last checkpoint of a lineage, of those with the tag unless it is
// empty, or a *NoCheckpointError. Checkpoints that name no snapshot are passed over.
func SelectCheckpoint(ctx context.Context, st store.Ledger, lineage []Origin, tag string) (Checkpoint, error) {
	key := lineage[len(lineage)-1].Key
	// Nearly always it is in the sandbox's own ledger, and the store can find it there.
	e, err := st.LastCheckpoint(ctx, key, tag)
	if err == nil {
		if c := checkpointOf(&e); c.SnapshotID != "" {
			return c, nil
		}
	} else if !errors.Is(err, store.ErrNotFound) {
		return Checkpoint{}, fmt.Errorf("selecting a checkpoint of %s: %w", key, err)
	}
	var last Checkpoint
	var tags []string
	for e, err := range ReadHistory(ctx, st, lineage) {
		if err != nil {
			return Checkpoint{}, fmt.Errorf("selecting a checkpoint of %s: %w", key, err)
		}
		if !isCheckpoint(&e) {
			continue
		}
		c := checkpointOf(&e)
		if c.SnapshotID == "" {
			continue
		}
		if c.Tag != "" && !slices.Contains(tags, c.Tag) {
			tags = append(tags, c.Tag)
		}
		if tag == "" || c.Tag == tag {
			last = c
		}
	}
	if last.SnapshotID == "" {
		return Checkpoint{}, &NoCheckpointError{Key: key, Tag: tag, Tags: tags}
	}
	return last, nil
}
