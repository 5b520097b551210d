package storetest

import (
	"github.com/alineo-labs/alineo-host/host/store"
)

func environmentCases() []Case {
	need := []Feature{FeatureEnvironments}
	return []Case{
		{"environment/round-trip", "an environment comes back as it was saved", need, environmentRoundTrip},
		{"environment/unknown", "an unknown environment is not found; deleting it is fine", need, environmentUnknown},
		{"environment/upsert", "saving under a known name replaces", need, environmentUpsert},
		{"environment/list", "environments are listed newest first; none is an empty list", need, environmentList},
		{"environment/delete", "deleting one keeps the others", need, environmentDelete},
	}
}

func environmentRoundTrip(e *env) {
	want := store.Environment{Name: "py ü", SnapshotID: "snap-1", Image: "python:3.13", BuiltAt: 1795959322719}
	e.must("saving", e.SaveEnvironment(e.ctx, want))
	got, err := e.GetEnvironment(e.ctx, want.Name)
	e.must("getting", err)
	e.equal("environment", got, want)
}

func environmentUnknown(e *env) {
	_, err := e.GetEnvironment(e.ctx, "none")
	e.wantErr("getting", err, store.ErrNotFound)
	e.must("deleting", e.DeleteEnvironment(e.ctx, "none"))
}

func environmentUpsert(e *env) {
	e.must("saving", e.SaveEnvironment(e.ctx, store.Environment{Name: "py", SnapshotID: "s1", Image: "i1", BuiltAt: 2}))
	want := store.Environment{Name: "py", SnapshotID: "s2", Image: "i2", BuiltAt: 1}
	e.must("saving again", e.SaveEnvironment(e.ctx, want))
	list, err := e.ListEnvironments(e.ctx)
	e.must("listing", err)
	e.equal("environments", list, []store.Environment{want})
}

func environmentList(e *env) {
	list, err := e.ListEnvironments(e.ctx)
	e.must("listing none", err)
	e.equal("environments at first", len(list), 0)
	for name, built := range map[string]int64{"b": 20, "a": 10, "c": 30} {
		e.must("saving", e.SaveEnvironment(e.ctx, store.Environment{Name: name, SnapshotID: "s", Image: "i", BuiltAt: built}))
	}
	list, err = e.ListEnvironments(e.ctx)
	e.must("listing", err)
	var names []string
	for _, environment := range list {
		names = append(names, environment.Name)
	}
	e.equal("environments", names, []string{"c", "b", "a"})
}

func environmentDelete(e *env) {
	for _, name := range []string{"a", "b"} {
		e.must("saving", e.SaveEnvironment(e.ctx, store.Environment{Name: name, SnapshotID: "s", Image: "i", BuiltAt: 1}))
	}
	e.must("deleting", e.DeleteEnvironment(e.ctx, "a"))
	_, err := e.GetEnvironment(e.ctx, "a")
	e.wantErr("getting the deleted one", err, store.ErrNotFound)
	_, err = e.GetEnvironment(e.ctx, "b")
	e.must("getting the other one", err)
}

// undeclaredCases say what a store answers that lacks an optional ability.
func undeclaredCases() []Case {
	return []Case{
		{"undeclared/environments", "a store that doesn't declare environments answers unsupported", []Feature{no + FeatureEnvironments}, undeclaredEnvironments},
		{"undeclared/read-all", "a store that doesn't declare reading everything answers unsupported", []Feature{no + FeatureReadAll}, undeclaredReadAll},
		{"undeclared/maintenance", "a store that doesn't declare maintenance has none, or answers unsupported", []Feature{no + FeatureMaintenance}, undeclaredMaintenance},
	}
}

func undeclaredEnvironments(e *env) {
	_, err := e.GetEnvironment(e.ctx, "x")
	e.wantErr("getting", err, store.ErrUnsupported)
	e.wantErr("saving", e.SaveEnvironment(e.ctx, store.Environment{Name: "x"}), store.ErrUnsupported)
	e.wantErr("deleting", e.DeleteEnvironment(e.ctx, "x"), store.ErrUnsupported)
	_, err = e.ListEnvironments(e.ctx)
	e.wantErr("listing", err, store.ErrUnsupported)
}

func undeclaredReadAll(e *env) {
	_, err := e.ReadAll(e.ctx, store.ReadOptions{})
	e.wantErr("reading everything", err, store.ErrUnsupported)
}

func undeclaredMaintenance(e *env) {
	m, ok := e.Ledger.(store.Maintenance)
	if !ok {
		return
	}
	key := store.Key{Name: "run", SandboxID: "id-1"}
	_, err := m.ListHeads(e.ctx, store.ReadOptions{})
	e.wantErr("listing heads", err, store.ErrUnsupported)
	_, err = m.ListSegments(e.ctx, key, store.ReadOptions{})
	e.wantErr("listing segments", err, store.ErrUnsupported)
	_, err = m.ListTombstones(e.ctx, store.ReadOptions{})
	e.wantErr("listing tombstones", err, store.ErrUnsupported)
	_, err = m.Usage(e.ctx, key)
	e.wantErr("summing up", err, store.ErrUnsupported)
	_, err = m.Stats(e.ctx)
	e.wantErr("summing the store up", err, store.ErrUnsupported)
}
