package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/alineo-labs/alineo-host/host/store"
)

// env is what a case works with: fresh storage and one handle on it.
type env struct {
	T
	store.Ledger
	ctx     context.Context //nolint:containedctx // a case is one call
	has     map[Feature]bool
	storage Storage
	stores  Stores // in cases about them, which have no Ledger
}

// open returns another handle, closed at the case's end.
func (e *env) open() store.Ledger {
	e.Helper()
	l, err := e.storage.Open(e.ctx)
	e.must("opening a handle", err)
	e.Cleanup(func() {
		if err := l.Close(context.WithoutCancel(e.ctx)); err != nil {
			e.Errorf("closing a handle: %v", err)
		}
	})
	return l
}

// must ends the case when err is not nil.
func (e *env) must(doing string, err error) {
	e.Helper()
	if err != nil {
		e.Errorf("%s: %v", doing, err)
		e.FailNow()
	}
}

// wantErr checks which sentinel an error wraps.
func (e *env) wantErr(doing string, err, want error) {
	e.Helper()
	if !errors.Is(err, want) {
		e.Errorf("%s: error is %v, want one that wraps %q", doing, err, want)
	}
}

// equal compares two values of any kind and prints both.
func (e *env) equal(what string, got, want any) {
	e.Helper()
	if !reflect.DeepEqual(got, want) {
		e.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

// driver writes one sandbox's ledger as the host's writer does.
type driver struct {
	e     *env
	l     store.Ledger
	key   store.Key
	epoch uint64
	prev  []byte
	count uint32
}

// drive claims a sandbox.
func (e *env) drive(name, id string) *driver { return e.driveOn(e.Ledger, name, id) }

func (e *env) driveOn(l store.Ledger, name, id string) *driver {
	e.Helper()
	d := &driver{e: e, l: l, key: store.Key{Name: name, SandboxID: id}}
	head, err := l.OpenLedger(e.ctx, d.key)
	e.must("claiming "+d.key.String(), err)
	d.epoch, d.prev = head.Epoch, head.Hash
	return d
}

// segment forms the next segment. It is not the head until applied is called.
func (d *driver) segment(entries ...store.Entry) store.Segment {
	d.count++
	s := store.Segment{Key: d.key, Epoch: d.epoch, Previous: d.prev, Entries: entries}
	for i := range entries {
		entries[i].Name, entries[i].SandboxID = d.key.Name, d.key.SandboxID
		leaf := sha256.Sum256(fmt.Append(nil, entries[i].TS, entries[i].Event, string(entries[i].Payload)))
		s.Leaves = append(s.Leaves, leaf[:]...)
	}
	id := sha256.Sum256(fmt.Append(nil, d.key, d.epoch, d.count, s.Leaves))
	copy(s.ID[:], id[:])
	s.Hash = sha256.Sum256(append(append(append([]byte{}, d.prev...), s.ID[:]...), s.Leaves...))
	return s
}

func (d *driver) applied(s store.Segment) { d.prev = append([]byte{}, s.Hash[:]...) }

// append writes entries in one segment and ends the case when that fails.
func (d *driver) append(entries ...store.Entry) {
	d.e.Helper()
	s := d.segment(entries...)
	d.e.must("appending to "+d.key.String(), d.l.Append(d.e.ctx, &store.Batch{Segments: []store.Segment{s}}))
	d.applied(s)
}

// guard makes a panic on a goroutine of the suite's own an error.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}

// event makes an entry; payload "" is SQL NULL.
func event(ts int64, name, payload string) store.Entry {
	e := store.Entry{TS: ts, StepIndex: -1, Event: name}
	if payload != "" {
		e.Payload = json.RawMessage(payload)
	}
	return e
}

// step makes an entry of an exec.
func step(ts, seq int64, name, payload string) store.Entry {
	e := event(ts, name, payload)
	e.StepIndex = seq
	return e
}

// read reads a sandbox's ledger to its end.
func (e *env) read(l store.Ledger, key store.Key) []store.Entry {
	e.Helper()
	entries, _, _ := e.pages(func(o store.ReadOptions) (store.Page, error) { return l.Read(e.ctx, key, o) }, store.ReadOptions{})
	return entries
}

// pages follows cursors to the end and returns the entries, each page's length and the last cursor.
func (e *env) pages(read func(store.ReadOptions) (store.Page, error), opts store.ReadOptions) (all []store.Entry, sizes []int, last []byte) {
	e.Helper()
	for {
		page, err := read(opts)
		e.must("reading a page", err)
		all, sizes = append(all, page.Entries...), append(sizes, len(page.Entries))
		if !page.More {
			return all, sizes, page.Cursor
		}
		if len(page.Entries) == 0 {
			e.Errorf("page %d is empty but says that there is more", len(sizes))
			e.FailNow()
		}
		opts.Cursor = page.Cursor
	}
}

// events lists the events of entries, short.
func events(entries []store.Entry) string {
	names := make([]string, len(entries))
	for i := range entries {
		names[i] = entries[i].Event
	}
	return strings.Join(names, " ")
}

// ids lists the ids of sandboxes.
func ids(list []store.Details) string {
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].SandboxID
	}
	return strings.Join(names, " ")
}

// samePayload compares payloads as JSON values, telling SQL NULL from JSON null.
func samePayload(a, b json.RawMessage) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	var x, y any
	for _, v := range [...]struct {
		text json.RawMessage
		into *any
	}{{a, &x}, {b, &y}} {
		d := json.NewDecoder(strings.NewReader(string(v.text)))
		d.UseNumber()
		if d.Decode(v.into) != nil {
			return false
		}
	}
	return reflect.DeepEqual(x, y)
}

// sameEntry compares everything but ids.
func sameEntry(a, b store.Entry) bool {
	if !samePayload(a.Payload, b.Payload) {
		return false
	}
	a.ID, b.ID, a.Payload, b.Payload = 0, 0, nil, nil
	return reflect.DeepEqual(a, b)
}
