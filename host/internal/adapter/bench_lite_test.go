package adapter_test

import (
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"modernc.org/libc"
	"modernc.org/libc/sys/types"
	lib "modernc.org/sqlite/lib"

	"github.com/alineo-labs/alineo-host/host/store"
)

// The ledger's tables as the plugin makes them, and what an append does to them.
const (
	liteEvents = `CREATE TABLE alineo_events (id INTEGER PRIMARY KEY, sandbox_id TEXT NOT NULL, name TEXT NOT NULL, step_idx INTEGER NOT NULL,
 branch INTEGER, event TEXT NOT NULL, payload TEXT, error TEXT, ts INTEGER NOT NULL)`
	liteIndex = `CREATE INDEX alineo_events_name_sandbox_ts ON alineo_events(name, sandbox_id, ts, id)`
	liteHeads = `CREATE TABLE alineo_host_heads (name TEXT NOT NULL, sandbox_id TEXT NOT NULL, epoch INTEGER NOT NULL, segment_id BLOB NOT NULL,
 hash BLOB NOT NULL, max_ts INTEGER NOT NULL, entries INTEGER NOT NULL, PRIMARY KEY (name, sandbox_id)) WITHOUT ROWID`
	liteSegments = `CREATE TABLE alineo_host_segments (name TEXT NOT NULL, sandbox_id TEXT NOT NULL, last_id INTEGER NOT NULL, first_id INTEGER NOT NULL,
 segment_id BLOB NOT NULL, previous BLOB NOT NULL, hash BLOB NOT NULL, leaves BLOB NOT NULL, PRIMARY KEY (name, sandbox_id, last_id)) WITHOUT ROWID`
	liteHead    = `INSERT INTO alineo_host_heads VALUES (?, ?, 1, x'', x'', 0, 0)`
	liteAdvance = `UPDATE alineo_host_heads SET segment_id = ?, hash = ?, max_ts = max(max_ts, ?), entries = entries + ?
 WHERE name = ? AND sandbox_id = ? AND epoch = 1 AND hash = ?`
	liteInsert  = `INSERT INTO alineo_events(sandbox_id, name, step_idx, branch, event, payload, error, ts) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	liteSegment = `INSERT INTO alineo_host_segments(name, sandbox_id, last_id, first_id, segment_id, previous, hash, leaves)
 SELECT ?1, ?2, m, m - ?3 + 1, ?4, ?5, ?6, ?7 FROM (SELECT max(id) AS m FROM alineo_events LIMIT 1)
 WHERE m - ?3 >= coalesce((SELECT max(last_id) FROM alineo_host_segments WHERE name = ?1 AND sandbox_id = ?2), -1)`
	// The same without the look at ids that were given before, for who binds by position only.
	liteSegmentPlain = `INSERT INTO alineo_host_segments(name, sandbox_id, last_id, first_id, segment_id, previous, hash, leaves)
 SELECT ?, ?, max(id), max(id) - ? + 1, ?, ?, ?, ? FROM alineo_events`
	liteMany = 32
	liteRead = `SELECT id, sandbox_id, name, step_idx, branch, event, payload, error, ts FROM alineo_events
 WHERE name = ? AND sandbox_id = ? ORDER BY ts, id`
)

// lite is what a Go program does that calls modernc's C interface itself: statements prepared,
// 32 rows an insert, texts staged in memory of libc (SQLite may not walk Go's under -race). It is the
// fastest way to SQLite without cgo that is known. Bare, it inserts the events and nothing else.
type lite struct {
	b                              *testing.B
	bare                           bool
	tls                            *libc.TLS
	db, stage                      uintptr
	used                           int
	begin, commit                  uintptr
	advance, insert, many, segment uintptr
	read                           uintptr
	file                           string
	hash                           []byte
	last                           string // cell that was read
}

func newLite(b *testing.B, synchronous string, bare bool) *lite {
	b.Helper()
	w := &lite{b: b, bare: bare, tls: libc.NewTLS()}
	w.stage = libc.Xmalloc(w.tls, types.Size_t(1<<20))
	out := libc.Xmalloc(w.tls, types.Size_t(unsafe.Sizeof(uintptr(0))))
	file := filepath.Join(b.TempDir(), "native.db")
	w.file = file
	schema := []string{"PRAGMA journal_mode = WAL", "PRAGMA synchronous = " + synchronous}
	if bare {
		schema = append(schema, liteEvents, liteIndex, liteHeads, liteSegments)
	} else {
		pluginMakes(b, file)
	}
	w.check(lib.Xsqlite3_open_v2(w.tls, w.text(file), out, lib.SQLITE_OPEN_READWRITE|lib.SQLITE_OPEN_CREATE|lib.SQLITE_OPEN_NOMUTEX, 0))
	w.db = *(*uintptr)(memory(out))
	libc.Xfree(w.tls, out)
	for _, s := range schema {
		w.run(w.prepare(s))
	}
	w.begin, w.commit = w.prepare("BEGIN IMMEDIATE"), w.prepare("COMMIT")
	w.advance, w.insert, w.segment = w.prepare(liteAdvance), w.prepare(liteInsert), w.prepare(liteSegment)
	w.many = w.prepare(liteInsert + strings.Repeat(", (?, ?, ?, ?, ?, ?, ?, ?)", liteMany-1))
	w.read = w.prepare(liteRead)
	b.Cleanup(func() {
		lib.Xsqlite3_close_v2(w.tls, w.db)
		w.tls.Close()
	})
	return w
}

// pluginMakes makes a ledger with the plugin's own schema, and claims the sandbox in it.
func pluginMakes(b *testing.B, file string) {
	b.Helper()
	guest, err := openSQLite(b.Context(), newRuntime(b), file, "normal")
	if err != nil {
		b.Fatal(err)
	}
	if _, err := guest.OpenLedger(b.Context(), benchKey); err != nil {
		b.Fatal(err)
	}
	if err := guest.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// memory turns an address of libc's into a pointer.
func memory(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

func (w *lite) check(rc int32) {
	if rc != lib.SQLITE_OK && rc != lib.SQLITE_DONE && rc != lib.SQLITE_ROW {
		w.b.Fatalf("SQLite answered %d", rc)
	}
}

func (w *lite) text(s string) uintptr {
	address := libc.Xmalloc(w.tls, types.Size_t(len(s)+1))
	copy(unsafe.Slice((*byte)(memory(address)), len(s)+1), s+"\x00")
	return address
}

func (w *lite) prepare(s string) uintptr {
	out, text := libc.Xmalloc(w.tls, types.Size_t(unsafe.Sizeof(uintptr(0)))), w.text(s)
	w.check(lib.Xsqlite3_prepare_v3(w.tls, w.db, text, -1, lib.SQLITE_PREPARE_PERSISTENT, out, 0))
	st := *(*uintptr)(memory(out))
	libc.Xfree(w.tls, out)
	libc.Xfree(w.tls, text)
	return st
}

func (w *lite) run(st uintptr) {
	w.check(lib.Xsqlite3_step(w.tls, st))
	w.check(lib.Xsqlite3_reset(w.tls, st))
	w.used = 0
}

func (w *lite) put(b []byte) uintptr {
	address := w.stage + uintptr(w.used)
	copy(unsafe.Slice((*byte)(memory(address)), len(b)), b)
	w.used += len(b)
	return address
}

func (w *lite) bindText(st uintptr, i int32, s string) {
	w.check(lib.Xsqlite3_bind_text(w.tls, st, i, w.put(unsafe.Slice(unsafe.StringData(s), len(s))), int32(len(s)), 0))
}

func (w *lite) bindBlob(st uintptr, i int32, b []byte) {
	w.check(lib.Xsqlite3_bind_blob(w.tls, st, i, w.put(b), int32(len(b)), 0))
}

func (w *lite) bindInt(st uintptr, i int32, v int64) {
	w.check(lib.Xsqlite3_bind_int64(w.tls, st, i, v))
}

func (w *lite) bindEntry(st uintptr, i int32, e *store.Entry) {
	w.bindText(st, i+1, e.SandboxID)
	w.bindText(st, i+2, e.Name)
	w.bindInt(st, i+3, e.StepIndex)
	w.check(lib.Xsqlite3_bind_null(w.tls, st, i+4))
	w.bindText(st, i+5, e.Event)
	w.check(lib.Xsqlite3_bind_text(w.tls, st, i+6, w.put(e.Payload), int32(len(e.Payload)), 0))
	w.check(lib.Xsqlite3_bind_null(w.tls, st, i+7))
	w.bindInt(st, i+8, e.TS)
}

func (w *lite) append(s *store.Segment) {
	const columns = 8
	n := len(s.Entries)
	if w.bare && n == 1 { // a single statement is its own transaction
		w.bindEntry(w.insert, 0, &s.Entries[0])
		w.run(w.insert)
		return
	}
	w.run(w.begin)
	if !w.bare {
		w.bindBlob(w.advance, 1, s.ID[:])
		w.bindBlob(w.advance, 2, s.Hash[:])
		w.bindInt(w.advance, 3, s.Entries[n-1].TS)
		w.bindInt(w.advance, 4, int64(n))
		w.bindText(w.advance, 5, benchKey.Name)
		w.bindText(w.advance, 6, benchKey.SandboxID)
		w.bindBlob(w.advance, 7, w.hash)
		w.run(w.advance)
		if lib.Xsqlite3_changes(w.tls, w.db) != 1 {
			w.b.Fatal("the head did not move")
		}
	}
	i := 0
	for ; n-i >= liteMany; i += liteMany {
		for k := range liteMany {
			w.bindEntry(w.many, int32(k*columns), &s.Entries[i+k])
		}
		w.run(w.many)
	}
	for ; i < n; i++ {
		w.bindEntry(w.insert, 0, &s.Entries[i])
		w.run(w.insert)
	}
	if !w.bare {
		w.bindText(w.segment, 1, benchKey.Name)
		w.bindText(w.segment, 2, benchKey.SandboxID)
		w.bindInt(w.segment, 3, int64(n))
		w.bindBlob(w.segment, 4, s.ID[:])
		w.bindBlob(w.segment, 5, w.hash)
		w.bindBlob(w.segment, 6, s.Hash[:])
		w.bindBlob(w.segment, 7, s.Leaves)
		w.run(w.segment)
		w.hash = append(w.hash[:0], s.Hash[:]...)
	}
	w.run(w.commit)
}

// readAll is the bare query: every cell of every row is looked at and its text copied.
func (w *lite) readAll() (rows, size int) {
	w.bindText(w.read, 1, benchKey.Name)
	w.bindText(w.read, 2, benchKey.SandboxID)
	rc := lib.Xsqlite3_step(w.tls, w.read)
	for ; rc == lib.SQLITE_ROW; rc = lib.Xsqlite3_step(w.tls, w.read) {
		rows++
		for _, i := range []int32{0, 3, 8} {
			size += int(lib.Xsqlite3_column_int64(w.tls, w.read, i) & 1)
		}
		for _, i := range []int32{1, 2, 5, 6} {
			address := lib.Xsqlite3_column_text(w.tls, w.read, i)
			cell := string(unsafe.Slice((*byte)(memory(address)), lib.Xsqlite3_column_bytes(w.tls, w.read, i)))
			size += len(cell) & len(w.last)
			w.last = cell
		}
	}
	w.check(rc)
	w.check(lib.Xsqlite3_reset(w.tls, w.read))
	w.used = 0
	return rows, size
}
