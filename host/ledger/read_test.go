package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
)

// stuck is a store whose cursor does not move, or that fails in the middle.
type stuck struct {
	store.Ledger
	err error
}

func (s stuck) Read(_ context.Context, _ store.Key, opts store.ReadOptions) (store.Page, error) {
	if len(opts.Cursor) > 0 && s.err != nil {
		return store.Page{}, s.err
	}
	return store.Page{Entries: []store.Entry{{ID: 1}}, Cursor: []byte("same"), More: true}, nil
}

func TestReadSandboxEndsWithAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, st := range []stuck{{}, {err: broken}} {
		n, failures := 0, 0
		for _, err := range ledger.ReadSandbox(t.Context(), st, store.Key{Name: "n", SandboxID: "s"}) {
			if n++; err != nil {
				failures++
				if st.err != nil && !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "reading ledger of n/s: ") {
					t.Errorf("error is %v", err)
				}
			}
		}
		if failures != 1 || n > 4 {
			t.Errorf("%d rounds with %d errors", n, failures)
		}
	}
}

// circling is a store that leads its reader round, or on and on with nothing.
type circling struct {
	store.Ledger
	pages []store.Page
	asked int
}

func (c *circling) ReadAll(context.Context, store.ReadOptions) (store.Page, error) {
	c.asked++
	return c.pages[(c.asked-1)%len(c.pages)], nil
}

func TestReadAllLeavesACircle(t *testing.T) {
	t.Parallel()
	a := store.Page{Entries: []store.Entry{{ID: 1}, {ID: 2}}, Cursor: []byte("a"), More: true}
	b := store.Page{Entries: []store.Entry{{ID: 3}}, Cursor: []byte("b"), More: true}
	none := store.Page{Entries: []store.Entry{{ID: 1}}, More: true}
	for want, pages := range map[string][]store.Page{
		"does not follow":   {a, b},
		"its page is empty": {a, b, {Cursor: []byte("c"), More: true}},
		"not follow":        {none},
	} {
		st := &circling{pages: pages}
		var last error
		n := 0
		for _, last = range ledger.ReadAll(t.Context(), st) {
			n++
		}
		if last == nil || !strings.Contains(last.Error(), want) || n > 4 {
			t.Errorf("%d rounds, then %v, want %q", n, last, want)
		}
	}
}

// A long history is read in pages: what is in memory does not grow with it.
func TestReadSandboxIsBounded(t *testing.T) {
	const count, size = 2000, 20_000 // 40 MB
	payload := `{"text":"` + strings.Repeat("x", size) + `"}`
	entries := make([]store.Entry, 0, 500)
	st := written(t)
	for i := range count {
		if entries = append(entries, row("a", int64(i), 1, "exec.output", payload)); len(entries) == cap(entries) {
			if err := st.Insert(t.Context(), entries); err != nil {
				t.Fatal(err)
			}
			entries = entries[:0]
		}
	}
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	n, most := 0, uint64(0)
	for _, err := range ledger.ReadSandbox(t.Context(), st, store.Key{Name: "run", SandboxID: "a"}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n%500 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc)
		}
	}
	if n != count {
		t.Errorf("%d entries, want %d", n, count)
	}
	if most > before.HeapAlloc+12<<20 {
		t.Errorf("reading 40 MB kept %d MB", (most-before.HeapAlloc)>>20)
	}
}

func BenchmarkBuildReplay(b *testing.B) {
	const lines = 20_000
	rows := []store.Entry{row("a", 0, -1, "sandbox.created", `{}`), row("a", 1, 1, "exec.started", `{"seq":1,"cmd":"x"}`)}
	for i := range lines {
		rows = append(rows, row("a", int64(2+i), 1, "exec.output", fmt.Sprintf(`{"seq":1,"type":"stdout","text":"line %d of the output of a command","timestamp":1795964634665}`, i)))
	}
	rows = append(rows, row("a", lines+2, 1, "exec.completed", `{"seq":1,"exitCode":0}`), row("a", lines+3, -1, "sandbox.checkpoint_created", `{"snapshotId":"s"}`))
	st := written(b, rows...)
	b.Run("replay", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ledger.BuildReplay(b.Context(), st, store.Key{Name: "run", SandboxID: "a"}, ledger.ReplayOptions{}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*lines), "ns/row")
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, err := range ledger.ReadSandbox(b.Context(), st, store.Key{Name: "run", SandboxID: "a"}) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*lines), "ns/row")
	})
}
