package storetest

import (
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/alineo-labs/alineo-host/host/store"
)

func instanceCases() []Case {
	level := []Feature{FeatureInstances}
	conditional := []Feature{FeatureInstances, FeatureInstancesIf}
	return []Case{
		{Name: "instances/SI-1", Rule: "a key that nobody put is not there, which is no error", Needs: level, run: instanceMissing},
		{Name: "instances/SI-2", Rule: "a record with everything reads back as it was put", Needs: level, run: instanceWhole},
		{Name: "instances/SI-3", Rule: "what is absent from a record is absent when it is read", Needs: level, run: instanceBare},
		{Name: "instances/SI-4", Rule: "a put replaces the whole record: what the new one lacks is gone", Needs: level, run: instanceReplaced},
		{Name: "instances/SI-5", Rule: "each key has its own record", Needs: level, run: instanceKeys},
		{Name: "instances/SI-6", Rule: "a deleted record is gone", Needs: level, run: instanceDeleted},
		{Name: "instances/SI-7", Rule: "to delete a key that is not there is no error", Needs: level, run: instanceDeletedTwice},
		{Name: "instances/clock", Rule: "a record without a time gets that of the store's clock", Needs: level, run: instanceClock},
		{Name: "instances/text", Rule: "keys and ids may be any text, and are compared byte by byte", Needs: level, run: instanceText},
		{Name: "instances/put-if", Rule: "a conditional put looks at the sandbox id that is stored, or that nothing is", Needs: conditional, run: instancePutIf},
		{Name: "instances/delete-if", Rule: "a conditional delete looks at the sandbox id that is stored", Needs: conditional, run: instanceDeleteIf},
		{Name: "instances/put-if-race", Rule: "of many that put the first record at once, through several handles, one does", Needs: conditional, run: instanceRace},
		{
			Name: "instances/list", Rule: "a listing has every record once, oldest first, and those before a time only when asked",
			Needs: []Feature{FeatureInstances, FeatureInstancesList}, run: instanceList,
		},
	}
}

func instance(key string) store.Instance {
	return store.Instance{Key: key, Provider: "fake", ProviderSandboxID: "sb-1", ThreadID: "thread-1", UpdatedAt: 1}
}

func (e *env) put(records ...store.Instance) {
	e.Helper()
	for i := range records {
		e.must("putting "+records[i].Key, e.stores.Instances.Put(e.ctx, records[i]))
	}
}

// wantInstance checks what is stored under a key; nil is nothing.
func (e *env) wantInstance(key string, want *store.Instance) {
	e.Helper()
	got, ok, err := e.stores.Instances.Get(e.ctx, key)
	e.must("getting "+key, err)
	switch {
	case want == nil && ok:
		e.Errorf("%s is there: %+v", key, got)
	case want != nil && !ok:
		e.Errorf("%s is not there", key)
	case want != nil:
		e.same("record "+key, got, *want)
	}
}

func instanceMissing(e *env) { e.wantInstance("nobody", nil) }

func instanceWhole(e *env) {
	record := instance("k")
	record.LatestSnapshotID, record.LatestRunID = new("snap-1"), new("run-1")
	e.put(record)
	e.wantInstance("k", &record)
}

func instanceBare(e *env) {
	record := instance("k")
	e.put(record)
	e.wantInstance("k", &record)
	empty := instance("k2")
	empty.LatestSnapshotID, empty.LatestRunID = new(""), new("")
	e.put(empty)
	e.wantInstance("k2", &empty)
}

func instanceReplaced(e *env) {
	record := instance("k")
	record.LatestSnapshotID, record.LatestRunID = new("snap-1"), new("run-1")
	e.put(record)
	next := store.Instance{Key: "k", Provider: "other", ProviderSandboxID: "sb-2", ThreadID: "thread-2", UpdatedAt: 2}
	e.put(next)
	e.wantInstance("k", &next)
}

func instanceKeys(e *env) {
	a, b := instance("k"), instance("K")
	b.ProviderSandboxID = "sb-2"
	e.put(a, b)
	e.wantInstance("k", &a)
	e.wantInstance("K", &b)
}

func instanceDeleted(e *env) {
	a, b := instance("k"), instance("k2")
	e.put(a, b)
	e.must("deleting", e.stores.Instances.Delete(e.ctx, "k"))
	e.wantInstance("k", nil)
	e.wantInstance("k2", &b)
}

func instanceDeletedTwice(e *env) {
	e.must("deleting what is not there", e.stores.Instances.Delete(e.ctx, "nobody"))
}

func instanceClock(e *env) {
	record := instance("k")
	record.UpdatedAt = 0
	e.put(record)
	first, _, err := e.stores.Instances.Get(e.ctx, "k")
	e.must("getting", err)
	e.recent("the time of a record without one", first.UpdatedAt)
	record.UpdatedAt = 77
	e.put(record)
	e.wantInstance("k", &record)
}

func instanceText(e *env) {
	for i, key := range []string{"a b", "\u00e9", "e\u0301", "日本語 🦀", `quote"'\`, "%_", strings.Repeat("x", 1024)} {
		record := instance(key)
		record.ProviderSandboxID = fmt.Sprintf("sb-%d", i)
		record.LatestRunID = new(key)
		e.put(record)
		e.wantInstance(key, &record)
	}
	for _, key := range []string{"", "nul\x00", "broken\xff", strings.Repeat("x", 1025)} {
		record := instance("k")
		record.Key = key
		e.wantErr(fmt.Sprintf("putting the key %.20q", key), e.stores.Instances.Put(e.ctx, record), store.ErrInvalid)
	}
}

func instancePutIf(e *env) {
	s := e.stores.Instances
	putIf := func(record store.Instance, expected *string, want bool) {
		e.Helper()
		applied, err := s.PutIf(e.ctx, record, expected)
		e.must("putting conditionally", err)
		if applied != want {
			e.Errorf("putting %s over %v: applied is %v, want %v", record.ProviderSandboxID, expected, applied, want)
		}
	}
	first, second := instance("k"), instance("k")
	first.LatestSnapshotID = new("snap-1")
	second.ProviderSandboxID = "sb-2"
	putIf(first, new("sb-1"), false)
	e.wantInstance("k", nil)
	putIf(first, nil, true)
	e.wantInstance("k", &first)
	putIf(second, nil, false)
	putIf(second, new("sb-3"), false)
	e.wantInstance("k", &first)
	putIf(second, new("sb-1"), true)
	e.wantInstance("k", &second)
	if !s.Features().Conditional {
		e.Errorf("Features does not say Conditional")
	}
}

func instanceDeleteIf(e *env) {
	record, other := instance("k"), instance("k2")
	e.put(record, other)
	for _, c := range []struct {
		key, expected string
		want          bool
	}{{"k", "sb-2", false}, {"nobody", "sb-1", false}, {"k", "sb-1", true}, {"k", "sb-1", false}} {
		applied, err := e.stores.Instances.DeleteIf(e.ctx, c.key, c.expected)
		e.must("deleting conditionally", err)
		if applied != c.want {
			e.Errorf("deleting %s if it is %s: applied is %v, want %v", c.key, c.expected, applied, c.want)
		}
	}
	e.wantInstance("k", nil)
	e.wantInstance("k2", &other)
}

func instanceRace(e *env) {
	handles := e.two()
	var applied atomic.Int32
	e.atOnce("putting at once", 8, func(i int) error {
		record := instance("k")
		record.ProviderSandboxID = fmt.Sprintf("sb-%d", i)
		did, err := handles[i%2].Instances.PutIf(e.ctx, record, nil)
		if did {
			applied.Add(1)
		}
		return err
	})
	if n := applied.Load(); n != 1 {
		e.Errorf("%d of 8 put the first record, want 1", n)
	}
}

func instanceList(e *env) {
	s := e.stores.Instances
	// In the order of times and then of bytes: B before a before é.
	want := []store.Instance{instance("z"), instance("B"), instance("a"), instance("é"), instance("y")}
	for i, at := range []int64{1, 5, 5, 5, 9} {
		want[i].UpdatedAt = at
	}
	want[2].LatestRunID = new("run-1")
	e.put(want[4], want[2], want[0], want[3], want[1])
	for _, c := range []struct {
		before *int64
		limit  int
		want   []store.Instance
	}{{nil, 0, want}, {nil, 2, want}, {new(int64(9)), 1, want[:4]}, {new(int64(5)), 0, want[:1]}, {new(int64(1)), 0, nil}} {
		opts := store.InstanceListOptions{UpdatedBefore: c.before, Limit: c.limit}
		var got []store.Instance
		for more := true; more; {
			page, err := s.List(e.ctx, opts)
			e.must("listing", err)
			e.recent("the clock of a listing", page.Now)
			if c.limit > 0 && len(page.Instances) > c.limit {
				e.Errorf("a page of at most %d has %d", c.limit, len(page.Instances))
			}
			got = append(got, page.Instances...)
			opts.Cursor, more = page.Cursor, page.More
		}
		e.same(fmt.Sprintf("listing by %d before %v", c.limit, c.before), got, c.want)
	}
	_, err := s.List(e.ctx, store.InstanceListOptions{Cursor: []byte{1, 2, 3}})
	e.wantErr("listing behind a cursor that nobody gave", err, store.ErrInvalid)
}
