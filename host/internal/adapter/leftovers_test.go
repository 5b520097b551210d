package adapter_test

import (
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/store"
)

// TestLocksDoNotPileUp: rows of keys that nobody locked for long go while others are locked, those of an hour stay,
// and a key whose row went has a higher fence than ever all the same.
func TestLocksDoNotPileUp(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, at *place) {
		locks := at.openStores().Locks
		take := func(key string) store.LockResult {
			t.Helper()
			got, err := locks.TryAcquire(t.Context(), key, "me", time.Hour)
			if err != nil || !got.Acquired {
				t.Fatalf("locking %q: %+v, %v", key, got, err)
			}
			return got
		}
		held := take("held")
		recent := take("recent")
		if _, err := locks.Release(t.Context(), "recent", recent.Token); err != nil {
			t.Fatal(err)
		}
		// Hosts died with these, or gave them back, a day ago.
		at.must(t, `INSERT INTO alineo_host_locks WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 250)
 SELECT 'old-' || i, 'dead', CASE WHEN i % 2 = 0 THEN '' ELSE 'x' END, 7, (SELECT max(fence) FROM alineo_host_locks) - 86400000 + i FROM n`)
		const enough = 48 // a sixteenth of them removes a hundred rows each
		for range enough {
			got := take("busy")
			if ok, err := locks.Release(t.Context(), "busy", got.Token); err != nil || !ok {
				t.Fatalf("releasing: %v, %v", ok, err)
			}
		}
		if rows := at.text("SELECT CAST(count(*) AS TEXT) FROM alineo_host_locks"); rows != "3" {
			t.Errorf("%s rows are left, not 3", rows)
		}
		if ok, err := locks.Renew(t.Context(), "held", held.Token, time.Hour); err != nil || !ok {
			t.Errorf("a lock that was held all the time: %v, %v", ok, err)
		}
		if got := take("recent"); got.Fence != recent.Fence+1 {
			t.Errorf("fence %d follows %d", got.Fence, recent.Fence)
		}
		if got := take("old-9"); got.Fence <= 7 {
			t.Errorf("fence %d follows 7", got.Fence)
		}
	})
}

// TestLogsGoWithTheirRuns: of a run that was deleted after its log was truncated nothing stays; and no other log goes.
func TestLogsGoWithTheirRuns(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, at *place) {
		s := at.openStores()
		for _, id := range []string{"gone", "kept", "untouched"} {
			if _, _, err := s.Runs.CreateOrGet(t.Context(), store.NewRun{ID: id, ThreadID: "t"}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Log.Append(t.Context(), store.LogAppend{RunID: id, Epoch: 3, Events: []store.LogEvent{{Kind: "k"}}}); err != nil {
				t.Fatal(err)
			}
			if id != "untouched" {
				if err := s.Log.Truncate(t.Context(), id); err != nil {
					t.Fatal(err)
				}
			}
		}
		deleted := func(id string, want bool) {
			t.Helper()
			if ok, err := s.Runs.Delete(t.Context(), id); (err == nil && ok) != want {
				t.Errorf("deleting %q: %v, %v", id, ok, err)
			}
		}
		deleted("kept", false) // it runs
		for _, id := range []string{"gone", "untouched"} {
			if _, err := s.Runs.Patch(t.Context(), id, store.RunPatch{Set: store.RunFields{Status: new(store.RunFailed)}}); err != nil {
				t.Fatal(err)
			}
			deleted(id, true)
		}
		if rows := at.text("SELECT CAST(count(*) AS TEXT) FROM alineo_host_logs WHERE run_id = 'gone'"); rows != "0" {
			t.Errorf("%s rows are left of the log", rows)
		}
		for id, tail := range map[string]uint64{"kept": 1, "untouched": 1, "gone": 0} {
			if page, err := s.Log.Read(t.Context(), id, store.LogReadOptions{}); err != nil || page.Tail != tail {
				t.Errorf("the log of %q: %+v, %v", id, page, err)
			}
		}
	})
}
