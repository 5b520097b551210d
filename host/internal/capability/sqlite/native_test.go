//go:build unix

package sqlite_test

import (
	"path/filepath"
	"testing"
	"unsafe"

	"modernc.org/libc"
	"modernc.org/libc/sys/types"
	lib "modernc.org/sqlite/lib"
)

// nativeWay is what a Go program does that calls modernc's C interface itself, with the many-row
// insert: the yardstick of the benchmark. Unstaged it binds Go's memory where it lies, which works
// but is refused by -race (checkptr).
type nativeWay struct {
	b                               *testing.B
	unstaged                        bool
	tls                             *libc.TLS
	db                              uintptr
	stage                           uintptr
	used, size                      int
	begin, commit                   uintptr
	advance, insert, many, segments uintptr
}

func newNativeWay(b *testing.B, batch *benchBatch, unstaged bool) *nativeWay {
	w := &nativeWay{b: b, unstaged: unstaged, tls: libc.NewTLS(), size: 1 << 20}
	w.stage = libc.Xmalloc(w.tls, types.Size_t(w.size))
	path := w.text(filepath.Join(b.TempDir(), "native.db"))
	out := libc.Xmalloc(w.tls, 8)
	w.check(lib.Xsqlite3_open_v2(w.tls, path, out, lib.SQLITE_OPEN_READWRITE|lib.SQLITE_OPEN_CREATE|lib.SQLITE_OPEN_NOMUTEX, 0))
	w.db = *(*uintptr)(at(out))
	for _, s := range []string{"PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL", benchEvents, benchIndex, benchHeads, benchSegments} {
		w.run(w.prepare(s))
	}
	head := w.prepare(benchHead)
	for i := range batch.parts {
		w.used = 0
		w.bindText(head, 1, "bench")
		w.bindText(head, 2, batch.parts[i].sandbox)
		w.run(head)
	}
	w.begin, w.commit = w.prepare("BEGIN IMMEDIATE"), w.prepare("COMMIT")
	w.advance, w.insert, w.many, w.segments = w.prepare(benchAdvance), w.prepare(benchInsert), w.prepare(benchInsertMany()), w.prepare(benchSegment)
	b.Cleanup(func() {
		lib.Xsqlite3_close_v2(w.tls, w.db)
		w.tls.Close()
	})
	return w
}

func at(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

func (w *nativeWay) check(rc int32) {
	if rc != lib.SQLITE_OK && rc != lib.SQLITE_DONE && rc != lib.SQLITE_ROW {
		w.b.Fatalf("SQLite answered %d", rc)
	}
}

func (w *nativeWay) put(b []byte) uintptr {
	if w.unstaged && len(b) > 0 {
		return uintptr(unsafe.Pointer(&b[0]))
	}
	address := w.stage + uintptr(w.used)
	copy(unsafe.Slice((*byte)(at(address)), len(b)), b)
	w.used += len(b)
	return address
}

func (w *nativeWay) text(s string) uintptr {
	address := libc.Xmalloc(w.tls, types.Size_t(len(s)+1))
	copy(unsafe.Slice((*byte)(at(address)), len(s)+1), s+"\x00")
	return address
}

func (w *nativeWay) prepare(s string) uintptr {
	out := libc.Xmalloc(w.tls, 8)
	w.check(lib.Xsqlite3_prepare_v3(w.tls, w.db, w.text(s), -1, lib.SQLITE_PREPARE_PERSISTENT, out, 0))
	return *(*uintptr)(at(out))
}

func (w *nativeWay) run(st uintptr) {
	w.check(lib.Xsqlite3_step(w.tls, st))
	w.check(lib.Xsqlite3_reset(w.tls, st))
	w.used = 0
}

func (w *nativeWay) bindText(st uintptr, i int32, s string) {
	w.check(lib.Xsqlite3_bind_text(w.tls, st, i, w.put(unsafe.Slice(unsafe.StringData(s), len(s))), int32(len(s)), 0))
}

func (w *nativeWay) bindBlob(st uintptr, i int32, b []byte) {
	w.check(lib.Xsqlite3_bind_blob(w.tls, st, i, w.put(b), int32(len(b)), 0))
}

func (w *nativeWay) bindInt(st uintptr, i int32, v int64) {
	w.check(lib.Xsqlite3_bind_int64(w.tls, st, i, v))
}

func (w *nativeWay) bindEvent(st uintptr, i int32, e *benchEvent) {
	w.bindText(st, i+1, e.sandbox)
	w.bindText(st, i+2, e.name)
	w.bindInt(st, i+3, e.step)
	w.check(lib.Xsqlite3_bind_null(w.tls, st, i+4))
	w.bindText(st, i+5, e.event)
	w.check(lib.Xsqlite3_bind_text(w.tls, st, i+6, w.put(e.payload), int32(len(e.payload)), 0))
	w.check(lib.Xsqlite3_bind_null(w.tls, st, i+7))
	w.bindInt(st, i+8, e.ts)
}

func (w *nativeWay) append(batch *benchBatch) {
	w.run(w.begin)
	for i := range batch.parts {
		p := &batch.parts[i]
		w.bindBlob(w.advance, 1, p.hash)
		w.bindText(w.advance, 2, p.name)
		w.bindText(w.advance, 3, p.sandbox)
		w.bindInt(w.advance, 4, 1)
		w.run(w.advance)
		if lib.Xsqlite3_changes64(w.tls, w.db) != 1 {
			w.b.Fatal("head did not move")
		}
	}
	events := batch.events
	for ; len(events) >= benchMany; events = events[benchMany:] {
		for i := range int32(benchMany) {
			w.bindEvent(w.many, i*8, &events[i])
		}
		w.run(w.many)
	}
	for i := range events {
		w.bindEvent(w.insert, 0, &events[i])
		w.run(w.insert)
	}
	for i := range batch.parts {
		p := &batch.parts[i]
		w.bindText(w.segments, 1, p.name)
		w.bindText(w.segments, 2, p.sandbox)
		w.bindInt(w.segments, 3, p.after)
		w.bindBlob(w.segments, 4, p.id)
		w.bindBlob(w.segments, 5, p.hash)
		w.bindBlob(w.segments, 6, p.hash)
		w.bindBlob(w.segments, 7, p.leaves)
		w.run(w.segments)
	}
	w.run(w.commit)
}

// address returns where a variable is.
func address[T any](v *T) uintptr { return uintptr(unsafe.Pointer(v)) }

// functionAddress returns what modernc's C code calls a declared function by.
func functionAddress[T any](f T) uintptr { return *(*uintptr)(unsafe.Pointer(&struct{ f T }{f})) }
