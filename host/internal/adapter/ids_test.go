package adapter_test

import (
	"path/filepath"
	"testing"

	"github.com/alineo-labs/alineo-host/host/store"
)

// TestSQLiteIdsOnce deletes the newest entries behind the ledger's back, after which SQLite would give
// their ids again: appends go on, and no segment gets ids that an earlier one had.
func TestSQLiteIdsOnce(t *testing.T) {
	t.Parallel()
	rt := newRuntime(t)
	for name, lost := range map[string]string{
		"last entry": "id = (SELECT max(id) FROM alineo_events)", "last segment": "id > (SELECT max(id) - 3 FROM alineo_events)",
		"more": "id > 5", "all": "TRUE",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "ledger.db")
			l, err := openSQLite(t.Context(), rt, file, "normal")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close(t.Context()) })
			a, err := claim(t.Context(), l, "run", "a")
			if err != nil {
				t.Fatal(err)
			}
			b, err := claim(t.Context(), l, "run", "b")
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range []*numbered{b, a, b, a} {
				if err := n.append(t.Context(), 3); err != nil {
					t.Fatal(err)
				}
			}
			onFile(t, file, "DELETE FROM alineo_events WHERE "+lost, "SELECT count(*) FROM alineo_events")
			for range 3 {
				// Both in one batch, of which the second may have the higher ids.
				batch := store.Batch{Segments: []store.Segment{b.segment(2, ""), a.segment(3, "")}}
				if err := l.Append(t.Context(), &batch); err != nil {
					t.Fatal(err)
				}
				b.accept(&batch.Segments[0])
				a.accept(&batch.Segments[1])
				if err := a.append(t.Context(), 2); err != nil {
					t.Fatal(err)
				}
			}
			for _, n := range []*numbered{a, b} {
				page, err := l.(store.Maintenance).ListSegments(t.Context(), n.key, store.ReadOptions{})
				if err != nil || len(page.Segments) < 5 {
					t.Fatalf("%d segments, %v", len(page.Segments), err)
				}
				last := int64(0)
				for _, s := range page.Segments {
					if s.FirstID <= last || s.LastID-s.FirstID+1 != int64(len(s.Leaves)/32) {
						t.Errorf("%s: a segment of %d entries has the ids %d to %d, behind %d", n.key, len(s.Leaves)/32, s.FirstID, s.LastID, last)
					}
					last = s.LastID
				}
			}
			if left := onFile(t, file, "SELECT count(*) FROM alineo_events WHERE name = ''"); left != "0" {
				t.Errorf("%s rows were left", left)
			}
		})
	}
}
