package storetest

import (
	"fmt"
	"strings"

	"github.com/alineo-labs/alineo-host/host/store"
)

func readCases() []Case {
	return []Case{
		{"read/unknown", "a key that nobody wrote to gives an empty page", nil, readUnknown},
		{"read/scope", "a read is of one name and id together, letter by letter", nil, readScope},
		{"read/order", "entries come by time, those of one time in the order in which they were written", nil, readOrder},
		{"read/paging", "pages are no longer than the limit, and together give every entry once", nil, readPaging},
		{"read/bytes", "a page ends with the entry that passes its bytes, and has one at least", nil, readBytes},
		{"read/tail", "the cursor of the last page gives what was appended after it, and only that", nil, readTail},
		{"read/growing", "entries that are appended between two pages are read, none twice", nil, readGrowing},
		{"read/cursor", "a cursor that the store never gave is an error, not a wrong page", nil, readCursor},
		{"read-all/order", "reading everything goes by id over all sandboxes, in pages", []Feature{FeatureReadAll}, readAllOrder},
		{"read-all/tail", "the last cursor of reading everything gives what came after it", []Feature{FeatureReadAll}, readAllTail},
		{"read-all/bytes", "pages of reading everything are bounded by bytes", []Feature{FeatureReadAll}, readAllBytes},
	}
}

func readUnknown(e *env) {
	e.drive("run", "id-1").append(event(1, "x", `{}`))
	for _, key := range []store.Key{{Name: "run", SandboxID: "id"}, {Name: "ru", SandboxID: "id-1"}, {Name: "id-1", SandboxID: "run"}} {
		page, err := e.Read(e.ctx, key, store.ReadOptions{})
		e.must("reading "+key.String(), err)
		if len(page.Entries) != 0 || page.More {
			e.Errorf("reading %s gave %d entries, more %v", key, len(page.Entries), page.More)
		}
	}
}

func readScope(e *env) {
	e.drive("run", "id-1").append(event(1, "a", `{}`))
	e.drive("run", "id-2").append(event(1, "b", `{}`))
	e.drive("other", "id-1").append(event(1, "c", `{}`))
	e.drive("RUN", "id-1").append(event(1, "d", `{}`))
	e.drive("run", "ID-1").append(event(1, "e", `{}`))
	e.equal("events", events(e.read(e.Ledger, store.Key{Name: "run", SandboxID: "id-1"})), "a")
}

func readOrder(e *env) {
	d := e.drive("run", "id-1")
	d.append(event(500, "e5", `{}`), event(300, "e3", `{}`), event(300, "e3b", `{}`))
	d.append(event(100, "e1", `{}`), event(300, "e3c", `{}`))
	d.append(event(-5, "e0", `{}`))
	e.equal("events", events(e.read(e.Ledger, d.key)), "e0 e1 e3 e3b e3c e5")
}

// numbered writes n entries, three of each time, and returns their events.
func numbered(d *driver, from, n int) string {
	entries, names := make([]store.Entry, n), make([]string, n)
	for i := range entries {
		names[i] = fmt.Sprintf("n%d", from+i)
		entries[i] = event(int64(100+(from+i)/3), names[i], `{"text":"0123456789"}`)
	}
	d.append(entries...)
	return strings.Join(names, " ")
}

func readPaging(e *env) {
	d := e.drive("run", "id-1")
	want := numbered(d, 0, 23)
	e.drive("run", "id-2").append(event(105, "other", `{}`))
	for _, limit := range []int{1, 2, 4, 22, 23, 24, 1000} {
		all, sizes, _ := e.pages(func(o store.ReadOptions) (store.Page, error) { return e.Read(e.ctx, d.key, o) }, store.ReadOptions{Limit: limit})
		e.equal(fmt.Sprintf("events in pages of %d", limit), events(all), want)
		for _, n := range sizes {
			if n > limit {
				e.Errorf("a page has %d entries, limit %d", n, limit)
			}
		}
	}
}

func readBytes(e *env) {
	d := e.drive("run", "id-1")
	big := `{"text":"` + strings.Repeat("x", 10_000) + `"}`
	var want []string
	for i := range 12 {
		name := fmt.Sprintf("n%d", i)
		d.append(event(int64(i), name, big))
		want = append(want, name)
	}
	for maxBytes, most := range map[int64]int{1: 1, 9_000: 1, 25_000: 3} {
		all, sizes, _ := e.pages(func(o store.ReadOptions) (store.Page, error) { return e.Read(e.ctx, d.key, o) }, store.ReadOptions{MaxBytes: maxBytes})
		e.equal("events", events(all), strings.Join(want, " "))
		for _, n := range sizes {
			if n > most {
				e.Errorf("a page of %d entries of 10 kB, bounded to %d bytes", n, maxBytes)
			}
		}
	}
}

func readTail(e *env) {
	d := e.drive("run", "id-1")
	numbered(d, 0, 7)
	read := func(o store.ReadOptions) (store.Page, error) { return e.Read(e.ctx, d.key, o) }
	_, _, last := e.pages(read, store.ReadOptions{Limit: 4})
	none, _, same := e.pages(read, store.ReadOptions{Cursor: last})
	e.equal("entries after the end", len(none), 0)
	want := numbered(d, 7, 5)
	all, _, _ := e.pages(read, store.ReadOptions{Cursor: same})
	e.equal("events after the end", events(all), want)
}

func readGrowing(e *env) {
	d := e.drive("run", "id-1")
	want := []string{numbered(d, 0, 6)}
	var got []store.Entry
	opts := store.ReadOptions{Limit: 2}
	for round := 0; ; round++ {
		page, err := e.Read(e.ctx, d.key, opts)
		e.must("reading a page", err)
		got = append(got, page.Entries...)
		if opts.Cursor = page.Cursor; !page.More {
			break
		}
		if round < 3 {
			want = append(want, numbered(d, 6+round*2, 2))
		}
	}
	e.equal("events", events(got), strings.Join(want, " "))
}

func readCursor(e *env) {
	d := e.drive("run", "id-1")
	numbered(d, 0, 3)
	for _, cursor := range []string{"?", "not a cursor of this store", strings.Repeat("\xff", 300)} {
		if page, err := e.Read(e.ctx, d.key, store.ReadOptions{Cursor: []byte(cursor)}); err == nil {
			e.Errorf("cursor %.20q gave a page of %d entries, want an error", cursor, len(page.Entries))
		}
	}
}

func readAllOrder(e *env) {
	var want []string
	drivers := []*driver{e.drive("run", "id-1"), e.drive("run", "id-2"), e.drive("other", "id-1")}
	for i := range 9 {
		name := fmt.Sprintf("n%d", i)
		drivers[i%3].append(event(int64(1000-i), name, `{}`), event(int64(i), name+"b", `{}`))
		want = append(want, name, name+"b")
	}
	for _, limit := range []int{1, 5, 100} {
		all, sizes, _ := e.pages(func(o store.ReadOptions) (store.Page, error) { return e.ReadAll(e.ctx, o) }, store.ReadOptions{Limit: limit})
		e.equal("events", events(all), strings.Join(want, " "))
		for i := 1; i < len(all); i++ {
			if all[i].ID <= all[i-1].ID {
				e.Errorf("id %d follows %d", all[i].ID, all[i-1].ID)
			}
		}
		for _, n := range sizes {
			if n > limit {
				e.Errorf("a page has %d entries, limit %d", n, limit)
			}
		}
	}
}

func readAllTail(e *env) {
	d := e.drive("run", "id-1")
	numbered(d, 0, 5)
	read := func(o store.ReadOptions) (store.Page, error) { return e.ReadAll(e.ctx, o) }
	_, _, last := e.pages(read, store.ReadOptions{Limit: 2})
	e.drive("run", "id-2").append(event(1, "early but later", `{}`))
	all, _, _ := e.pages(read, store.ReadOptions{Cursor: last})
	e.equal("events after the end", events(all), "early but later")
}

func readAllBytes(e *env) {
	d := e.drive("run", "id-1")
	for i := range 6 {
		d.append(event(int64(i), "n", `{"text":"`+strings.Repeat("x", 10_000)+`"}`))
	}
	all, sizes, _ := e.pages(func(o store.ReadOptions) (store.Page, error) { return e.ReadAll(e.ctx, o) }, store.ReadOptions{MaxBytes: 15_000})
	e.equal("entries", len(all), 6)
	for _, n := range sizes {
		if n > 2 {
			e.Errorf("a page of %d entries of 10 kB, bounded to 15000 bytes", n)
		}
	}
}
