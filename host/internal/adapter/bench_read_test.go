package adapter_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/ledger"
)

// BenchmarkRead reads a sandbox of 100,000 entries back through the WebAssembly plugin, page by page,
// and, in turns, with the bare query: over modernc's C interface, which copies every text (of-bare), and
// over database/sql, as a Go program has it (of-driver). Each is the query's time divided by the
// plugin's.
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
	var mine, theirs, drivers []float64
	b.ReportAllocs()
	for b.Loop() {
		began := time.Now()
		n := 0
		for _, err := range ledger.ReadSandbox(b.Context(), st, benchKey) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		mine = append(mine, float64(time.Since(began)))
		began = time.Now()
		rows, _ := bare.readAll()
		theirs = append(theirs, float64(time.Since(began)))
		began = time.Now()
		driven := readDriver(b, db)
		drivers = append(drivers, float64(time.Since(began)))
		if n != entries || driven != entries || rows != entries {
			b.Fatalf("%d entries, %d rows", n, rows)
		}
	}
	b.ReportMetric(1e9*entries/median(mine), "events/s")
	b.ReportMetric(ratio(theirs, mine), "of-bare-wall")
	b.ReportMetric(ratio(drivers, mine), "of-driver-wall")
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
