package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/alineo-labs/alineo-host/host/store"
)

func maintenanceCases() []Case {
	need := []Feature{FeatureMaintenance}
	return []Case{
		{"heads/list", "heads list every sandbox with entries once, by the bytes of name and id, as the last append left it", need, headsList},
		{"heads/paging", "heads come in pages that follow each other by cursor", need, headsPaging},
		{"heads/foreign", "a sandbox whose entries are all of others has a head with epoch 0", []Feature{FeatureMaintenance, FeatureForeignRows}, headsForeign},
		{"segments/list", "segments list what was appended to a sandbox, oldest first, byte for byte", need, segmentsList},
		{"segments/paging", "segments come in pages that follow each other by cursor, also bounded by bytes", need, segmentsPaging},
		{"segments/retry", "a replay writes no row: no entry, no segment, and the head stays", need, segmentsRetry},
		{"tombstones/list", "deleting leaves a tombstone with the final hash, and takes the segments", need, tombstonesList},
		{"tombstones/again", "deleting a key again adds up, and its epoch goes on", need, tombstonesAgain},
		{"tombstones/paging", "tombstones come in pages that follow each other by cursor", need, tombstonesPaging},
		{"usage/sums", "usage sums one sandbox's entries up", need, usageSums},
		{"usage/foreign", "usage counts entries of others too", []Feature{FeatureMaintenance, FeatureForeignRows}, usageForeign},
		{"stats/counts", "stats count every entry or say that they can't", need, statsCounts},
		{"maintenance/cursor", "a cursor of another list is refused or its page is empty, and nothing else comes of it", need, maintenanceCursor},
		{"maintenance/readers", "listing and summing up never block writers: appends go on between pages, and while others list", []Feature{FeatureMaintenance, FeatureHandles}, maintenanceReaders},
	}
}

// maintenance is the store's other half.
func (e *env) maintenance() store.Maintenance {
	e.Helper()
	m, ok := e.Ledger.(store.Maintenance)
	if !ok {
		e.Errorf("the store declares the feature %q and is no store.Maintenance", string(FeatureMaintenance))
		e.FailNow()
	}
	return m
}

// everyPage follows the cursors of a list to its end.
func everyPage[V any](e *env, what string, limit int, read func(store.ReadOptions) ([]V, []byte, bool, error)) []V {
	e.Helper()
	var all []V
	opts := store.ReadOptions{Limit: limit}
	for {
		list, cursor, more, err := read(opts)
		e.must("listing "+what, err)
		if limit > 0 && len(list) > limit {
			e.Errorf("a page of %d %s, %d were asked for", len(list), what, limit)
		}
		all = append(all, list...)
		switch {
		case !more:
			return all
		case len(list) == 0:
			e.Errorf("a page of %s is empty but says that there is more", what)
			e.FailNow()
		case len(all) > 1000:
			e.Errorf("there is no end of %s", what)
			e.FailNow()
		}
		opts.Cursor = cursor
	}
}

func (e *env) heads(limit int) []store.SandboxHead {
	e.Helper()
	return everyPage(e, "heads", limit, func(o store.ReadOptions) ([]store.SandboxHead, []byte, bool, error) {
		page, err := e.maintenance().ListHeads(e.ctx, o)
		return page.Heads, page.Cursor, page.More, err
	})
}

func (e *env) segments(key store.Key, limit int) []store.StoredSegment {
	e.Helper()
	return everyPage(e, "segments", limit, func(o store.ReadOptions) ([]store.StoredSegment, []byte, bool, error) {
		page, err := e.maintenance().ListSegments(e.ctx, key, o)
		return page.Segments, page.Cursor, page.More, err
	})
}

func (e *env) tombstones(limit int) []store.Tombstone {
	e.Helper()
	return everyPage(e, "tombstones", limit, func(o store.ReadOptions) ([]store.Tombstone, []byte, bool, error) {
		page, err := e.maintenance().ListTombstones(e.ctx, o)
		return page.Tombstones, page.Cursor, page.More, err
	})
}

// head is a sandbox's head as it should be after a segment of a driver.
func (d *driver) head(last *store.Segment, entries uint64, maxTS int64) store.SandboxHead {
	return store.SandboxHead{
		Key: d.key, Epoch: d.epoch, Hash: slices.Clone(last.Hash[:]), SegmentID: slices.Clone(last.ID[:]),
		Entries: entries, MaxTS: maxTS,
	}
}

// write appends one segment and returns it.
func (d *driver) write(entries ...store.Entry) store.Segment {
	d.e.Helper()
	s := d.segment(entries...)
	d.e.must("appending to "+d.key.String(), d.l.Append(d.e.ctx, &store.Batch{Segments: []store.Segment{s}}))
	d.applied(s)
	return s
}

func headsList(e *env) {
	e.equal("heads of an empty store", len(e.heads(0)), 0)
	var want []store.SandboxHead
	// In another order than that of their bytes, which is not that of a dictionary.
	for _, key := range []store.Key{{Name: "b", SandboxID: "1"}, {Name: "a", SandboxID: "ä"}, {Name: "a", SandboxID: "z"}, {Name: "B", SandboxID: "2"}, {Name: "ab", SandboxID: ""}} {
		d := e.drive(key.Name, key.SandboxID)
		d.write(event(7, "x", `{}`), event(3, "y", `{}`))
		last := d.write(event(5, "z", ""))
		want = append(want, d.head(&last, 3, 7))
	}
	e.drive("never", "written")
	want = []store.SandboxHead{want[3], want[2], want[1], want[4], want[0]}
	e.equal("heads", e.heads(0), want)
	again := e.drive("b", "1")
	want[4].Epoch = again.epoch
	e.equal("heads after another claim", e.heads(0), want)
}

func headsPaging(e *env) {
	var want []string
	for i := range 7 {
		d := e.drive("run", fmt.Sprint("id-", i))
		d.write(event(1, "x", `{}`))
		d.write(event(2, "y", `{}`))
		want = append(want, d.key.String())
	}
	for _, limit := range []int{1, 3, 7, 8} {
		var got []string
		for _, h := range e.heads(limit) {
			got = append(got, h.Key.String())
		}
		e.equal(fmt.Sprintf("heads in pages of %d", limit), got, want)
	}
}

func headsForeign(e *env) {
	d := e.drive("run", "id-1")
	last := d.write(event(2, "x", `{}`))
	rows := []store.Entry{event(4, "y", `{}`), event(5, "z", `{}`), event(5, "z", `{}`)}
	for i, id := range []string{"id-1", "id-2", "id-2"} {
		rows[i].Name, rows[i].SandboxID = "run", id
	}
	e.must("inserting rows of others", e.storage.Insert(e.ctx, rows))
	e.equal("heads", e.heads(1), []store.SandboxHead{
		d.head(&last, 1, 2), {Key: store.Key{Name: "run", SandboxID: "id-2"}},
	})
}

// stored is a segment as it should lie in the store, without ids.
func stored(s *store.Segment) store.StoredSegment {
	return store.StoredSegment{ID: s.ID, Previous: s.Previous, Hash: s.Hash, Leaves: s.Leaves}
}

// withoutIDs checks ids against the entries and takes them off.
func (e *env) withoutIDs(key store.Key, segments []store.StoredSegment) []store.StoredSegment {
	e.Helper()
	entries := e.read(e.Ledger, key)
	slices.SortFunc(entries, func(a, b store.Entry) int { return int(a.ID - b.ID) })
	at := 0
	for i := range segments {
		s := &segments[i]
		n := len(s.Leaves) / 32
		if at+n > len(entries) || n == 0 || entries[at].ID != s.FirstID || entries[at+n-1].ID != s.LastID {
			e.Errorf("segment %d has the ids %d to %d and %d leaves, but the entries begin with %d of %d", i, s.FirstID, s.LastID, n, at, len(entries))
			e.FailNow()
		}
		at += n
		s.FirstID, s.LastID = 0, 0
	}
	return segments
}

func segmentsList(e *env) {
	a, b := e.drive("run", "id-1"), e.drive("run", "id-2")
	first := a.write(event(9, "a1", `{}`), event(1, "a2", `{}`), event(5, "a3", `{}`))
	both := &store.Batch{Segments: []store.Segment{b.segment(event(2, "b1", `{}`)), a.segment(event(2, "a4", `{}`), event(2, "a5", `{}`))}}
	e.must("appending to both", e.Append(e.ctx, both))
	b.applied(both.Segments[0])
	a.applied(both.Segments[1])
	last := b.write(event(3, "b2", `{}`))
	e.equal("segments of a", e.withoutIDs(a.key, e.segments(a.key, 0)), []store.StoredSegment{stored(&first), stored(&both.Segments[1])})
	e.equal("segments of b", e.withoutIDs(b.key, e.segments(b.key, 0)), []store.StoredSegment{stored(&both.Segments[0]), stored(&last)})
	e.equal("segments of nobody", len(e.segments(store.Key{Name: "run", SandboxID: "id-3"}, 0)), 0)
}

func segmentsPaging(e *env) {
	d := e.drive("run", "id-1")
	var want []store.StoredSegment
	for i := range 6 {
		s := d.write(event(int64(i), "x", `{}`), event(int64(i), "y", `{}`))
		want = append(want, stored(&s))
	}
	for _, limit := range []int{1, 2, 5, 6, 7} {
		e.equal(fmt.Sprintf("segments in pages of %d", limit), e.withoutIDs(d.key, e.segments(d.key, limit)), want)
	}
	page, err := e.maintenance().ListSegments(e.ctx, d.key, store.ReadOptions{MaxBytes: 1})
	e.must("listing segments of one byte", err)
	if len(page.Segments) != 1 || !page.More {
		e.Errorf("a page of one byte has %d segments, more %v", len(page.Segments), page.More)
	}
}

func segmentsRetry(e *env) {
	a, b := e.drive("run", "id-1"), e.drive("run", "id-2")
	batch := &store.Batch{Segments: []store.Segment{
		a.segment(event(1, "a1", `{}`), event(2, "a2", `{}`)), b.segment(event(1, "b1", `{}`)),
	}}
	e.must("appending", e.Append(e.ctx, batch))
	state := func() string {
		text := fmt.Appendf(nil, "%+v", e.heads(0))
		for _, d := range []*driver{a, b} {
			usage, err := e.maintenance().Usage(e.ctx, d.key)
			e.must("summing up", err)
			text = fmt.Appendf(text, "\n%+v\n%+v\n%+v", e.segments(d.key, 0), usage, e.read(e.Ledger, d.key))
		}
		return string(text)
	}
	before := state()
	for range 2 {
		e.must("sending the batch again", e.Append(e.ctx, batch))
		e.must("sending its second half alone", e.Append(e.ctx, &store.Batch{Segments: batch.Segments[1:]}))
	}
	e.equal("the ledger after replays", state(), before)
}

func tombstonesList(e *env) {
	e.equal("tombstones of an empty store", len(e.tombstones(0)), 0)
	d, other := e.drive("run", "id-1"), e.drive("run", "id-2")
	d.write(event(1, "x", `{}`))
	last := d.write(event(2, "y", `{}`), event(3, "z", `{}`))
	other.write(event(1, "x", `{}`))
	_, err := e.DeleteSandbox(e.ctx, d.key)
	e.must("deleting", err)
	_, err = e.DeleteSandbox(e.ctx, store.Key{Name: "run", SandboxID: "unknown"})
	e.must("deleting an unknown one", err)
	list := e.tombstones(0)
	if len(list) != 1 || list[0].DeletedAt <= 0 {
		e.Errorf("tombstones are %+v", list)
		e.FailNow()
	}
	list[0].DeletedAt = 0
	e.equal("tombstone", list[0], store.Tombstone{Key: d.key, Entries: 3, Hash: last.Hash[:]})
	e.equal("segments", len(e.segments(d.key, 0)), 0)
	e.equal("segments of the other", len(e.segments(other.key, 0)), 1)
	if heads := e.heads(0); len(heads) != 1 || heads[0].Key != other.key {
		e.Errorf("heads are %+v", heads)
	}
}

func tombstonesAgain(e *env) {
	epoch := uint64(0)
	var last store.Segment
	for range 3 {
		d := e.drive("run", "id-1")
		if d.epoch <= epoch || d.prev != nil {
			e.Errorf("a claim after epoch %d has epoch %d and hash %x", epoch, d.epoch, d.prev)
		}
		epoch = d.epoch
		last = d.write(event(1, "x", `{}`), event(2, "y", `{}`))
		_, err := e.DeleteSandbox(e.ctx, d.key)
		e.must("deleting", err)
	}
	_, err := e.DeleteSandbox(e.ctx, store.Key{Name: "run", SandboxID: "id-1"})
	e.must("deleting nothing", err)
	list := e.tombstones(0)
	if len(list) != 1 || list[0].Entries != 6 || !bytes.Equal(list[0].Hash, last.Hash[:]) {
		e.Errorf("tombstones are %+v, want one of 6 entries and hash %x", list, last.Hash)
	}
}

func tombstonesPaging(e *env) {
	want := []string{"B/x", "a/1", "a/2", "a/é", "b/1"}
	for _, i := range []int{3, 0, 4, 2, 1} {
		name, id, _ := strings.Cut(want[i], "/")
		d := e.drive(name, id)
		d.write(event(1, "x", `{}`))
		_, err := e.DeleteSandbox(e.ctx, d.key)
		e.must("deleting", err)
	}
	for _, limit := range []int{1, 2, 5, 6} {
		var got []string
		for _, t := range e.tombstones(limit) {
			got = append(got, t.Key.String())
		}
		e.equal(fmt.Sprintf("tombstones in pages of %d", limit), got, want)
	}
}

func usageSums(e *env) {
	got, err := e.maintenance().Usage(e.ctx, store.Key{Name: "run", SandboxID: "id-1"})
	e.must("summing up an unknown sandbox", err)
	e.equal("usage of an unknown sandbox", got, store.Usage{})
	d := e.drive("run", "id-1")
	d.write(event(5, "sandbox.created", `{"a":1}`), event(3, "x", ""), event(9, "y", `"ä"`))
	e.drive("run", "id-2").write(event(1, "sandbox.closed", `{}`))
	got, err = e.maintenance().Usage(e.ctx, d.key)
	e.must("summing up", err)
	// A store may keep JSON in a form of its own, with spaces.
	if got.Bytes < 11 || got.Bytes > 13 {
		e.Errorf("usage is %d bytes, want 11 or a little more", got.Bytes)
	}
	got.Bytes = 0
	e.equal("usage", got, store.Usage{Entries: 3, FirstTS: 3, LastTS: 9, Created: true})
	d.write(event(9, "sandbox.closed", ""))
	got, err = e.maintenance().Usage(e.ctx, d.key)
	e.must("summing up a closed one", err)
	e.equal("closed", got.Closed, true)
}

func usageForeign(e *env) {
	e.drive("run", "id-0") // whatever a store does at first, such as renaming, is over
	failure := "it failed"
	row := event(4, "sandbox_created", `{}`)
	row.Name, row.SandboxID, row.Error = "run", "id-1", &failure
	e.must("inserting a row of others", e.storage.Insert(e.ctx, []store.Entry{row}))
	got, err := e.maintenance().Usage(e.ctx, store.Key{Name: "run", SandboxID: "id-1"})
	e.must("summing up", err)
	e.equal("usage", got, store.Usage{Entries: 1, Bytes: uint64(len(failure) + 2), FirstTS: 4, LastTS: 4, Created: true})
}

func statsCounts(e *env) {
	for i, want := range []int64{0, 3} {
		got, err := e.maintenance().Stats(e.ctx)
		e.must("summing the store up", err)
		if got.Entries != want && got.Entries != -1 || got.StorageBytes == 0 || got.StorageBytes < -1 || got.SchemaVersion < 0 {
			e.Errorf("stats are %+v, want %d entries", got, want)
		}
		if i == 0 {
			e.drive("run", "id-1").write(event(1, "x", `{}`), event(2, "y", `{}`))
			e.drive("run", "id-2").write(event(1, "x", `{}`))
		}
	}
}

func maintenanceCursor(e *env) {
	d := e.drive("run", "id-1")
	d.write(event(1, "x", `{}`))
	for _, cursor := range [][]byte{{0xff}, []byte("what is this?"), make([]byte, 33)} {
		opts := store.ReadOptions{Cursor: cursor}
		if page, err := e.maintenance().ListHeads(e.ctx, opts); err == nil && page.More {
			e.Errorf("heads behind %q: %+v", cursor, page)
		}
		if page, err := e.maintenance().ListSegments(e.ctx, d.key, opts); err == nil && page.More {
			e.Errorf("segments behind %q: %+v", cursor, page)
		}
		if page, err := e.maintenance().ListTombstones(e.ctx, opts); err == nil && page.More {
			e.Errorf("tombstones behind %q: %+v", cursor, page)
		}
	}
	e.equal("heads", len(e.heads(0)), 1)
}

func maintenanceReaders(e *env) {
	const rounds = 12
	d := e.drive("run", "id-1")
	for range rounds {
		d.write(event(1, "x", `{}`), event(1, "y", `{}`))
	}
	reader := e.open()
	m, ok := reader.(store.Maintenance)
	if !ok {
		e.Errorf("another handle is no store.Maintenance")
		return
	}
	// Between pages a reader holds nothing that an append would wait for.
	var entries, segments store.ReadOptions
	entries.Limit, segments.Limit = 1, 1
	for range rounds {
		page, err := reader.Read(e.ctx, d.key, entries)
		e.must("reading a page", err)
		list, err := m.ListSegments(e.ctx, d.key, segments)
		e.must("listing a page", err)
		entries.Cursor, segments.Cursor = page.Cursor, list.Cursor
		d.write(event(2, "z", `{}`))
	}
	// Nor does one that never stops.
	stop, failed := make(chan struct{}), make(chan error, 1)
	go func() {
		failed <- guard(func() error {
			for {
				select {
				case <-stop:
					return nil
				default:
				}
				if _, err := m.Usage(e.ctx, d.key); err != nil {
					return err
				}
				if _, err := m.ListHeads(e.ctx, store.ReadOptions{}); err != nil {
					return err
				}
			}
		})
	}()
	for range rounds {
		d.write(event(3, "w", `{}`))
	}
	close(stop)
	e.must("reading while others write", <-failed)
	e.equal("entries", len(e.read(reader, d.key)), 4*rounds)
}
