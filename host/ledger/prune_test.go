package ledger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
)

// lived adds a sandbox whose only life is at one time, in days.
func (v *vault) lived(name, id string, day int, closed bool) {
	v.t.Helper()
	ts := int64(day) * 24 * time.Hour.Milliseconds()
	w := ledger.NewWriter(v.st, ledger.WriterOptions{Now: func() time.Time { return time.UnixMilli(ts) }})
	s, err := w.Open(v.t.Context(), store.Key{Name: name, SandboxID: id})
	if err != nil {
		v.t.Fatal(err)
	}
	events := []string{store.EventSandboxCreated, store.EventSandboxClosed}
	if !closed {
		events = events[:1]
	}
	for _, event := range events {
		if err := s.Append(v.t.Context(), ledger.Event{Step: -1, Name: event, Payload: json.RawMessage(`{"text":"0123456789"}`)}); err != nil {
			v.t.Fatal(err)
		}
	}
	if err := w.Close(context.Background()); err != nil {
		v.t.Fatal(err)
	}
}

func TestPrune(t *testing.T) {
	t.Parallel()
	two, none, size := 2, 0, int64(110)
	for name, tc := range map[string]struct {
		opts ledger.PruneOptions
		want string
	}{
		"by age":              {ledger.PruneOptions{OlderThan: 5 * 24 * time.Hour}, "a/1 b/2 a/4"},
		"of a name":           {ledger.PruneOptions{OlderThan: 5 * 24 * time.Hour, Name: "b"}, "b/2"},
		"running as well":     {ledger.PruneOptions{OlderThan: 5 * 24 * time.Hour, IncludeRunning: true}, "a/1 b/2 a/3 a/4"},
		"by number":           {ledger.PruneOptions{Keep: &two}, "a/1 b/2 a/4 b/5"},
		"all":                 {ledger.PruneOptions{Keep: &none, IncludeRunning: true}, "a/1 b/2 a/3 a/4 b/5 a/8 b/9"},
		"by size":             {ledger.PruneOptions{MaxBytes: &size}, "a/1 b/2 a/4 b/5"},
		"by size and running": {ledger.PruneOptions{MaxBytes: &size, IncludeRunning: true}, "a/1 b/2 a/3 a/4 b/5"},
		"nothing":             {ledger.PruneOptions{OlderThan: 500 * 24 * time.Hour}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVault(t)
			for _, day := range []int{9, 5, 2} {
				v.lived("b", fmt.Sprint(day), day, true)
			}
			for _, day := range []int{8, 4, 3, 1} {
				v.lived("a", fmt.Sprint(day), day, day != 3)
			}
			tc.opts.Now = time.UnixMilli(10 * 24 * time.Hour.Milliseconds())
			var found, gone []string
			tc.opts.DryRun = true
			tc.opts.Found = func(list []ledger.Prunable) error {
				found = found[:0]
				for _, p := range list {
					found = append(found, p.Key.String())
				}
				return nil
			}
			tc.opts.Each = func(p ledger.Prunable) { gone = append(gone, p.Key.String()) }
			before, _ := v.export()
			plan, err := ledger.Prune(t.Context(), v.st, tc.opts)
			if err != nil || strings.Join(found, " ") != tc.want || len(gone) > 0 {
				t.Errorf("found %v, removed %v, want %s; %v", found, gone, tc.want, err)
			}
			if after, _ := v.export(); !bytes.Equal(before, after) {
				t.Error("a dry run has changed something")
			}
			tc.opts.DryRun = false
			r, err := ledger.Prune(t.Context(), v.st, tc.opts)
			if err != nil || *r != *plan || !slices.Equal(gone, found) {
				t.Errorf("removed %v, %+v, planned %v, %+v; %v", gone, r, found, plan, err)
			}
			stats, err := ledger.CollectStats(t.Context(), v.st, nil)
			if err != nil || stats.Sandboxes != 7-r.Sandboxes || stats.Tombstones != r.Sandboxes || tc.opts.Name == "" && stats.Sandboxes != r.Kept {
				t.Errorf("got %+v, %v", stats, err)
			}
			v.whole(nil)
		})
	}
}

// TestPruneProgress is told how far the removal is, as well as the search before it.
func TestPruneProgress(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	for day := range 5 {
		v.lived("a", fmt.Sprint(day), day, true)
	}
	two, looked := 2, false
	var looking, removing []ledger.Progress
	_, err := ledger.Prune(t.Context(), v.st, ledger.PruneOptions{
		Keep:  &two,
		Found: func([]ledger.Prunable) error { looked = true; return nil },
		Progress: func(p ledger.Progress) {
			if looked {
				removing = append(removing, p)
			} else {
				looking = append(looking, p)
			}
		},
	})
	if err != nil || len(looking) == 0 || len(removing) < 2 {
		t.Fatalf("told %v, then %v: %v", looking, removing, err)
	}
	if first := removing[0]; first != (ledger.Progress{Total: 6}) {
		t.Errorf("the removal begins with %+v", first)
	}
	if last := removing[len(removing)-1]; last != (ledger.Progress{Sandboxes: 3, Entries: 6, Done: 6, Total: 6}) {
		t.Errorf("the removal ends with %+v", last)
	}
}

// resumed adds a sandbox that continues another one's history.
func (v *vault) resumed(name, id, from string, day int) {
	v.t.Helper()
	ts := int64(day) * 24 * time.Hour.Milliseconds()
	w := ledger.NewWriter(v.st, ledger.WriterOptions{Now: func() time.Time { return time.UnixMilli(ts) }})
	s, err := w.Open(v.t.Context(), store.Key{Name: name, SandboxID: id})
	if err != nil {
		v.t.Fatal(err)
	}
	created := json.RawMessage(fmt.Sprintf(`{"resumedFrom":%q,"snapshotId":"s"}`, from))
	if err := s.Append(v.t.Context(), ledger.Event{Step: -1, Name: store.EventSandboxCreated, Payload: created}); err != nil {
		v.t.Fatal(err)
	}
	if err := s.Append(v.t.Context(), ledger.Event{Step: -1, Name: store.EventSandboxClosed, Payload: json.RawMessage(`{}`)}); err != nil {
		v.t.Fatal(err)
	}
	if err := w.Close(context.Background()); err != nil {
		v.t.Fatal(err)
	}
}

// What a sandbox that stays was resumed from stays, all the way back, and what was resumed from nothing
// that stays goes.
func TestPruneSparesAncestors(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	v.lived("a", "1", 1, true)
	v.resumed("a", "2", "1", 2)
	v.resumed("b", "3", "2", 9)
	v.lived("a", "4", 3, true)
	v.resumed("a", "5", "4", 4)
	size := int64(150)
	for name, tc := range map[string]struct {
		opts ledger.PruneOptions
		want string
		kept string
	}{
		"by age":                       {ledger.PruneOptions{OlderThan: 5 * 24 * time.Hour}, "a/4 a/5", "a/1<a/2 a/2<b/3"},
		"of a name":                    {ledger.PruneOptions{OlderThan: 5 * 24 * time.Hour, Name: "a"}, "a/4 a/5", "a/1<a/2 a/2<b/3"},
		"others go instead for a size": {ledger.PruneOptions{MaxBytes: &size}, "a/4 a/5", "a/1<a/2 a/2<b/3"},
		"ancestors too":                {ledger.PruneOptions{OlderThan: 5 * 24 * time.Hour, IncludeAncestors: true}, "a/1 a/2 a/4 a/5", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var found, spared []string
			tc.opts.Now, tc.opts.DryRun = time.UnixMilli(10*24*time.Hour.Milliseconds()), true
			tc.opts.Found = func(list []ledger.Prunable) error {
				for _, p := range list {
					found = append(found, p.Key.String())
				}
				return nil
			}
			tc.opts.Spared = func(p ledger.Prunable, child store.Key) { spared = append(spared, p.Key.String()+"<"+child.String()) }
			r, err := ledger.Prune(t.Context(), v.st, tc.opts)
			if err != nil || strings.Join(found, " ") != tc.want || strings.Join(spared, " ") != tc.kept || r.Ancestors != uint64(len(spared)) {
				t.Errorf("would remove %v, want %s; spared %v, want %s; %+v, %v", found, tc.want, spared, tc.kept, r, err)
			}
		})
	}
}

func TestPruneAsks(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	v.lived("a", "1", 1, true)
	if _, err := ledger.Prune(t.Context(), v.st, ledger.PruneOptions{}); err == nil {
		t.Error("pruned without being told what")
	}
	no := errors.New("no")
	none := 0
	_, err := ledger.Prune(t.Context(), v.st, ledger.PruneOptions{Keep: &none, Found: func([]ledger.Prunable) error { return no }})
	if _, r := v.export(); !errors.Is(err, no) || r.Sandboxes != 1 {
		t.Errorf("got %v, %+v", err, r)
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	v.lived("a", "1", 1, true)
	v.lived("b", "2", 3, false)
	v.lived("b", "3", 2, true)
	s, err := ledger.CollectStats(t.Context(), v.st, nil)
	if err != nil {
		t.Fatal(err)
	}
	day := 24 * time.Hour.Milliseconds()
	if s.Sandboxes != 3 || s.Running != 1 || s.Entries != 5 || s.Bytes != 105 || s.OldestTS != day || s.NewestTS != 3*day || s.StorageBytes <= 0 ||
		len(s.Names) != 2 || s.Names[0] != (ledger.NameStats{Name: "b", Sandboxes: 2, Entries: 3, Bytes: 63}) {
		t.Errorf("got %+v", s)
	}
}
