package sandbox_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

func TestResume(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.create(sandbox.CreateOptions{Name: "job", RunID: "run", ResourceID: "res", TeamID: "team", Resources: sandbox.Resources{Memory: "300Mi"}})
	r.run(first, "echo one > /tmp/state; echo out; echo err >&2; exit 3")
	r.run(first, `printf 'a\n\nb'`)
	snapshot := r.checkpoint(first, "")
	r.run(first, "echo two > /tmp/state")
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := r.events(first)

	h := r.resume(first.ID(), sandbox.ResumeOptions{})
	if h.Name() != "job" || h.RunID() != "run" || h.ID() == first.ID() {
		t.Errorf("name %q, run %q, id %s", h.Name(), h.RunID(), h.ID())
	}
	want := fmt.Sprintf(`{"sandboxId":%q,"resumedFrom":%q,"snapshotId":%q,"runId":"run","resourceId":"res","teamId":"team","resources":{"cpu":"2","memory":"300Mi"}}`,
		h.ID(), first.ID(), snapshot)
	if got := r.payloads(h, store.EventSandboxCreated); got[0] != want {
		t.Errorf("got  %s\nwant %s", got[0], want)
	}
	sent := r.wire.count("POST", "/command")
	if got, want := *r.run(h, "echo one > /tmp/state; echo out; echo err >&2; exit 3"),
		(sandbox.Result{Seq: 1, Stdout: "out\n", Stderr: "err\n", ExitCode: 3, Replayed: true}); got != want {
		t.Errorf("got %+v", got)
	}
	if got, want := *r.run(h, `printf 'a\n\nb'`), (sandbox.Result{Seq: 2, Stdout: "a\n\nb\n", Replayed: true}); got != want {
		t.Errorf("got %+v", got)
	}
	r.wantEvents(h, "sandbox.created")
	if got := r.wire.count("POST", "/command"); got != sent {
		t.Error("a replayed exec ran")
	}
	if got := r.run(h, "cat /tmp/state"); got.Stdout != "one\n" || got.Seq != 3 || got.Replayed {
		t.Errorf("got %+v", got)
	}
	r.wantEvents(h, "sandbox.created exec.started:3 exec.completed:3")
	if got := r.events(first); got != before {
		t.Errorf("the old ledger has become %s", got)
	}
}

func TestReplayedReaders(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.create(sandbox.CreateOptions{})
	r.run(first, "echo out; echo err >&2; exit 3")
	r.checkpoint(first, "")
	started := 0
	h := r.resume(first.ID(), sandbox.ResumeOptions{Hooks: &sandbox.Hooks{ExecStart: func(string, int64, string) { started++ }}})
	exec, err := h.Exec(t.Context(), "echo out; echo err >&2; exit 3", sandbox.ExecOptions{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	if out := readAll(t, exec.Stdout()); out != "out\n" {
		t.Errorf("got %q", out)
	}
	if out := readAll(t, exec.Stderr()); out != "err\n" {
		t.Errorf("got %q", out)
	}
	// The program that once handled the error handles it again.
	var failed *sandbox.CommandError
	if result, err := exec.Wait(); !errors.As(err, &failed) || failed.ExitCode != 3 || !result.Replayed || started != 0 {
		t.Errorf("got %+v, %v, %d hooks", result, err, started)
	}
}

func TestResumeTags(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.create(sandbox.CreateOptions{})
	var ids []string
	for i, tag := range []string{"a", "b", "a", ""} {
		r.run(first, fmt.Sprintf("echo %d > /tmp/n", i))
		ids = append(ids, r.checkpoint(first, tag))
	}
	list, err := first.Checkpoints(t.Context())
	if err != nil || len(list) != 4 || list[1].Tag != "b" || list[1].SnapshotID != ids[1] {
		t.Errorf("got %+v, %v", list, err)
	}
	if got := r.payloads(first, store.EventCheckpointCreated); got[0] != `{"snapshotId":"`+ids[0]+`","name":"a"}` || got[3] != `{"snapshotId":"`+ids[3]+`"}` {
		t.Errorf("got %s", got)
	}
	for tag, want := range map[string]int{"a": 2, "b": 1, "": 3} { // the last one with the tag
		h := r.resume(first.ID(), sandbox.ResumeOptions{Tag: tag})
		if got := field(t, r.payloads(h, store.EventSandboxCreated)[0], "snapshotId"); got != ids[want] {
			t.Errorf("tag %q: snapshot %v", tag, got)
		}
		for i := range want + 1 {
			if got := r.run(h, fmt.Sprintf("echo %d > /tmp/n", i)); !got.Replayed {
				t.Errorf("tag %q: exec %d ran", tag, i+1)
			}
		}
		if got := r.run(h, "cat /tmp/n"); got.Stdout != fmt.Sprintf("%d\n", want) || got.Replayed {
			t.Errorf("tag %q: got %+v", tag, got)
		}
	}
	var none *ledger.NoCheckpointError
	if _, err := r.client.Resume(t.Context(), first.ID(), sandbox.ResumeOptions{Tag: "c"}); !errors.As(err, &none) || !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	bare := r.create(sandbox.CreateOptions{})
	if _, err := r.client.Resume(t.Context(), bare.ID(), sandbox.ResumeOptions{}); !errors.As(err, &none) {
		t.Errorf("got %v", err)
	}
	var where *sandbox.Error
	if _, err := r.client.Resume(t.Context(), "nope", sandbox.ResumeOptions{}); !errors.Is(err, store.ErrNotFound) || !errors.As(err, &where) || where.SandboxID != "nope" {
		t.Errorf("got %v", err)
	}
}

func TestDivergence(t *testing.T) {
	t.Parallel()
	key, err := ledger.NewDigestKey("k1", []byte("0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, func(o *sandbox.Options) { o.DigestKey = key })
	first := r.create(sandbox.CreateOptions{})
	recorded := sandbox.ExecOptions{Cwd: "/tmp", Env: map[string]string{"A": "1"}}
	r.runWith(first, "echo $A", recorded)
	r.checkpoint(first, "")
	for _, test := range []struct {
		name, command string
		opts          sandbox.ExecOptions
		words         string
	}{
		{"command", "echo $B", recorded, `the ledger has exec "echo $A", the run asks for exec "echo $B"`},
		{"directory", "echo $A", sandbox.ExecOptions{Cwd: "/", Env: recorded.Env}, `cwd "/"`},
		{"value", "echo $A", sandbox.ExecOptions{Cwd: "/tmp", Env: map[string]string{"A": "2"}}, `env ["A"]`},
		{"variable", "echo $A", sandbox.ExecOptions{Cwd: "/tmp", Env: map[string]string{"A": "1", "B": ""}}, `env ["A" "B"]`},
		{"shell", "echo $A", sandbox.ExecOptions{Cwd: "/tmp", Env: recorded.Env, Shell: "/bin/bash"}, `shell "/bin/bash"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := r.resume(first.ID(), sandbox.ResumeOptions{})
			_, err := h.Exec(t.Context(), test.command, test.opts)
			var differs *sandbox.DivergenceError
			if !errors.Is(err, sandbox.ErrDivergence) || !errors.As(err, &differs) || differs.Seq != 1 || differs.SandboxID != h.ID() {
				t.Fatalf("got %v", err)
			}
			if !strings.Contains(err.Error(), test.words) || strings.Contains(err.Error(), `"1"`) || strings.Contains(err.Error(), `"2"`) {
				t.Errorf("got %q", err)
			}
			if differs.Recorded.Command != "echo $A" || differs.Asked.Command != test.command {
				t.Errorf("got %+v", differs)
			}
			// The position is still to be taken, by the right one.
			if result := r.runWith(h, "echo $A", recorded); !result.Replayed || result.Stdout != "1\n" {
				t.Errorf("got %+v", result)
			}
			r.wantEvents(h, "sandbox.created")
			lenient := r.resume(first.ID(), sandbox.ResumeOptions{IgnoreDivergence: true})
			if result := r.runWith(lenient, test.command, test.opts); !result.Replayed || result.Stdout != "1\n" {
				t.Errorf("got %+v", result)
			}
		})
	}
}

// A digest under a key that isn't there any more can't be compared, which is no difference.
func TestDigestKeys(t *testing.T) {
	t.Parallel()
	old, err := ledger.NewDigestKey("old", []byte("0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, func(o *sandbox.Options) { o.DigestKey = old })
	first := r.create(sandbox.CreateOptions{})
	r.runWith(first, "pwd", sandbox.ExecOptions{Cwd: "/tmp"})
	r.checkpoint(first, "")
	for _, test := range []struct {
		name string
		keys []ledger.DigestKey
		ok   bool
	}{{"unknown key", nil, true}, {"old key", []ledger.DigestKey{old}, false}} {
		client, err := sandbox.New(sandbox.Options{Wire: wireClient(r.wire), Store: r.store, Ledger: r.writer, OldDigestKeys: test.keys})
		if err != nil {
			t.Fatal(err)
		}
		h, err := client.Resume(t.Context(), first.ID(), sandbox.ResumeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = h.Exec(t.Context(), "pwd", sandbox.ExecOptions{Cwd: "/"})
		if errors.Is(err, sandbox.ErrDivergence) == test.ok {
			t.Errorf("%s: got %v", test.name, err)
		}
		if err := h.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// Of parallel execs some may have completed by the checkpoint and others not: those run again, under
// their own seq.
func TestReplayHoles(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.create(sandbox.CreateOptions{})
	slow, err := first.Exec(t.Context(), "while [ ! -e /tmp/go ]; do sleep 0.01; done; echo slow", sandbox.ExecOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r.run(first, "echo fast")
	r.checkpoint(first, "")
	if err := first.WriteFile(t.Context(), "/tmp/go", nil, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := slow.Wait(); err != nil {
		t.Fatal(err)
	}
	h := r.resume(first.ID(), sandbox.ResumeOptions{})
	var execs []*sandbox.Exec
	for _, command := range []string{"echo slow", "echo fast", "echo third"} { // it may even have become another one
		exec, err := h.Exec(t.Context(), command, sandbox.ExecOptions{})
		if err != nil {
			t.Fatal(err)
		}
		execs = append(execs, exec)
	}
	for i, replayed := range []bool{false, true, false} {
		if result, err := execs[i].Wait(); err != nil || result.Replayed != replayed {
			t.Errorf("exec %d: %+v, %v", i+1, result, err)
		}
	}
	sorted := r.events(h)
	for _, want := range []string{"exec.started:1", "exec.completed:1", "exec.started:3", "exec.completed:3"} {
		if strings.Count(sorted, want) != 1 {
			t.Errorf("the ledger has %s", sorted)
		}
	}
	if strings.Contains(sorted, ":2") {
		t.Errorf("the ledger has %s", sorted)
	}
}

// Where nothing is to be replayed, numbers go on after what was recorded by the checkpoint, whether or not
// it had ended.
func TestResumeWithoutReplay(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.create(sandbox.CreateOptions{})
	r.run(first, "echo one > /tmp/n")
	_, err := first.Exec(t.Context(), "sleep 1000", sandbox.ExecOptions{})
	must(t, err)
	r.checkpoint(first, "")
	r.run(first, "echo three > /tmp/n")
	h := r.resume(first.ID(), sandbox.ResumeOptions{NoReplay: true})
	if got := r.run(h, "cat /tmp/n"); got.Seq != 3 || got.Replayed || got.Stdout != "one\n" {
		t.Errorf("got %+v", got)
	}
	r.wantEvents(h, "sandbox.created exec.started:3 exec.completed:3")
}

// A resume of a resume goes back to the first one's execs, up to where it left off.
func TestLineage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.create(sandbox.CreateOptions{Name: "line"})
	r.run(first, "echo 1 >> /tmp/n; echo first")
	r.checkpoint(first, "one")
	r.run(first, "echo lost >> /tmp/n; echo lost")
	second := r.resume(first.ID(), sandbox.ResumeOptions{})
	program := func(h *sandbox.Handle, from int64) {
		t.Helper()
		for i, command := range []string{"echo 1 >> /tmp/n; echo first", "echo 2 >> /tmp/n; echo second", "cat /tmp/n"} {
			result := r.run(h, command)
			if replayed := int64(i+1) < from; result.Replayed != replayed || result.Seq != int64(i+1) {
				t.Errorf("%s: %+v", command, result)
			}
			if i == 2 && result.Stdout != "1\n2\n" {
				t.Errorf("got %+v", result)
			}
		}
	}
	program(second, 2)
	r.checkpoint(second, "two")
	third := r.resume(second.ID(), sandbox.ResumeOptions{})
	program(third, 4)
	if got := r.run(third, "cat /tmp/n"); got.Stdout != "1\n2\n" || got.Replayed {
		t.Errorf("got %+v", got)
	}
	r.wantEvents(third, "sandbox.created exec.started:4 exec.completed:4")

	// An ancestor's checkpoint can be named too, and then it is the ancestor that is gone on from.
	back := r.resume(third.ID(), sandbox.ResumeOptions{Tag: "one"})
	program(back, 2)
	if got := field(t, r.payloads(back, store.EventSandboxCreated)[0], "resumedFrom"); got != first.ID() {
		t.Errorf("resumed from %v", got)
	}
	r.checkpoint(back, "")
	program(r.resume(back.ID(), sandbox.ResumeOptions{}), 4)

	// The reference replays only what the last one ran itself.
	own := r.resume(second.ID(), sandbox.ResumeOptions{OwnOnly: true})
	if got := r.run(own, "echo own"); got.Replayed {
		t.Errorf("got %+v", got)
	}
	if got := r.run(own, "echo 2 >> /tmp/n; echo second"); !got.Replayed {
		t.Errorf("got %+v", got)
	}
}

// foreign writes a ledger as the reference does: old sandboxes without run id, no digests, no
// resources.
func foreign(t *testing.T, r *rig, key store.Key, events []ledger.Event) {
	t.Helper()
	stream, err := r.writer.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range events {
		if err := stream.Append(t.Context(), event); err != nil {
			t.Fatal(err)
		}
	}
}

func TestResumeOfForeignLedger(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	maker := r.create(sandbox.CreateOptions{})
	snapshot := r.checkpoint(maker, "")
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	key := store.Key{Name: "theirs", SandboxID: "their-id-" + maker.ID()[:8]}
	foreign(t, r, key, []ledger.Event{
		{Step: -1, Name: "sandbox.created", Payload: raw(`{"sandboxId":"` + key.SandboxID + `"}`)},
		{Step: 1, Name: "exec.started", Payload: raw(`{"cmd":"ls","seq":1}`)},
		{Step: 9, Name: "exec.output", Payload: raw(`{"seq":9,"type":"stdout","text":"before its start"}`)},
		{Step: 1, Name: "exec.output", Payload: raw(`{"seq":1,"type":"stdout","text":"x"}`)},
		{Step: 1, Name: "exec.output", Payload: raw(`{"seq":1,"type":"surprise","text":"y"}`)},
		{Step: -1, Name: "agent.checkpointed", Payload: raw(`{"turn":1}`)},
		{Step: -1, Name: "sandbox.paused"},
		{Step: 1, Name: "exec.completed", Payload: raw(`{"exitCode":0,"seq":1}`)},
		{Step: 2, Name: "exec.started", Payload: raw(`{"code":"1+1","seq":2}`)},
		{Step: 2, Name: "exec.output", Payload: raw(`{"seq":2,"type":"stdout","text":"2"}`)},
		{Step: 2, Name: "exec.completed", Payload: raw(`{"exitCode":0,"seq":2}`)},
		{Step: -1, Name: "sandbox.checkpoint_created", Payload: raw(`{"snapshotId":"` + snapshot + `"}`)},
	})
	h := r.resume(key.SandboxID, sandbox.ResumeOptions{})
	if h.Name() != "theirs" || len(h.RunID()) != 36 {
		t.Errorf("name %q, run %q", h.Name(), h.RunID())
	}
	if got := h.Resources(); got != (sandbox.Resources{CPU: "2", Memory: "256Mi"}) {
		t.Errorf("resources %+v", got)
	}
	// Without a digest any directory will do.
	if got := r.runWith(h, "ls", sandbox.ExecOptions{Cwd: "/etc"}); !got.Replayed || got.Stdout != "x\n" {
		t.Errorf("got %+v", got)
	}
	// The second was code, not a command.
	_, err := h.Exec(t.Context(), "1+1", sandbox.ExecOptions{})
	var differs *sandbox.DivergenceError
	if !errors.As(err, &differs) || differs.Recorded.Kind != ledger.KindCode || differs.Asked.Kind != ledger.KindExec {
		t.Errorf("got %v", err)
	}
}

// Without a broker credentials can't be bound again, and without them the sandbox would be another one.
func TestResumeRefusesLostCredentials(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i, test := range []struct {
		event   string
		refused bool
	}{{"credential.bound", true}, {"credential.revoked", false}} {
		key := store.Key{Name: "n", SandboxID: fmt.Sprintf("credential-%d", i)}
		foreign(t, r, key, []ledger.Event{
			{Step: -1, Name: "sandbox.created", Payload: json.RawMessage(`{"sandboxId":"x","runId":"y","networkPolicy":{"egress":[]},"credentialProxy":true}`)},
			{Step: -1, Name: "sandbox.checkpoint_created", Payload: json.RawMessage(`{"snapshotId":"no-such-snapshot"}`)},
			{Step: -1, Name: "credential.bound", Payload: json.RawMessage(`{"name":"github"}`)},
			{Step: -1, Name: test.event, Payload: json.RawMessage(`{"name":"github"}`)},
		})
		_, err := r.client.Resume(t.Context(), key.SandboxID, sandbox.ResumeOptions{})
		if refused := errors.Is(err, credential.ErrUnsupported); err == nil || refused != test.refused {
			t.Errorf("%s: got %v", test.event, err)
		}
	}
	key := store.Key{Name: "n", SandboxID: "garbled"}
	foreign(t, r, key, []ledger.Event{
		{Step: -1, Name: "sandbox.created", Payload: json.RawMessage(`{"sandboxId":"x","networkPolicy":7}`)},
		{Step: -1, Name: "sandbox.checkpoint_created", Payload: json.RawMessage(`{"snapshotId":"no-such-snapshot"}`)},
	})
	if _, err := r.client.Resume(t.Context(), key.SandboxID, sandbox.ResumeOptions{}); err == nil || !strings.Contains(err.Error(), "network policy") {
		t.Errorf("got %v", err)
	}
}
