package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/alineo-labs/alineo-host/host/store"
)

// summary is one sandbox, summed up, and where it was created.
type summary struct {
	store.Details

	created place
}

// sum says what a sandbox's entries tell; false for one without sandbox.created.
func (s *sandbox) sum(key store.Key) (summary, bool) {
	sum := summary{Details: store.Details{Name: key.Name, SandboxID: key.SandboxID, Status: store.StatusRunning}}
	known := false
	for i := range s.entries {
		e := &s.entries[i]
		switch e.Event {
		case "sandbox.created":
			if known {
				continue
			}
			known, sum.created, sum.StartedAt = true, of(e), e.TS
			sum.RunID, sum.ResourceID, sum.TeamID = field(e, "runId"), field(e, "resourceId"), field(e, "teamId")
			sum.ParentSandboxID = field(e, "parentSandboxId")
			if sum.RunID == "" {
				sum.RunID = key.SandboxID
			}
		case "sandbox.closed":
			sum.Status, sum.CompletedAt = store.StatusCompleted, e.TS
		case "exec.completed":
			sum.ExecCount++
		}
	}
	return sum, known
}

// summaries are the sandboxes that match, newest start first.
func (st *Store) summaries(match func(*summary) bool) []summary {
	st.mu.Lock()
	defer st.mu.Unlock()
	var list []summary
	for key, s := range st.sandboxes {
		if sum, ok := s.sum(key); ok && match(&sum) {
			list = append(list, sum)
		}
	}
	slices.SortFunc(list, func(a, b summary) int { return b.created.compare(a.created) })
	return list
}

// ListSandboxes returns a page of the sandboxes that the filters leave.
func (st *Store) ListSandboxes(_ context.Context, opts store.ListOptions) (store.DetailsPage, error) {
	after, found, err := parse(opts.Cursor)
	if err != nil {
		return store.DetailsPage{}, err
	}
	is := func(filter, value string) bool { return filter == "" || filter == value }
	list := st.summaries(func(s *summary) bool {
		return is(opts.Name, s.Name) && is(opts.Status, s.Status) && is(opts.RunID, s.RunID) && is(opts.ResourceID, s.ResourceID) &&
			is(opts.TeamID, s.TeamID) && strings.HasPrefix(s.SandboxID, opts.IDPrefix) && (opts.Before == nil || s.StartedAt < *opts.Before) && (!found || s.created.compare(after) < 0)
	})
	most := uint64(pageRows)
	if opts.Limit != nil {
		most = *opts.Limit
	}
	result := store.DetailsPage{Cursor: slices.Clone(opts.Cursor)}
	for i := range list {
		if uint64(i) == most {
			result.More = most > 0
			break
		}
		result.Sandboxes, result.Cursor = append(result.Sandboxes, list[i].Details), list[i].created.cursor()
	}
	return result, nil
}

// GetSandbox returns one sandbox.
func (st *Store) GetSandbox(_ context.Context, key store.Key) (store.Details, error) {
	return newest(st.summaries(func(s *summary) bool { return s.Name == key.Name && s.SandboxID == key.SandboxID }), key.String())
}

// FindSandbox returns the newest sandbox with an id.
func (st *Store) FindSandbox(_ context.Context, sandboxID string) (store.Details, error) {
	return newest(st.summaries(func(s *summary) bool { return s.SandboxID == sandboxID }), sandboxID)
}

func newest(list []summary, what string) (store.Details, error) {
	if len(list) == 0 {
		return store.Details{}, fmt.Errorf("sandbox %q: %w", what, store.ErrNotFound)
	}
	return list[0].Details, nil
}
