//go:build unix

package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	_ "modernc.org/sqlite" // the driver that the third way goes through

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/capability/sqlite"
)

// The benchmark's tables have the shape of a ledger's: events, a head a sandbox, a row a segment.
const (
	benchEvents = `CREATE TABLE events (id INTEGER PRIMARY KEY, sandbox_id TEXT NOT NULL, name TEXT NOT NULL, step_idx INTEGER NOT NULL,
 branch INTEGER, event TEXT NOT NULL, payload TEXT, error TEXT, ts INTEGER NOT NULL)`
	benchIndex    = `CREATE INDEX events_by ON events(name, sandbox_id, ts, id)`
	benchHeads    = `CREATE TABLE heads (name TEXT, sandbox_id TEXT, epoch INTEGER, hash BLOB, PRIMARY KEY (name, sandbox_id)) WITHOUT ROWID`
	benchSegments = `CREATE TABLE segments (name TEXT, sandbox_id TEXT, last_id INTEGER, id BLOB, previous BLOB, hash BLOB, leaves BLOB,
 PRIMARY KEY (name, sandbox_id, last_id)) WITHOUT ROWID`
	benchHead    = `INSERT INTO heads VALUES (?, ?, 1, x'')`
	benchAdvance = `UPDATE heads SET hash = ? WHERE name = ? AND sandbox_id = ? AND epoch = ?`
	benchInsert  = `INSERT INTO events(sandbox_id, name, step_idx, branch, event, payload, error, ts) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	benchSegment = `INSERT INTO segments SELECT ?, ?, max(id) - ?, ?, ?, ?, ? FROM events`
	benchMany    = 32
)

func benchInsertMany() string {
	return benchInsert + strings.Repeat(", (?, ?, ?, ?, ?, ?, ?, ?)", benchMany-1)
}

// benchEvent and benchPart are what a host has in its hands.
type benchEvent struct {
	sandbox, name string
	step          int64
	event         string
	payload       []byte
	ts            int64
}

type benchPart struct {
	sandbox, name    string
	after            int64
	id, hash, leaves []byte
}

// benchBatch is one append: events of one segment per 64 of them.
type benchBatch struct {
	events []benchEvent
	parts  []benchPart
}

func newBenchBatch(n int) *benchBatch {
	b := new(benchBatch)
	payload := []byte(`{"seq":12,"type":"stdout","timestamp":1764422000000,"text":"` + strings.Repeat("some output of a command ", 6) + `"}`)
	per := min(n, 64)
	for first := 0; first < n; first += per {
		sandbox := fmt.Sprintf("sandbox-%08d", first)
		for range per {
			b.events = append(b.events, benchEvent{sandbox: sandbox, name: "bench", step: 3, event: "exec.output", payload: slices.Clone(payload)})
		}
		b.parts = append(b.parts, benchPart{
			sandbox: sandbox, name: "bench", after: int64(n - first - per),
			id: make([]byte, 16), hash: make([]byte, 32), leaves: make([]byte, 32*per),
		})
	}
	return b
}

func (b *benchBatch) stamp(clock *int64) {
	for i := range b.events {
		*clock++
		b.events[i].ts = *clock
	}
}

// Both faces of a batch as Rows, as the adapter of the ledger has them.
type (
	benchEntries benchBatch
	benchParts   benchBatch
)

func (r *benchEntries) Len() int     { return len(r.events) }
func (r *benchEntries) Columns() int { return 8 }

func (r *benchEntries) Value(row, column int) abi.Value {
	e := &r.events[row]
	switch column {
	case 0:
		return abi.Text(e.sandbox)
	case 1:
		return abi.Text(e.name)
	case 2:
		return abi.Int(e.step)
	case 4:
		return abi.Text(e.event)
	case 5:
		return abi.JSON(e.payload)
	case 7:
		return abi.Int(e.ts)
	default:
		return abi.Null
	}
}

func (r *benchEntries) ReadRow(row int, dst []abi.Value) {
	e := &r.events[row]
	_ = dst[7]
	dst[0], dst[1] = abi.Text(e.sandbox), abi.Text(e.name)
	dst[2], dst[3] = abi.Int(e.step), abi.Null
	dst[4], dst[5] = abi.Text(e.event), abi.JSON(e.payload)
	dst[6], dst[7] = abi.Null, abi.Int(e.ts)
}

func (r *benchParts) Len() int     { return len(r.parts) }
func (r *benchParts) Columns() int { return 6 }

func (r *benchParts) Value(row, column int) abi.Value {
	p := &r.parts[row]
	switch column {
	case 0:
		return abi.Text(p.name)
	case 1:
		return abi.Text(p.sandbox)
	case 2:
		return abi.Int(p.after)
	case 3:
		return abi.Blob(p.id)
	case 4:
		return abi.Blob(p.hash)
	default:
		return abi.Blob(p.leaves)
	}
}

// way is one way to append.
type way interface {
	append(b *benchBatch)
}

// programWay is what this package does for a guest: the program is decoded anew for every batch.
type programWay struct {
	b       *testing.B
	set     *capability.Set
	request []byte
	reply   []byte
	entries capability.Rows
	parts   capability.Rows
}

func newProgramWay(b *testing.B, batch *benchBatch) *programWay {
	db := open(b, sqlite.Options{Path: filepath.Join(b.TempDir(), "program.db"), Synchronous: "normal"})
	steps := []abi.SQLStep{once(benchEvents), once(benchIndex), once(benchHeads), once(benchSegments)}
	for i := range batch.parts {
		steps = append(steps, once(benchHead, abi.Text("bench"), abi.Text(batch.parts[i].sandbox)))
	}
	must(b, db, write(steps...), nil)
	exec := &abi.SQLExec{Database: "ledger", Steps: []abi.SQLStep{
		{SQL: benchAdvance, Batch: 2, Params: append(columns(4, 0, 1), abi.SQLParam{Value: abi.Int(1)}), Expect: new(uint64(1))},
		{SQL: benchInsert, ManySQL: benchInsertMany(), ManyRows: benchMany, Batch: 1, Params: columns(0, 1, 2, 3, 4, 5, 6, 7)},
		{SQL: benchSegment, Batch: 2, Params: columns(0, 1, 2, 3, 4, 4, 5), Expect: new(uint64(1))},
	}}
	return &programWay{
		b: b, request: exec.AppendTo(nil), entries: (*benchEntries)(batch), parts: (*benchParts)(batch),
		set: capability.NewSet(capability.SetOptions{Plugin: "bench", Databases: map[string]capability.Database{"ledger": db}}),
	}
}

func (w *programWay) append(*benchBatch) {
	var call capability.Call
	call.Put(w.entries)
	call.Put(w.parts)
	reply, failure := w.set.Handle(w.b.Context(), &call, abi.OpSQLExec, w.request, w.reply[:0])
	if failure != nil {
		w.b.Fatal(failure)
	}
	w.reply = reply
}

// driverWay is what a Go program does with database/sql, its statements prepared.
type driverWay struct {
	b                        *testing.B
	db                       *sql.DB
	advance, insert, segment *sql.Stmt
}

func newDriverWay(b *testing.B, batch *benchBatch) *driverWay {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "driver.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_txlock=immediate")
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	b.Cleanup(func() { _ = db.Close() })
	w := &driverWay{b: b, db: db}
	for _, s := range []string{benchEvents, benchIndex, benchHeads, benchSegments} {
		w.exec(db.Exec(s))
	}
	for i := range batch.parts {
		w.exec(db.Exec(benchHead, "bench", batch.parts[i].sandbox))
	}
	for text, st := range map[string]**sql.Stmt{benchAdvance: &w.advance, benchInsert: &w.insert, benchSegment: &w.segment} {
		if *st, err = db.Prepare(text); err != nil {
			b.Fatal(err)
		}
	}
	return w
}

func (w *driverWay) exec(_ sql.Result, err error) {
	if err != nil {
		w.b.Fatal(err)
	}
}

func (w *driverWay) append(batch *benchBatch) {
	tx, err := w.db.Begin()
	if err != nil {
		w.b.Fatal(err)
	}
	advance, insert, segment := tx.Stmt(w.advance), tx.Stmt(w.insert), tx.Stmt(w.segment)
	for i := range batch.parts {
		p := &batch.parts[i]
		w.exec(advance.Exec(p.hash, p.name, p.sandbox, 1))
	}
	for i := range batch.events {
		e := &batch.events[i]
		w.exec(insert.Exec(e.sandbox, e.name, e.step, nil, e.event, string(e.payload), nil, e.ts))
	}
	for i := range batch.parts {
		p := &batch.parts[i]
		w.exec(segment.Exec(p.name, p.sandbox, p.after, p.id, p.hash, p.hash, p.leaves))
	}
	if err := tx.Commit(); err != nil {
		w.b.Fatal(err)
	}
}

// BenchmarkAppend appends the same batches in four ways in turns, and reports what a program costs and
// how that stands to the others: "of-native" is the native way's CPU time divided by the program's
// (median over slices of the run), so that 1 is as fast and more is faster. CPU time, because
// neighbours disturb it least; ns/op is that of all ways together.
func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{1, 64, 512} {
		b.Run(fmt.Sprintf("events=%d", n), func(b *testing.B) {
			batch := newBenchBatch(n)
			ways := []way{newProgramWay(b, batch), newNativeWay(b, batch, false), newNativeWay(b, batch, true), newDriverWay(b, batch)}
			clock := int64(1_764_422_000_000)
			slice := max(4, 512/n)
			spent := make([][]float64, len(ways))
			var allocs uint64
			var wall time.Duration
			turn := 0
			run := func(count int) {
				turn++
				var before, after runtime.MemStats
				for k := range ways {
					i := (k + turn) % len(ways)
					runtime.ReadMemStats(&before)
					began, start := time.Now(), cpuTime(b)
					for range count {
						batch.stamp(&clock)
						ways[i].append(batch)
					}
					spent[i] = append(spent[i], float64(cpuTime(b)-start)/float64(count))
					if i == 0 {
						wall += time.Since(began)
						runtime.ReadMemStats(&after)
						allocs += after.Mallocs - before.Mallocs
					}
				}
			}
			run(slice) // opens, prepares
			for i := range spent {
				spent[i] = spent[i][:0]
			}
			allocs, wall = 0, 0
			b.ResetTimer()
			for done := 0; done < b.N; done += slice {
				run(min(slice, b.N-done))
			}
			b.StopTimer()
			for i, name := range []string{"", "of-native", "of-unstaged", "of-driver"} {
				if i == 0 {
					b.ReportMetric(median(spent[0])/float64(n), "cpu-ns/event")
					b.ReportMetric(float64(b.N*n)/wall.Seconds(), "events/s")
					b.ReportMetric(float64(allocs)/float64(b.N)/float64(n), "allocs/event")
					continue
				}
				ratios := make([]float64, len(spent[0]))
				for s := range ratios {
					ratios[s] = spent[i][s] / spent[0][s]
				}
				b.ReportMetric(median(ratios), name)
			}
		})
	}
}

// BenchmarkRead reads pages of events into handles, as a replay does; ns/op is a page's.
func BenchmarkRead(b *testing.B) {
	for _, n := range []int{1, 64, 512} {
		b.Run(fmt.Sprintf("events=%d", n), func(b *testing.B) {
			batch := newBenchBatch(512)
			w := newProgramWay(b, batch)
			clock := int64(0)
			batch.stamp(&clock)
			w.append(batch)
			exec := abi.SQLExec{Database: "ledger", ReadOnly: true, Steps: []abi.SQLStep{{
				SQL:    "SELECT id, sandbox_id, name, step_idx, branch, event, payload, error, ts FROM events WHERE id > ? ORDER BY id LIMIT ?",
				Params: []abi.SQLParam{{Value: abi.Int(0)}, {Value: abi.Int(int64(n))}}, Result: abi.ResultHandle,
			}}}
			req := exec.AppendTo(nil)
			b.ReportAllocs()
			for b.Loop() {
				var call capability.Call
				if _, failure := w.set.Handle(b.Context(), &call, abi.OpSQLExec, req, w.reply[:0]); failure != nil {
					b.Fatal(failure)
				}
			}
			b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// cpuTime returns the CPU time that the process has used.
func cpuTime(b *testing.B) time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
