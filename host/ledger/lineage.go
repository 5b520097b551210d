package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/alineo-labs/alineo-host/host/store"
)

// Origin is one sandbox of a lineage and how much of its ledger counts.
type Origin struct {
	Key     store.Key
	Created json.RawMessage // payload of its first sandbox.created, nil when there is none
	// SnapshotID names the checkpoint at which the next sandbox of the lineage was resumed; entries
	// after it don't count. Empty for the last one, of which every entry counts.
	SnapshotID string
}

// Problem is something in a ledger that could not be used. It was skipped.
type Problem struct {
	Key   store.Key
	ID    int64  // of the entry, 0 when it is not about one
	Event string // of the entry
	Err   error
}

// String names the place and the problem. It never shows a payload.
func (p Problem) String() string {
	if p.ID == 0 {
		return fmt.Sprintf("%s: %v", p.Key, p.Err)
	}
	return fmt.Sprintf("%s: entry %d (%s): %v", p.Key, p.ID, p.Event, p.Err)
}

// Lineage returns the sandboxes whose work a sandbox continues, oldest first, itself last: those it
// was resumed from, and those they were resumed from. Forks and restored snapshots begin anew. An
// ancestor that is gone, or that has no such checkpoint any more, ends the lineage there and is
// reported.
func Lineage(ctx context.Context, st store.Ledger, key store.Key) ([]Origin, []Problem, error) {
	var lineage []Origin
	var problems []Problem
	seen := map[store.Key]bool{}
	next := Origin{Key: key}
	for {
		seen[next.Key] = true
		created, from, snapshot, err := creation(ctx, st, next.Key)
		if err != nil {
			return nil, nil, fmt.Errorf("tracing lineage of %s: %w", key, err)
		}
		next.Created = created
		lineage = append(lineage, next)
		if from == "" || snapshot == "" {
			break
		}
		ancestor, problem, err := ancestorOf(ctx, st, from, snapshot)
		if err != nil {
			return nil, nil, fmt.Errorf("tracing lineage of %s: %w", key, err)
		}
		if problem == nil && seen[ancestor] {
			problem = fmt.Errorf("it was resumed from %s, which was resumed from it", ancestor)
		}
		if problem != nil {
			problems = append(problems, Problem{Key: next.Key, Err: problem})
			break
		}
		next = Origin{Key: ancestor, SnapshotID: snapshot}
	}
	slices.Reverse(lineage)
	return lineage, problems, nil
}

// creation reads a sandbox's first sandbox.created and what it was resumed from.
func creation(ctx context.Context, st store.Ledger, key store.Key) (payload json.RawMessage, from, snapshot string, err error) {
	for e, err := range readSandbox(ctx, st, key, 4) {
		if err != nil {
			return nil, "", "", err
		}
		if store.CurrentName(e.Event) != store.EventSandboxCreated {
			continue
		}
		if o, err := openObject(e.Payload); err == nil {
			for name, value := range o.members() {
				switch name {
				case "resumedFrom":
					from = text(value)
				case "snapshotId":
					snapshot = text(value)
				}
			}
		}
		return e.Payload, from, snapshot, nil
	}
	return nil, "", "", nil
}

// ancestorOf finds the sandbox that was resumed from; problem says why it can't be used.
func ancestorOf(ctx context.Context, st store.Ledger, id, snapshot string) (key store.Key, problem, err error) {
	details, err := st.FindSandbox(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return key, fmt.Errorf("it was resumed from sandbox %q, whose ledger is gone", id), nil
	}
	if err != nil {
		return key, nil, err
	}
	key = store.Key{Name: details.Name, SandboxID: details.SandboxID}
	for c, err := range Checkpoints(ctx, st, key) {
		if err != nil {
			return key, nil, err
		}
		if c.SnapshotID == snapshot {
			return key, nil, nil
		}
	}
	return key, fmt.Errorf("it was resumed from snapshot %q, which the ledger of %s does not know", snapshot, key), nil
}

// ReadHistory streams the entries of a lineage, oldest sandbox first, of each ancestor those up to
// and with the checkpoint at which the next one was resumed. The first error ends it.
func ReadHistory(ctx context.Context, st store.Ledger, lineage []Origin) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for _, origin := range lineage {
			for e, err := range ReadSandbox(ctx, st, origin.Key) {
				if !yield(e, err) || err != nil {
					return
				}
				if origin.SnapshotID != "" && isCheckpoint(&e) && checkpointOf(&e).SnapshotID == origin.SnapshotID {
					break
				}
			}
		}
	}
}
