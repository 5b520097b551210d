package storetest

import "github.com/alineo-labs/alineo-host/host/store"

func checkpointCases() []Case {
	return []Case{
		{"checkpoint/none", "a sandbox without checkpoints answers not found, and an empty list", nil, checkpointNone},
		{"checkpoint/last", "the last checkpoint is the newest by time, then by order of writing", nil, checkpointLast},
		{"checkpoint/tag", "of several checkpoints with one tag the last counts; an unknown tag is not found", nil, checkpointTag},
		{"checkpoint/list", "checkpoints are listed in the order in which they were made, with tag and time", nil, checkpointList},
		{"checkpoint/null", "a checkpoint without payload is listed with an empty snapshot", nil, checkpointNull},
		{"checkpoint/scope", "another sandbox's checkpoints don't count", nil, checkpointScope},
	}
}

const madeCheckpoint = "sandbox.checkpoint_created"

func checkpointNone(e *env) {
	d := e.drive("run", "id-1")
	d.append(event(1, "sandbox.created", `{}`), event(2, "step.checkpointed", `{"snapshotId":"no"}`))
	for _, tag := range []string{"", "t"} {
		_, err := e.LastCheckpoint(e.ctx, d.key, tag)
		e.wantErr("finding the last checkpoint", err, store.ErrNotFound)
	}
	e.equal("checkpoints", len(e.checkpoints(d.key)), 0)
}

// last finds the last checkpoint and returns its payload.
func (e *env) last(key store.Key, tag string) string {
	e.Helper()
	entry, err := e.LastCheckpoint(e.ctx, key, tag)
	e.must("finding the last checkpoint", err)
	if entry.Event != madeCheckpoint || entry.Name != key.Name || entry.SandboxID != key.SandboxID || entry.ID == 0 {
		e.Errorf("the last checkpoint of %s is %+v", key, entry)
	}
	return string(entry.Payload)
}

func checkpointLast(e *env) {
	d := e.drive("run", "id-1")
	d.append(event(10, madeCheckpoint, `{"snapshotId":"s1"}`), event(30, madeCheckpoint, `{"snapshotId":"s2"}`))
	d.append(event(20, madeCheckpoint, `{"snapshotId":"s3"}`), event(40, "exec.started", `{"snapshotId":"s4"}`))
	if got := e.last(d.key, ""); !samePayload([]byte(got), []byte(`{"snapshotId":"s2"}`)) {
		e.Errorf("the last checkpoint by time is %s", got)
	}
	d.append(event(30, madeCheckpoint, `{"snapshotId":"s5"}`))
	if got := e.last(d.key, ""); !samePayload([]byte(got), []byte(`{"snapshotId":"s5"}`)) {
		e.Errorf("the last checkpoint of one time is %s", got)
	}
}

func checkpointTag(e *env) {
	d := e.drive("run", "id-1")
	d.append(
		event(1, madeCheckpoint, `{"snapshotId":"s1","name":"t"}`), event(2, madeCheckpoint, `{"snapshotId":"s2","name":"t"}`),
		event(3, madeCheckpoint, `{"snapshotId":"s3","name":"ü \"q\""}`), event(4, madeCheckpoint, `{"snapshotId":"s4"}`),
		event(5, "mine", `{"snapshotId":"s5","name":"t"}`), event(6, madeCheckpoint, ""),
	)
	for tag, want := range map[string]string{"t": `{"snapshotId":"s2","name":"t"}`, `ü "q"`: `{"snapshotId":"s3","name":"ü \"q\""}`} {
		if got := e.last(d.key, tag); !samePayload([]byte(got), []byte(want)) {
			e.Errorf("the last checkpoint tagged %q is %s", tag, got)
		}
	}
	for _, tag := range []string{"T", "t ", "%", "s1"} {
		_, err := e.LastCheckpoint(e.ctx, d.key, tag)
		e.wantErr("finding a checkpoint tagged "+tag, err, store.ErrNotFound)
	}
}

func checkpointList(e *env) {
	d := e.drive("run", "id-1")
	d.append(event(20, madeCheckpoint, `{"snapshotId":"s1","name":"a"}`), event(30, "x", `{}`), event(30, madeCheckpoint, `{"snapshotId":"s2"}`))
	d.append(event(30, madeCheckpoint, `{"snapshotId":"s3","name":"a"}`))
	e.equal("checkpoints", e.checkpoints(d.key), []store.Checkpoint{
		{SnapshotID: "s1", Tag: "a", CreatedAt: 20}, {SnapshotID: "s2", CreatedAt: 30}, {SnapshotID: "s3", Tag: "a", CreatedAt: 30},
	})
}

func checkpointNull(e *env) {
	d := e.drive("run", "id-1")
	d.append(event(1, madeCheckpoint, ""), event(2, madeCheckpoint, `{"name":"t"}`))
	e.equal("checkpoints", e.checkpoints(d.key), []store.Checkpoint{{CreatedAt: 1}, {Tag: "t", CreatedAt: 2}})
}

func checkpointScope(e *env) {
	a, b := e.drive("run", "id-1"), e.drive("run", "id-2")
	a.append(event(1, madeCheckpoint, `{"snapshotId":"s1","name":"t"}`))
	b.append(event(2, madeCheckpoint, `{"snapshotId":"s2","name":"t"}`))
	if got := e.last(a.key, "t"); !samePayload([]byte(got), []byte(`{"snapshotId":"s1","name":"t"}`)) {
		e.Errorf("the checkpoint of %s is %s", a.key, got)
	}
	e.equal("checkpoints", len(e.checkpoints(a.key)), 1)
}
