package adapter_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/adapter"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/capability/postgres"
	"github.com/alineo-labs/alineo-host/host/internal/capability/sqlite"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/internal/pgtest"
	"github.com/alineo-labs/alineo-host/plugins"
)

// guestOn loads a bundled ledger on a database, both until the test ends.
func guestOn(t *testing.T, rt *plugin.Runtime, name string, db capability.Database, limits plugin.Limits) *plugin.Plugin {
	t.Helper()
	bundle, err := plugins.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	caps := capability.NewSet(capability.SetOptions{Plugin: name, Databases: map[string]capability.Database{"ledger": db}})
	p, err := rt.Load(t.Context(), plugin.Spec{Name: name, Wasm: bundle.Wasm, SHA256: bundle.SHA256, Caps: caps, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(p.Close(context.Background()), caps.Close()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// eachGuest runs a test with either ledger, on an empty database.
func eachGuest(t *testing.T, test func(t *testing.T, guest *plugin.Plugin)) {
	t.Helper()
	rt := newRuntime(t)
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		db, err := sqlite.Open(sqlite.Options{Path: filepath.Join(t.TempDir(), "ledger.db"), Synchronous: "normal"})
		if err != nil {
			t.Fatal(err)
		}
		test(t, guestOn(t, rt, "sqlite", db, patient))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		_, dsn := pgtest.Server(t).Database(t)
		db, err := postgres.Open(postgres.Options{DSN: dsn, PoolSize: 4})
		if err != nil {
			t.Fatal(err)
		}
		test(t, guestOn(t, rt, "postgres", db, patient))
	})
}

// interrupted is a guest that is asked for that many pieces of deletions, and then no more.
type interrupted struct {
	adapter.Guest
	pieces int
	asked  int
}

var errInterrupted = errors.New("interrupted")

func (g *interrupted) Call(ctx context.Context, op abi.Op, req abi.Message, call *capability.Call, reply abi.Message) error {
	if op == abi.OpLedgerDeleteSandbox {
		if g.asked == g.pieces {
			return errInterrupted
		}
		g.asked++
	}
	return g.Guest.Call(ctx, op, req, call, reply)
}

// TestDeleteInPieces deletes a sandbox that takes several calls, is interrupted after each, and looks at
// what there is meanwhile.
func TestDeleteInPieces(t *testing.T) {
	t.Parallel()
	eachGuest(t, func(t *testing.T, guest *plugin.Plugin) {
		l := adapter.NewLedger(guest)
		n, err := claim(t.Context(), l, "run", "large")
		if err != nil {
			t.Fatal(err)
		}
		const segments, each = 45, 1000
		for i := range segments {
			s := n.segment(each, "x")
			if i == 0 {
				s.Entries[0].Event = store.EventSandboxCreated
			}
			if i == segments-1 {
				s.Entries[each-1].Event = store.EventSandboxClosed
			}
			if err := l.Append(t.Context(), &store.Batch{Segments: []store.Segment{s}}); err != nil {
				t.Fatal(err)
			}
			n.accept(&s)
		}
		last := bytes.Clone(n.head.Hash)
		kept, err := claim(t.Context(), l, "run", "kept")
		if err != nil {
			t.Fatal(err)
		}
		if err := kept.append(t.Context(), 3); err != nil {
			t.Fatal(err)
		}

		total, pieces := uint64(0), 0
		for {
			g := &interrupted{Guest: guest, pieces: 1}
			removed, err := adapter.NewLedger(g).DeleteSandbox(t.Context(), n.key)
			total += removed
			pieces++
			if err == nil {
				break
			}
			if !errors.Is(err, errInterrupted) || removed == 0 || pieces > 100 {
				t.Fatalf("piece %d: %d removed, %v", pieces, removed, err)
			}
			checkUnfinished(t, l, n, segments*each-total, last)
		}
		if total != segments*each || pieces < 3 {
			t.Errorf("%d entries went in %d pieces, want %d in several", total, pieces, segments*each)
		}
		tombstones, err := l.ListTombstones(t.Context(), store.ReadOptions{})
		if err != nil || len(tombstones.Tombstones) != 1 || tombstones.Tombstones[0].Entries != segments*each || !bytes.Equal(tombstones.Tombstones[0].Hash, last) {
			t.Errorf("tombstones are %+v, %v", tombstones, err)
		}
		if heads, err := l.ListHeads(t.Context(), store.ReadOptions{}); err != nil || len(heads.Heads) != 1 || heads.Heads[0].Key != kept.key {
			t.Errorf("heads are %+v, %v", heads, err)
		}
		// A new life begins, and is deleted at once.
		again, err := claim(t.Context(), l, "run", "large")
		if err != nil || again.head.Epoch <= n.head.Epoch || len(again.head.Hash) != 0 {
			t.Fatalf("a claim after the deletion: %+v, %v", again.head, err)
		}
		if err := again.append(t.Context(), 5); err != nil {
			t.Fatal(err)
		}
		if removed, err := l.DeleteSandbox(t.Context(), n.key); removed != 5 || err != nil {
			t.Errorf("%d removed, %v", removed, err)
		}
		if err := kept.check(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// checkUnfinished looks at a sandbox whose deletion was interrupted.
func checkUnfinished(t *testing.T, l *adapter.Ledger, n *numbered, left uint64, hash []byte) {
	t.Helper()
	late := n.segment(1, "late")
	if err := l.Append(t.Context(), &store.Batch{Segments: []store.Segment{late}}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a late append: %v", err)
	}
	if _, err := l.OpenLedger(t.Context(), n.key); !errors.Is(err, store.ErrConflict) || !strings.Contains(err.Error(), "delete it again") {
		t.Errorf("a claim: %v", err)
	}
	if usage, err := l.Usage(t.Context(), n.key); err != nil || usage.Entries != left || usage.Closed != (left > 0) {
		t.Errorf("usage is %+v, %v; want %d entries and the last", usage, err, left)
	}
	if page, err := l.ListSegments(t.Context(), n.key, store.ReadOptions{}); err != nil || len(page.Segments) != 0 {
		t.Errorf("segments are %+v, %v", page, err)
	}
	heads, err := l.ListHeads(t.Context(), store.ReadOptions{})
	if err != nil || len(heads.Heads) != 2 || heads.Heads[1].Key != n.key || len(heads.Heads[1].Hash)+len(heads.Heads[1].SegmentID) > 0 {
		t.Errorf("heads are %+v, %v", heads, err)
	}
	list, err := l.ListSandboxes(t.Context(), store.ListOptions{})
	if err != nil || len(list.Sandboxes) != 0 {
		t.Errorf("sandboxes are %+v, %v", list, err)
	}
	report, err := ledger.VerifySandbox(t.Context(), l, n.key)
	if err != nil || report.Damage != nil || report.Foreign != left {
		t.Errorf("verifying: %+v, %v", report, err)
	}
	tombstones, err := l.ListTombstones(t.Context(), store.ReadOptions{})
	if err != nil || len(tombstones.Tombstones) != 1 || !bytes.Equal(tombstones.Tombstones[0].Hash, hash) || tombstones.Tombstones[0].Entries+left != 45_000 {
		t.Errorf("tombstones are %+v, %v", tombstones, err)
	}
}

// TestDeleteWaitsForAppend deletes a sandbox while an append to it is under way: the deletion is about what
// that has written, too, and the tombstone has the last hash.
func TestDeleteWaitsForAppend(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	name, dsn := server.Database(t)
	l := openLedger(t, newRuntime(t), dsn)
	n, err := claim(t.Context(), l, "run", "id")
	if err == nil {
		err = n.append(t.Context(), 3)
	}
	if err != nil {
		t.Fatal(err)
	}
	// The append stops when it comes to its segment, and holds its head.
	other, watcher := server.Conn(t, name), server.Conn(t, name)
	if _, err := other.Exec(t.Context(), "BEGIN; LOCK TABLE alineo_host_segments IN EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	waiting := func(count int) {
		t.Helper()
		for n := 0; n != count; pause() {
			if err := watcher.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&n); err != nil {
				t.Fatal(err)
			}
		}
	}
	var group sync.WaitGroup
	group.Go(func() {
		if err := n.append(t.Context(), 4); err != nil {
			t.Error(err)
		}
	})
	waiting(1)
	group.Go(func() {
		if removed, err := l.DeleteSandbox(t.Context(), n.key); removed != 7 || err != nil {
			t.Errorf("%d entries were removed, want 7: %v", removed, err)
		}
	})
	waiting(2)
	if _, err := other.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	page, err := l.(store.Maintenance).ListTombstones(t.Context(), store.ReadOptions{})
	if err != nil || len(page.Tombstones) != 1 || page.Tombstones[0].Entries != 7 || !bytes.Equal(page.Tombstones[0].Hash, n.head.Hash) {
		t.Errorf("tombstones are %+v, %v; want one of 7 entries and hash %s", page, err, n.head.Hash)
	}
}

// TestDeleteFencesWhoWroteNothing deletes what the reference wrote under a driver that has claimed it and
// has not written yet: its head was empty before, and is empty after.
func TestDeleteFencesWhoWroteNothing(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, at *place) {
		at.must(t, at.foreign.Create, old)
		l := at.open()
		n, err := claim(t.Context(), l, "run", "old")
		if err != nil || n.head.LastStep != 4 || len(n.head.Hash) != 0 {
			t.Fatalf("%+v, %v", n.head, err)
		}
		if removed, err := l.DeleteSandbox(t.Context(), n.key); removed != 5 || err != nil {
			t.Fatalf("%d removed, %v", removed, err)
		}
		if err := n.append(t.Context(), 1); !errors.Is(err, store.ErrConflict) {
			t.Errorf("an append after the deletion: %v", err)
		}
		if page, err := l.Read(t.Context(), n.key, store.ReadOptions{}); err != nil || len(page.Entries) != 0 {
			t.Errorf("it lives again: %+v, %v", page.Entries, err)
		}
	})
}

// endless is a guest that never ends a deletion, and removes nothing.
type endless struct{ adapter.Guest }

func (endless) Call(_ context.Context, _ abi.Op, _ abi.Message, _ *capability.Call, reply abi.Message) error {
	return reply.Unmarshal((&abi.DeleteReply{More: true}).AppendTo(nil))
}

func (endless) Name() string { return "endless" }

func TestDeleteEndlessly(t *testing.T) {
	t.Parallel()
	_, err := adapter.NewLedger(endless{}).DeleteSandbox(t.Context(), store.Key{Name: "run", SandboxID: "x"})
	if failed, ok := errors.AsType[*plugin.Error](err); !ok || failed.Kind != plugin.KindProtocol {
		t.Errorf("error %v", err)
	}
}
