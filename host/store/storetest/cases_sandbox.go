package storetest

import "github.com/alineo-labs/alineo-host/host/store"

func sandboxCases() []Case {
	return []Case{
		{"sandbox/details", "details are those of the ledger: status, times, counts and ids", nil, sandboxDetails},
		{"sandbox/fallback", "without a run id in the created payload, or without payload, the sandbox id is it", nil, sandboxFallback},
		{"sandbox/extremes", "of several created rows the earliest counts, of several closed rows the latest", nil, sandboxExtremes},
		{"sandbox/unknown", "an unknown sandbox is not found, by key and by id", nil, sandboxUnknown},
		{
			"sandbox/old-names", "a ledger in the older spelling that nobody migrated has details and checkpoints all the same",
			[]Feature{FeatureForeignRows},
			sandboxOldNames,
		},
		{
			"sandbox/foreign", "a sandbox that nobody claimed is found by its id among others of several names, and no other id is",
			[]Feature{FeatureForeignRows},
			sandboxForeign,
		},
		{"sandbox/delete", "deleting removes a sandbox's entries, details and checkpoints, and says how many went", nil, sandboxDelete},
		{"sandbox/delete-large", "deleting a sandbox of many entries ends with all of them gone, and says how many went", nil, sandboxDeleteLarge},
		{
			"sandbox/delete-others", "deleting leaves other sandboxes and the environments alone",
			[]Feature{FeatureEnvironments},
			sandboxDeleteOthers,
		},
	}
}

func sandboxDetails(e *env) {
	d := e.sandbox("run", "id-1", 100, 0, `{"sandboxId":"id-1","runId":"r","resourceId":"res","teamId":"team","parentSandboxId":"p"}`)
	d.append(
		step(110, 1, "exec.started", `{"seq":1}`), step(111, 1, "exec.completed", `{"seq":1,"exitCode":0}`),
		step(112, 2, "exec.started", `{"seq":2}`), step(113, 2, "exec.completed", `{"seq":2,"exitCode":1}`),
		step(114, 3, "exec.started", `{"seq":3}`),
	)
	want := store.Details{
		Name: "run", SandboxID: "id-1", Status: store.StatusRunning, StartedAt: 100, ExecCount: 2,
		RunID: "r", ResourceID: "res", TeamID: "team", ParentSandboxID: "p",
	}
	e.details("while it runs", d.key, want)
	d.append(event(200, "sandbox.closed", ""))
	want.Status, want.CompletedAt = store.StatusCompleted, 200
	e.details("after it was closed", d.key, want)
}

// details checks what the three ways to a sandbox's details say.
func (e *env) details(when string, key store.Key, want store.Details) {
	e.Helper()
	got, err := e.GetSandbox(e.ctx, key)
	e.must("getting "+key.String(), err)
	e.equal("details "+when, got, want)
	got, err = e.FindSandbox(e.ctx, key.SandboxID)
	e.must("finding "+key.SandboxID, err)
	e.equal("details by id "+when, got, want)
	for _, listed := range e.list(store.ListOptions{Name: key.Name}) {
		if listed.SandboxID == key.SandboxID {
			e.equal("details in the listing "+when, listed, want)
			return
		}
	}
	e.Errorf("%s is not listed", key)
}

func sandboxFallback(e *env) {
	for id, payload := range map[string]string{"none": `{"x":1}`, "null": ``, "json-null": `null`, "list": `[1]`} {
		d := e.sandbox("run", id, 1, 0, payload)
		e.details("with payload "+payload, d.key, store.Details{Name: "run", SandboxID: id, Status: store.StatusRunning, StartedAt: 1, RunID: id})
	}
}

func sandboxExtremes(e *env) {
	d := e.sandbox("run", "id-1", 300, 500, `{"runId":"r"}`)
	d.append(event(200, "sandbox.created", `{"runId":"r"}`), event(400, "sandbox.closed", ""))
	e.details("", d.key, store.Details{
		Name: "run", SandboxID: "id-1", Status: store.StatusCompleted, StartedAt: 200, CompletedAt: 500, RunID: "r",
	})
}

func sandboxUnknown(e *env) {
	e.sandbox("run", "id-1", 1, 0, `{}`)
	_, err := e.GetSandbox(e.ctx, store.Key{Name: "other", SandboxID: "id-1"})
	e.wantErr("getting under another name", err, store.ErrNotFound)
	_, err = e.FindSandbox(e.ctx, "id")
	e.wantErr("finding part of an id", err, store.ErrNotFound)
	n, err := e.DeleteSandbox(e.ctx, store.Key{Name: "other", SandboxID: "id-1"})
	e.must("deleting an unknown sandbox", err)
	e.equal("deleted entries", n, uint64(0))
	e.equal("entries of the known one", len(e.read(e.Ledger, store.Key{Name: "run", SandboxID: "id-1"})), 1)
}

func sandboxOldNames(e *env) {
	e.drive("run", "id-0") // whatever a store does at first, such as renaming, is over
	key := store.Key{Name: "run", SandboxID: "id-1"}
	rows := []store.Entry{
		event(1, "sandbox_created", `{"runId":"r"}`), step(2, 1, "exec_start", `{"seq":1}`), step(3, 1, "exec_complete", `{"seq":1}`),
		event(4, "checkpoint_created", `{"snapshotId":"s1","name":"t"}`), event(5, "sandbox_closed", ""),
	}
	for i := range rows {
		rows[i].Name, rows[i].SandboxID = key.Name, key.SandboxID
	}
	e.must("inserting rows of the older generation", e.storage.Insert(e.ctx, rows))
	e.details("of the older generation", key, store.Details{
		Name: "run", SandboxID: "id-1", Status: store.StatusCompleted, StartedAt: 1, CompletedAt: 5, ExecCount: 1, RunID: "r",
	})
	entry, err := e.LastCheckpoint(e.ctx, key, "t")
	e.must("finding the checkpoint", err)
	e.equal("time of the checkpoint", entry.TS, int64(4))
}

func sandboxForeign(e *env) {
	var rows []store.Entry
	for i, name := range []string{"a", "b", "b", "c", "d"} {
		row := event(int64(i+1), "sandbox.created", `{}`)
		row.Name, row.SandboxID = name, "id-"+string(rune('1'+i))
		rows = append(rows, row)
	}
	e.must("inserting rows of others", e.storage.Insert(e.ctx, rows))
	for i := range rows {
		got, err := e.FindSandbox(e.ctx, rows[i].SandboxID)
		e.must("finding "+rows[i].SandboxID, err)
		e.equal("name of "+rows[i].SandboxID, got.Name, rows[i].Name)
	}
	for _, id := range []string{"id", "id-0", "id-6", "a", "b"} {
		_, err := e.FindSandbox(e.ctx, id)
		e.wantErr("finding "+id, err, store.ErrNotFound)
	}
}

func sandboxDelete(e *env) {
	d := e.sandbox("run", "id-1", 1, 9, `{}`)
	d.append(event(5, madeCheckpoint, `{"snapshotId":"s"}`))
	n, err := e.DeleteSandbox(e.ctx, d.key)
	e.must("deleting", err)
	e.equal("deleted entries", n, uint64(3))
	e.equal("entries", len(e.read(e.Ledger, d.key)), 0)
	_, err = e.GetSandbox(e.ctx, d.key)
	e.wantErr("getting it", err, store.ErrNotFound)
	_, err = e.FindSandbox(e.ctx, "id-1")
	e.wantErr("finding it", err, store.ErrNotFound)
	_, err = e.LastCheckpoint(e.ctx, d.key, "")
	e.wantErr("finding its checkpoint", err, store.ErrNotFound)
	e.equal("sandboxes", ids(e.list(store.ListOptions{})), "")
	n, err = e.DeleteSandbox(e.ctx, d.key)
	e.must("deleting again", err)
	e.equal("deleted entries, again", n, uint64(0))
}

func sandboxDeleteOthers(e *env) {
	gone := e.sandbox("run", "id-1", 1, 0, `{}`)
	sameName, sameID := e.sandbox("run", "id-2", 1, 0, `{}`), e.sandbox("other", "id-1", 1, 0, `{}`)
	e.must("saving an environment", e.SaveEnvironment(e.ctx, store.Environment{Name: "run", SnapshotID: "s", Image: "i", BuiltAt: 1}))
	_, err := e.DeleteSandbox(e.ctx, gone.key)
	e.must("deleting", err)
	for _, d := range []*driver{sameName, sameID} {
		d.append(event(2, "goes.on", `{}`))
		e.equal("events of "+d.key.String(), events(e.read(e.Ledger, d.key)), "sandbox.created goes.on")
	}
	_, err = e.GetEnvironment(e.ctx, "run")
	e.must("getting the environment", err)
}

// sandboxDeleteLarge has more entries than a bundled ledger deletes at once.
func sandboxDeleteLarge(e *env) {
	const batches, each = 2, 3001
	d := e.drive("run", "id-1")
	for range batches {
		entries := make([]store.Entry, each)
		for i := range entries {
			entries[i] = event(int64(i), "x", `{}`)
		}
		d.append(entries...)
	}
	removed, err := e.DeleteSandbox(e.ctx, d.key)
	e.must("deleting", err)
	e.equal("entries that went", removed, uint64(batches*each))
	page, err := e.Read(e.ctx, d.key, store.ReadOptions{})
	e.must("reading", err)
	e.equal("entries that are left", len(page.Entries), 0)
	again := e.drive("run", "id-1")
	if again.epoch <= d.epoch || len(again.prev) != 0 {
		e.Errorf("a claim after epoch %d has epoch %d and hash %x", d.epoch, again.epoch, again.prev)
	}
	again.append(event(1, "anew", `{}`))
	e.equal("events after a new claim", events(e.read(e.Ledger, d.key)), "anew")
}
