package adapter_test

import (
	"database/sql"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/ledger"
)

// BenchmarkRead reads a sandbox of 100,000 entries back through the WebAssembly plugin, page by page,
// and, in turns, with the bare query: over modernc's C interface, which copies every text (of-bare), and
// over database/sql, as a Go program has it (of-driver). Each is the query's time divided by the
// plugin's, -cpu by the process's CPU time. Garbage is collected between the turns, so that each pays
// for its own.
func BenchmarkRead(b *testing.B) {
	const entries, each = 100_000, 500
	st, err := openSQLite(b.Context(), newRuntime(b), filepath.Join(b.TempDir(), "read.db"), "normal")
	if err != nil {
		b.Fatal(err)
	}
	guest, bare := newThroughStore(b, st), newLite(b, "normal", false)
	events := newBatch(each)
	for range entries / each {
		events.next()
		guest.append(&events.segment)
		bare.append(&events.segment)
	}
	db, err := sql.Open("sqlite", bare.file)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	mine := reader{read: func() (n int) {
		for _, err := range ledger.ReadSandbox(b.Context(), st, benchKey) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		return n
	}}
	theirs := reader{read: func() int { rows, _ := bare.readAll(); return rows }}
	drivers := reader{read: func() int { return readDriver(b, db) }}
	for b.Loop() {
		for _, r := range []*reader{&mine, &theirs, &drivers} {
			if n := r.take(b); n != entries {
				b.Fatalf("%d entries", n)
			}
		}
	}
	b.ReportMetric(1e9*entries/median(mine.wall), "events/s")
	b.ReportMetric(median(mine.allocated)/entries, "B/event")
	b.ReportMetric(ratio(theirs.wall, mine.wall), "of-bare-wall")
	b.ReportMetric(ratio(theirs.cpu, mine.cpu), "of-bare-cpu")
	b.ReportMetric(ratio(drivers.wall, mine.wall), "of-driver-wall")
}

// reader is one way's share of BenchmarkRead.
type reader struct {
	read                 func() int
	cpu, wall, allocated []float64 // ns and bytes, of all
}

func (r *reader) take(b *testing.B) int {
	b.Helper()
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began, start := time.Now(), cpuTime(b)
	n := r.read()
	r.wall = append(r.wall, float64(time.Since(began)))
	r.cpu = append(r.cpu, float64(cpuTime(b)-start))
	runtime.ReadMemStats(&after)
	r.allocated = append(r.allocated, float64(after.TotalAlloc-before.TotalAlloc))
	return n
}

func readDriver(b *testing.B, db *sql.DB) (n int) {
	b.Helper()
	rows, err := db.QueryContext(b.Context(), liteRead, benchKey.Name, benchKey.SandboxID)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for ; rows.Next(); n++ {
		var id, step, ts int64
		var branch sql.NullInt64
		var sandbox, name, event string
		var text, failure sql.NullString
		if err := rows.Scan(&id, &sandbox, &name, &step, &branch, &event, &text, &failure, &ts); err != nil {
			b.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	return n
}
