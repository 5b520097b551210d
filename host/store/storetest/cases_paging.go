package storetest

import (
	"fmt"
	"strings"

	"github.com/alineo-labs/alineo-host/host/store"
)

func pagingCases() []Case {
	return []Case{
		{"checkpoint/paging", "checkpoints come in pages that follow each other by cursor, also those of one time", nil, checkpointPaging},
		{"read/last", "the last entries come in the same order, with the cursor behind them", nil, readLast},
		{"read/last-bounds", "what the bounds take from the last entries is missing at the beginning; one entry stays", nil, readLastBounds},
		{"read/last-cursor", "the last entries behind a cursor are ErrInvalid", nil, readLastCursor},
		{"read-all/last", "the last entries of all sandboxes come by id, with the cursor behind them", []Feature{FeatureReadAll}, readAllLast},
	}
}

// checkpoints lists a sandbox's checkpoints page by page, without their ids.
func (e *env) checkpoints(key store.Key, opts ...store.ReadOptions) []store.Checkpoint {
	e.Helper()
	o := store.ReadOptions{}
	if len(opts) > 0 {
		o = opts[0]
	}
	list := []store.Checkpoint{}
	var last *store.Checkpoint
	for {
		page, err := e.ListCheckpoints(e.ctx, key, o)
		e.must("listing checkpoints", err)
		if o.Limit > 0 && len(page.Checkpoints) > o.Limit {
			e.Errorf("a page of %d checkpoints, %d were asked for", len(page.Checkpoints), o.Limit)
		}
		for i := range page.Checkpoints {
			c := page.Checkpoints[i]
			if last != nil && !last.Before(&c) {
				e.Errorf("checkpoint %+v follows %+v", c, *last)
				e.FailNow()
			}
			last = &page.Checkpoints[i]
			c.ID = 0
			list = append(list, c)
		}
		if !page.More {
			return list
		}
		if len(page.Checkpoints) == 0 {
			e.Errorf("a page of checkpoints is empty but says that there is more")
			e.FailNow()
		}
		o.Cursor = page.Cursor
	}
}

func checkpointPaging(e *env) {
	d := e.drive("run", "id-1")
	want := make([]store.Checkpoint, 0, 9)
	for i := range 9 {
		ts := int64(i / 4)
		d.append(event(ts, madeCheckpoint, fmt.Sprintf(`{"snapshotId":"s%d"}`, i)), event(ts, "x", `{}`))
		want = append(want, store.Checkpoint{SnapshotID: fmt.Sprint("s", i), CreatedAt: ts})
	}
	for _, limit := range []int{1, 2, 4, 9, 10} {
		e.equal(fmt.Sprintf("checkpoints in pages of %d", limit), e.checkpoints(d.key, store.ReadOptions{Limit: limit}), want)
	}
}

func readLast(e *env) {
	d := e.drive("run", "id-1")
	empty, err := e.Read(e.ctx, d.key, store.ReadOptions{Last: 3})
	e.must("reading the last of none", err)
	e.equal("entries", len(empty.Entries), 0)
	d.append(event(5, "a", `{}`), event(1, "b", `{}`), event(5, "c", `{}`), event(3, "d", `{}`), event(9, "e", ""))
	other := e.drive("run", "id-2")
	other.append(event(99, "z", `{}`))
	for n, want := range map[int]string{1: "e", 2: "c e", 3: "a c e", 5: "b d a c e", 6: "b d a c e", 1 << 20: "b d a c e"} {
		page, err := e.Read(e.ctx, d.key, store.ReadOptions{Last: n})
		e.must("reading the last", err)
		if got := events(page.Entries); got != want || page.More {
			e.Errorf("the last %d entries are %q, more %v, want %q", n, got, page.More, want)
		}
		rest, err := e.Read(e.ctx, d.key, store.ReadOptions{Cursor: page.Cursor})
		e.must("reading behind the last", err)
		e.equal("entries behind the last", len(rest.Entries), 0)
	}
	page, err := e.Read(e.ctx, d.key, store.ReadOptions{Last: 2})
	e.must("reading the last", err)
	d.append(event(10, "f", `{}`))
	rest, err := e.Read(e.ctx, d.key, store.ReadOptions{Cursor: page.Cursor})
	e.must("reading what came later", err)
	e.equal("events", events(rest.Entries), "f")
}

func readLastBounds(e *env) {
	d := e.drive("run", "id-1")
	long := `{"text":"` + strings.Repeat("x", 2000) + `"}`
	d.append(event(1, "a", long), event(2, "b", long), event(3, "c", long))
	for _, c := range []struct {
		opts store.ReadOptions
		want string
	}{
		{store.ReadOptions{Last: 3, Limit: 2}, "b c"},
		{store.ReadOptions{Last: 2, Limit: 3}, "b c"},
		{store.ReadOptions{Last: 3, MaxBytes: 1}, "c"},
		{store.ReadOptions{Last: 3, MaxBytes: 5000}, "b c"},
		{store.ReadOptions{Last: 3, MaxBytes: 1 << 20}, "a b c"},
	} {
		page, err := e.Read(e.ctx, d.key, c.opts)
		e.must("reading the last", err)
		if got := events(page.Entries); got != c.want || page.More {
			e.Errorf("%+v gives %q, more %v, want %q", c.opts, got, page.More, c.want)
		}
	}
}

func readLastCursor(e *env) {
	d := e.drive("run", "id-1")
	d.append(event(1, "a", `{}`), event(2, "b", `{}`))
	page, err := e.Read(e.ctx, d.key, store.ReadOptions{Limit: 1})
	e.must("reading", err)
	_, err = e.Read(e.ctx, d.key, store.ReadOptions{Cursor: page.Cursor, Last: 1})
	e.wantErr("reading the last behind a cursor", err, store.ErrInvalid)
}

func readAllLast(e *env) {
	a, b := e.drive("run", "id-1"), e.drive("run", "id-2")
	a.append(event(9, "a1", `{}`))
	b.append(event(1, "b1", `{}`))
	a.append(event(2, "a2", `{}`))
	var cursor []byte
	for n, want := range map[int]string{1: "a2", 2: "b1 a2", 3: "a1 b1 a2", 4: "a1 b1 a2"} {
		page, err := e.ReadAll(e.ctx, store.ReadOptions{Last: n})
		e.must("reading the last of all", err)
		if got := events(page.Entries); got != want || page.More {
			e.Errorf("the last %d entries are %q, more %v, want %q", n, got, page.More, want)
		}
		cursor = page.Cursor
	}
	b.append(event(3, "later", `{}`))
	rest, err := e.ReadAll(e.ctx, store.ReadOptions{Cursor: cursor})
	e.must("reading what came later", err)
	e.equal("events behind the last", events(rest.Entries), "later")
}
