package adapter_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/adapter"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/capability/sqlite"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
)

// Guests that mean ill, as ledgers. Whatever they do, a call ends in time with an error that names
// the plugin and the operation, nothing is kept of it, and others do not notice.

// deadline of a call to a hostile guest, and how much later it may end.
const (
	deadline = 200 * time.Millisecond
	grace    = 100 * time.Millisecond
)

// module reads a guest of the tests.
func module(tb testing.TB, name string) (wasm []byte, digest string) {
	tb.Helper()
	wasm, err := os.ReadFile(filepath.Join("testdata", "guests", name, name+".wasm"))
	if err != nil {
		tb.Fatal(err)
	}
	sum := sha256.Sum256(wasm)
	return wasm, hex.EncodeToString(sum[:])
}

// openHostile loads a guest as a ledger, on a database of its own.
func openHostile(tb testing.TB, rt *plugin.Runtime, guest, mode string) *adapter.Ledger {
	tb.Helper()
	db, err := sqlite.Open(sqlite.Options{Path: filepath.Join(tb.TempDir(), "x.db"), Synchronous: "normal"})
	if err != nil {
		tb.Fatal(err)
	}
	caps := capability.NewSet(capability.SetOptions{Plugin: guest, Databases: map[string]capability.Database{"ledger": db}})
	wasm, digest := module(tb, guest)
	patience := time.Minute
	switch guest {
	case "spin":
		patience = deadline
	case "hostile":
		patience = 5 * deadline // it works before it misbehaves
	}
	p, err := rt.Load(tb.Context(), plugin.Spec{
		Name: guest, Wasm: wasm, SHA256: digest, Caps: caps, Config: fmt.Appendf(nil, `{"mode":%q}`, mode),
		Limits: plugin.Limits{Deadline: patience, MemoryBytes: 32 << 20, Instances: 2},
	})
	if err != nil {
		tb.Fatal(err)
	}
	l := adapter.NewLedger(p)
	tb.Cleanup(func() {
		// A guest that does not answer when it is closed is worth an error, and no more.
		if err := l.Close(context.Background()); err != nil && !plugin.IsKind(err, plugin.KindDeadline, plugin.KindTrap, plugin.KindTooLarge, plugin.KindMemory) {
			tb.Error(err)
		}
		if err := caps.Close(); err != nil {
			tb.Error(err)
		}
	})
	return l
}

var victim = store.Key{Name: "victim", SandboxID: "0b9fb3d2-7f33-4c1c-9d0f-2a9a3f2f7c11"}

func oneEntry() *store.Batch {
	return &store.Batch{Segments: []store.Segment{{
		Key: victim, Epoch: 1, Leaves: make([]byte, 32), Entries: []store.Entry{{
			Name: victim.Name, SandboxID: victim.SandboxID, StepIndex: -1, Event: "x", TS: 1,
		}},
	}}}
}

// operation is one of a ledger's.
type operation struct {
	op  abi.Op
	run func(ctx context.Context, l *adapter.Ledger) error
}

// operations is every operation that a ledger must have.
var operations = []operation{
	{abi.OpLedgerOpen, func(ctx context.Context, l *adapter.Ledger) error { _, err := l.OpenLedger(ctx, victim); return err }},
	{abi.OpLedgerAppend, func(ctx context.Context, l *adapter.Ledger) error { return l.Append(ctx, oneEntry()) }},
	{abi.OpLedgerRead, func(ctx context.Context, l *adapter.Ledger) error {
		_, err := l.Read(ctx, victim, store.ReadOptions{})
		return err
	}},
	{abi.OpLedgerRead, func(ctx context.Context, l *adapter.Ledger) error {
		_, err := l.ReadAll(ctx, store.ReadOptions{Limit: 10})
		return err
	}},
	{abi.OpLedgerLastCheckpoint, func(ctx context.Context, l *adapter.Ledger) error {
		_, err := l.LastCheckpoint(ctx, victim, "t")
		return err
	}},
	{abi.OpLedgerListCheckpoints, func(ctx context.Context, l *adapter.Ledger) error {
		_, err := l.ListCheckpoints(ctx, victim, store.ReadOptions{})
		return err
	}},
	{abi.OpLedgerListSandboxes, func(ctx context.Context, l *adapter.Ledger) error {
		_, err := l.ListSandboxes(ctx, store.ListOptions{})
		return err
	}},
	{abi.OpLedgerGetSandbox, func(ctx context.Context, l *adapter.Ledger) error { _, err := l.GetSandbox(ctx, victim); return err }},
	{abi.OpLedgerFindSandbox, func(ctx context.Context, l *adapter.Ledger) error {
		_, err := l.FindSandbox(ctx, victim.SandboxID)
		return err
	}},
	{abi.OpLedgerDeleteSandbox, func(ctx context.Context, l *adapter.Ledger) error {
		_, err := l.DeleteSandbox(ctx, victim)
		return err
	}},
	{abi.OpEnvironmentGet, func(ctx context.Context, l *adapter.Ledger) error { _, err := l.GetEnvironment(ctx, "e"); return err }},
	{abi.OpEnvironmentSave, func(ctx context.Context, l *adapter.Ledger) error {
		return l.SaveEnvironment(ctx, store.Environment{Name: "e"})
	}},
	{abi.OpEnvironmentDelete, func(ctx context.Context, l *adapter.Ledger) error { return l.DeleteEnvironment(ctx, "e") }},
	{abi.OpEnvironmentList, func(ctx context.Context, l *adapter.Ledger) error { _, err := l.ListEnvironments(ctx); return err }},
}

func TestHostileOperations(t *testing.T) {
	t.Parallel()
	if raced {
		t.Skip("LEFT OUT: nonsense of a guest is read by one caller, and each deadline is waited for")
	}
	for guest, kinds := range map[string][]plugin.Kind{
		"spin":   {plugin.KindDeadline},
		"trap":   {plugin.KindTrap},
		"hungry": {plugin.KindProtocol, plugin.KindTooLarge},
	} {
		t.Run(guest, func(t *testing.T) {
			t.Parallel()
			for i, o := range operations {
				l := openHostile(t, newRuntime(t), guest, "") // a new one: crashes add up
				took := time.Duration(0)
				var err error
				for range 4 { // the machine may be busy
					began := time.Now()
					err = o.run(t.Context(), l)
					if took = time.Since(began); guest != "spin" || took <= deadline+grace {
						break
					}
				}
				if !plugin.IsKind(err, kinds...) {
					t.Errorf("%d: %v: error %v, want one of %v", i, o.op, err, kinds)
					continue
				}
				if want := fmt.Sprintf("plugin %q: %s: ", guest, o.op); !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
				if unknown := errors.Is(err, store.ErrUnknownOutcome); unknown != (o.op == abi.OpLedgerAppend) {
					t.Errorf("%v: unknown outcome %v", o.op, unknown)
				}
				if guest == "spin" && took > deadline+grace {
					t.Errorf("%v: took %v", o.op, took)
				}
			}
		})
	}
}

// A thousand calls to a guest that crashes each time leave nothing behind, and another plugin of the
// same runtime works all along.
func TestHostileLeavesNothing(t *testing.T) {
	rt := newRuntime(t)
	good := openHostile(t, rt, "hostile", "")
	key := store.Key{Name: "good", SandboxID: "g"}
	guests := []*adapter.Ledger{
		openHostile(t, rt, "trap", ""), openHostile(t, rt, "hungry", ""), openHostile(t, rt, "hostile", "append-text"),
		openHostile(t, rt, "hostile", "rows-many"),
	}
	round := func(n int) {
		for i := range n {
			for _, l := range guests {
				_ = operations[i%len(operations)].run(t.Context(), l) // what it says is another test's
			}
			if i%50 == 0 {
				if _, err := good.OpenLedger(t.Context(), key); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	measure := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	calls := 1000
	if raced {
		calls = 200
	}
	round(calls / 10)
	goroutines, before := runtime.NumGoroutine(), measure()
	round(calls / len(guests))
	if after := measure(); after > before+8<<20 {
		t.Errorf("memory went from %d to %d bytes", before, after)
	}
	if n := runtime.NumGoroutine(); n > goroutines+5 {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
}

func TestHostileRows(t *testing.T) {
	t.Parallel()
	if raced {
		t.Skip("LEFT OUT: nonsense of a guest is read by one caller, and each deadline is waited for")
	}
	rowless := []abi.Op{
		abi.OpLedgerOpen, abi.OpLedgerAppend, abi.OpLedgerDeleteSandbox, abi.OpEnvironmentGet,
		abi.OpEnvironmentSave, abi.OpEnvironmentDelete, abi.OpLedgerUsage, abi.OpLedgerStats,
	}
	rt := newRuntime(t)
	for mode, want := range map[string]string{
		"rows-handle":  "with handle 4711, which it does not hold",
		"rows-narrow":  "columns, not",
		"rows-kinds":   "is f64, not",
		"rows-garbage": "can't be read",
		"rows-count":   "can't be read",
		"rows-many":    "262144 rows",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			l := openHostile(t, rt, "hostile", mode)
			for _, o := range slices.Concat(operations, maintenance) {
				if slices.Contains(rowless, o.op) {
					continue
				}
				err := o.run(t.Context(), l)
				if !plugin.IsKind(err, plugin.KindProtocol) || !strings.Contains(err.Error(), want) ||
					!strings.Contains(err.Error(), fmt.Sprintf("plugin %q: %s: ", "hostile", o.op)) {
					t.Errorf("%v: error %v, want %q", o.op, err, want)
				}
			}
		})
	}
}

// Nobody who reads to the end is led on for ever.
func TestHostilePaging(t *testing.T) {
	t.Parallel()
	if raced {
		t.Skip("LEFT OUT: nonsense of a guest is read by one caller, and each deadline is waited for")
	}
	rt := newRuntime(t)
	for mode, want := range map[string]string{
		"rows-stuck":  "cursor does not move",
		"rows-empty":  "no rows and says that there are more",
		"rows-circle": "does not follow",
		"rows-order":  "does not follow",
		"rows-other":  "of another sandbox",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			l := openHostile(t, rt, "hostile", mode)
			n := 0
			var last error
			for _, last = range ledger.ReadSandbox(t.Context(), l, victim) {
				n++
			}
			if last == nil || !strings.Contains(last.Error(), want) || n > 5 {
				t.Errorf("%d rounds, then %v, want %q", n, last, want)
			}
			if mode == "rows-other" {
				return // which of all is nobody's business
			}
			n = 0
			for _, last = range ledger.ReadAll(t.Context(), l) {
				n++
			}
			if last == nil || !strings.Contains(last.Error(), want) || n > 5 {
				t.Errorf("all: %d rounds, then %v, want %q", n, last, want)
			}
		})
	}
}

func TestHostileHead(t *testing.T) {
	t.Parallel()
	if raced {
		t.Skip("LEFT OUT: nonsense of a guest is read by one caller, and each deadline is waited for")
	}
	rt := newRuntime(t)
	for mode, want := range map[string]string{
		"head-hash": "hash of 1048576 bytes", "head-segment": "segment id of 15 bytes",
		"head-step": "last step", "head-time": "time", "head-epoch": "epoch",
	} {
		l := openHostile(t, rt, "hostile", mode)
		_, err := l.OpenLedger(t.Context(), victim)
		if !plugin.IsKind(err, plugin.KindProtocol) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", mode, err, want)
		}
	}
}

// writeTo appends through a Writer and returns each caller's error and what is in the ledger then.
func writeTo(t *testing.T, l *adapter.Ledger, callers int) (errs []error, entries []store.Entry, took time.Duration) {
	t.Helper()
	w := ledger.NewWriter(l, ledger.WriterOptions{RetryFor: 2 * time.Second, CommitTimeout: 2 * time.Second})
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = w.Close(ctx) // what is lost is known already
	}()
	s, err := w.Open(t.Context(), victim)
	if err != nil {
		t.Fatal(err)
	}
	errs = make([]error, callers)
	began := time.Now()
	var wait sync.WaitGroup
	for i := range errs {
		wait.Go(func() { errs[i] = s.Append(t.Context(), ledger.Event{Step: -1, Name: fmt.Sprint("e", i)}) })
	}
	wait.Wait()
	took = time.Since(began)
	for e, err := range ledger.ReadSandbox(t.Context(), l, victim) {
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	return errs, entries, took
}

// The append is committed, and then the guest crashes, hangs or says that it does not know: the
// writer finds out by sending the identical segments again, and nothing is written twice.
func TestHostileAfterCommit(t *testing.T) {
	t.Parallel()
	if raced {
		t.Skip("LEFT OUT: nonsense of a guest is read by one caller, and each deadline is waited for")
	}
	rt := newRuntime(t)
	for _, mode := range []string{"", "append-then-trap", "append-then-spin", "append-then-deny", "append-then-garbage"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			l := openHostile(t, rt, "hostile", mode)
			errs, entries, _ := writeTo(t, l, 1)
			if errs[0] != nil {
				t.Error(errs[0])
			}
			if len(entries) != 1 {
				t.Errorf("%d entries", len(entries))
			}
		})
	}
}

// An append that is refused in every way there is ends for its callers in time.
func TestHostileAppend(t *testing.T) {
	t.Parallel()
	if raced {
		t.Skip("LEFT OUT: nonsense of a guest is read by one caller, and each deadline is waited for")
	}
	rt := newRuntime(t)
	for mode, want := range map[string]struct {
		is   error
		text string
	}{
		"append-conflict": {store.ErrConflict, "somebody somewhere"},
		"append-entry":    {store.ErrInvalid, "that one"},
		"append-segment":  {store.ErrConflict, "that one"},
		"append-code":     {nil, "no such code"},
		"append-text":     {store.ErrInvalid, "owned"},
		"append-slow":     {nil, ""},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			l := openHostile(t, rt, "hostile", mode)
			errs, entries, took := writeTo(t, l, 64)
			for _, err := range errs {
				if err == nil || want.is != nil && !raced && !errors.Is(err, want.is) || mode != "append-slow" && !strings.Contains(err.Error(), `plugin "hostile": ledger.append: `) ||
					!strings.Contains(err.Error(), want.text) || len(err.Error()) > 5<<10 || strings.ContainsAny(err.Error(), "\x1b\x07") {
					t.Fatalf("error %.300q, want %v, %q", err, want.is, want.text)
				}
			}
			if len(entries) != 0 {
				t.Errorf("%d entries", len(entries))
			}
			if took > 8*time.Second && !raced {
				t.Errorf("the callers waited %v", took)
			}
		})
	}
}

// Nothing can be done about a ledger that says that it has written and has not, but to go on.
func TestHostileLies(t *testing.T) {
	t.Parallel()
	if raced {
		t.Skip("LEFT OUT: nonsense of a guest is read by one caller, and each deadline is waited for")
	}
	rt := newRuntime(t)
	for _, mode := range []string{"append-lie", "append-already"} {
		l := openHostile(t, rt, "hostile", mode)
		errs, entries, _ := writeTo(t, l, 8)
		if err := errors.Join(errs...); err != nil || len(entries) != 0 {
			t.Errorf("%s: error %v, %d entries", mode, err, len(entries))
		}
	}
}
