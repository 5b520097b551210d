package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// keep closes a handle with the test.
func (r *rig) keep(h *sandbox.Handle, err error) *sandbox.Handle {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = h.Close(context.Background()) })
	return h
}

func TestRestoreSnapshot(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.create(sandbox.CreateOptions{})
	r.run(first, "echo kept > /tmp/state")
	snapshot := r.checkpoint(first, "")
	h := r.keep(r.client.RestoreSnapshot(t.Context(), snapshot, sandbox.RestoreOptions{Name: "back", RunID: "run", ResourceID: "res", TeamID: "team"}))
	want := fmt.Sprintf(`{"sandboxId":%q,"fromSnapshot":%q,"runId":"run","resourceId":"res","teamId":"team","resources":{"cpu":"2","memory":"256Mi"}}`, h.ID(), snapshot)
	if got := r.payloads(h, store.EventSandboxCreated)[0]; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := r.run(h, "cat /tmp/state"); got.Stdout != "kept\n" || got.Replayed || got.Seq != 1 || h.Name() != "back" {
		t.Errorf("got %+v", got)
	}
	child := r.keep(h.Fork(t.Context(), sandbox.ForkOptions{}))
	if details, err := r.client.GetSandbox(t.Context(), child.Key()); err != nil || details.TeamID != "team" || details.RunID != "run" {
		t.Errorf("got %+v, %v", details, err)
	}
	if _, err := r.client.RestoreSnapshot(t.Context(), "", sandbox.RestoreOptions{}); !errors.Is(err, sandbox.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	if _, err := r.client.RestoreSnapshot(t.Context(), "no-such-snapshot", sandbox.RestoreOptions{}); !errors.Is(err, opensandbox.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestConnect(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.create(sandbox.CreateOptions{Name: "job", RunID: "run", TeamID: "team"})
	r.run(first, "echo one")
	r.run(first, "echo two")
	before := r.events(first)
	h := r.keep(r.client.Connect(t.Context(), first.ID(), sandbox.ConnectOptions{}))
	if h.Name() != "job" || h.RunID() != "run" || h.ID() != first.ID() {
		t.Errorf("name %q, run %q", h.Name(), h.RunID())
	}
	r.wantEvents(h, before)
	if got := r.run(h, "echo three"); got.Seq != 3 || got.Replayed || got.Stdout != "three\n" {
		t.Errorf("got %+v", got)
	}
	if _, err := first.Run(t.Context(), "true", sandbox.ExecOptions{}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("the first handle got %v", err)
	}
	if _, err := h.Fork(t.Context(), sandbox.ForkOptions{}); !errors.Is(err, sandbox.ErrNoFork) {
		t.Errorf("got %v", err)
	}
	if err := h.Detach(t.Context()); err != nil || gone(t, h.ID()) {
		t.Errorf("detached: %v, gone %v", err, gone(t, h.ID()))
	}
	if _, err := h.Run(t.Context(), "true", sandbox.ExecOptions{}); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("got %v", err)
	}
	h = r.keep(r.client.Connect(t.Context(), first.ID(), sandbox.ConnectOptions{Resources: first.Resources()}))
	child := r.keep(h.Fork(t.Context(), sandbox.ForkOptions{}))
	if child.RunID() != "run" {
		t.Errorf("run %q", child.RunID())
	}
	if err := h.Close(t.Context()); err != nil || !gone(t, h.ID()) {
		t.Errorf("closed: %v", err)
	}
	if _, err := r.client.Connect(t.Context(), first.ID(), sandbox.ConnectOptions{}); !errors.Is(err, opensandbox.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// Letting go waits for what runs, as long as it may, and leaves the sandbox there.
func TestDetachWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *sandbox.Options) { o.MaxConcurrency = 1 })
	for _, patient := range []bool{true, false} {
		h := r.create(sandbox.CreateOptions{})
		command := "echo up; sleep 0.3; echo done"
		ctx, cancel := context.WithCancel(t.Context())
		if !patient {
			command = "echo up; sleep 1000"
		}
		exec, err := h.Exec(t.Context(), command, sandbox.ExecOptions{})
		must(t, err)
		readUntil(t, exec.Stdout(), "up\n")
		if !patient {
			cancel()
		}
		detached := h.Detach(ctx)
		cancel()
		result, err := exec.Wait()
		if patient && (detached != nil || err != nil || result.Stdout != "up\ndone\n") {
			t.Errorf("got %v, %+v, %v", detached, result, err)
		}
		if !patient && (!errors.Is(detached, context.Canceled) || !errors.Is(err, sandbox.ErrClosed) || result == nil || !result.Canceled) {
			t.Errorf("got %v, %+v, %v", detached, result, err)
		}
		if gone(t, h.ID()) {
			t.Error("the sandbox is gone")
		}
		must(t, wireClient(r.wire).DeleteSandbox(t.Context(), h.ID()))
	}
}

// A fork would be without the credentials that somebody else has bound.
func TestForkRefusesToLoseCredentials(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	box, err := wireClient(r.wire).CreateSandbox(t.Context(), opensandbox.CreateRequest{
		Image: &opensandbox.Image{URI: "host"}, Entrypoint: []string{"tail", "-f", "/dev/null"},
		ResourceLimits: map[string]string{"cpu": "1", "memory": "256Mi"},
	})
	must(t, err)
	foreign(t, r, store.Key{Name: "theirs", SandboxID: box.ID}, []ledger.Event{
		{Step: -1, Name: "sandbox.created", Payload: []byte(`{"sandboxId":"x","runId":"y"}`)},
		{Step: -1, Name: "credential.bound", Payload: []byte(`{"name":"github"}`)},
	})
	h := r.keep(r.client.Connect(t.Context(), box.ID, sandbox.ConnectOptions{Resources: sandbox.Resources{CPU: "1", Memory: "256Mi"}}))
	if _, err := h.Fork(t.Context(), sandbox.ForkOptions{}); !errors.Is(err, credential.ErrUnsupported) || h.Name() != "theirs" {
		t.Errorf("got %v", err)
	}
}

// One that the ledger does not know is called like one that was made without a name.
func TestConnectToUnknown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	box, err := wireClient(r.wire).CreateSandbox(t.Context(), opensandbox.CreateRequest{
		Image: &opensandbox.Image{URI: "host"}, Entrypoint: []string{"tail", "-f", "/dev/null"},
		ResourceLimits: map[string]string{"cpu": "1", "memory": "256Mi"},
	})
	if err != nil {
		t.Fatal(err)
	}
	h := r.keep(r.client.Connect(t.Context(), box.ID, sandbox.ConnectOptions{}))
	if got := r.run(h, "echo hi"); got.Seq != 1 || h.Name() != "sandbox-"+box.ID[:8] {
		t.Errorf("got %+v, name %s", got, h.Name())
	}
	r.wantEvents(h, "exec.started:1 exec.completed:1")
}

// Whatever Connect fails at, the sandbox is somebody's and stays.
func TestConnectFails(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *sandbox.Options) { o.MaxConcurrency = 2 })
	first := r.create(sandbox.CreateOptions{})
	r.wire.on("GET", "=/v1/sandboxes/"+first.ID(), says{200, `{"id":"` + first.ID() + `","status":{"state":"Pausing"}}`})
	if _, err := r.client.Connect(t.Context(), first.ID(), sandbox.ConnectOptions{}); !errors.Is(err, opensandbox.ErrConflict) || !strings.Contains(err.Error(), "Pausing") {
		t.Errorf("got %v", err)
	}
	r.wire.heal()
	r.wire.on("GET", "/code/contexts", says{401, ""})
	r.wire.on("GET", "/ping", says{401, ""})
	for range 3 { // the slot comes back each time
		if _, err := r.client.Connect(t.Context(), first.ID(), sandbox.ConnectOptions{}); !errors.Is(err, opensandbox.ErrUnauthorized) {
			t.Errorf("got %v", err)
		}
	}
	if gone(t, first.ID()) {
		t.Error("the sandbox is gone")
	}
}

func TestFork(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var hooked []string
	parent := r.create(sandbox.CreateOptions{
		Name: "job", RunID: "run", ResourceID: "res", TeamID: "team", Shell: "/bin/bash",
		Hooks: &sandbox.Hooks{Checkpoint: func(id, snapshot, tag string) { hooked = append(hooked, id+" "+snapshot+" "+tag) }},
	})
	r.run(parent, "echo base > /tmp/state")
	recorded := ""
	r.wire.do(http.MethodPost, "=/v1/sandboxes", func(req *http.Request) (*http.Response, error) {
		recorded = r.events(parent)
		r.wire.heal()
		resp, err := pass(req)
		if err == nil {
			err = r.wire.note(resp)
		}
		return resp, err
	})
	child := r.keep(parent.Fork(t.Context(), sandbox.ForkOptions{Tag: "here"}))
	if !strings.HasSuffix(recorded, " sandbox.checkpoint_created") {
		t.Errorf("when the child was asked for, the ledger had %s", recorded)
	}
	checkpoints, err := parent.Checkpoints(t.Context())
	if err != nil || len(checkpoints) != 1 || checkpoints[0].Tag != "here" || len(hooked) != 1 || hooked[0] != parent.ID()+" "+checkpoints[0].SnapshotID+" here" {
		t.Fatalf("checkpoints %+v, %v, hooks %q", checkpoints, err, hooked)
	}
	want := fmt.Sprintf(`{"sandboxId":%q,"forkedFrom":%q,"runId":"run","resourceId":"res","teamId":"team","parentSandboxId":%q,"credentialProxy":false,"resources":{"cpu":"2","memory":"256Mi"}}`,
		child.ID(), checkpoints[0].SnapshotID, parent.ID())
	if got := r.payloads(child, store.EventSandboxCreated)[0]; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if child.Name() != "fork-job-"+child.ID()[:8] {
		t.Errorf("name %s", child.Name())
	}
	// The shell is the parent's.
	if got := r.run(child, "a=(1 2); echo ${#a[@]}; cat /tmp/state; echo child > /tmp/state"); got.Stdout != "2\nbase\n" || got.Seq != 1 {
		t.Errorf("got %+v", got)
	}
	if got := r.run(parent, "cat /tmp/state"); got.Stdout != "base\n" {
		t.Errorf("got %+v", got)
	}
	other := r.keep(child.Fork(t.Context(), sandbox.ForkOptions{RunID: "other", TeamID: "them"}))
	details, err := r.client.GetSandbox(t.Context(), other.Key())
	if err != nil || details.RunID != "other" || details.TeamID != "them" || details.ResourceID != "res" || details.ParentSandboxID != child.ID() {
		t.Errorf("got %+v, %v", details, err)
	}
	grandchild := r.keep(other.Fork(t.Context(), sandbox.ForkOptions{}))
	if details, err := r.client.GetSandbox(t.Context(), grandchild.Key()); err != nil || details.RunID != "other" || details.TeamID != "them" {
		t.Errorf("got %+v, %v", details, err)
	}
	// A fork is resumed like any other.
	r.checkpoint(child, "")
	resumed := r.resume(child.ID(), sandbox.ResumeOptions{Shell: "/bin/bash"})
	if got := r.run(resumed, "a=(1 2); echo ${#a[@]}; cat /tmp/state; echo child > /tmp/state"); !got.Replayed {
		t.Errorf("got %+v", got)
	}
}

func TestForkLimit(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *sandbox.Options) { o.MaxConcurrency = 1 })
	parent := r.create(sandbox.CreateOptions{})
	if _, err := parent.Fork(t.Context(), sandbox.ForkOptions{}); !errors.Is(err, sandbox.ErrLimit) {
		t.Errorf("got %v", err)
	}
	r = newRig(t, func(o *sandbox.Options) { o.MaxConcurrency = 2 })
	parent, _ = r.create(sandbox.CreateOptions{}), r.create(sandbox.CreateOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	forked := make(chan error, 1)
	go func() {
		_, err := parent.Fork(ctx, sandbox.ForkOptions{})
		forked <- err
	}()
	cancel()
	if err := <-forked; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	r.wantEvents(parent, "sandbox.created") // no checkpoint for nothing
}

// A fork that fails half-way leaves no sandbox and no slot behind.
func TestForkFails(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *sandbox.Options) { o.MaxConcurrency = 3 })
	parent := r.create(sandbox.CreateOptions{})
	boom := store.ErrInvalid
	for range 3 {
		r.store.set(failOn(store.EventSandboxCreated, boom))
		before := list(t.Context())
		if _, err := parent.Fork(t.Context(), sandbox.ForkOptions{}); !errors.Is(err, boom) {
			t.Errorf("got %v", err)
		}
		r.store.set(nil)
		for _, id := range r.wire.made() {
			if id != parent.ID() && !gone(t, id) {
				t.Errorf("%s is left, of %v", id, before)
			}
		}
	}
	for range 3 { // as many as there are places
		r.wire.on(http.MethodPost, "/snapshots", says{http.StatusInternalServerError, "{}"})
		if _, err := parent.Fork(t.Context(), sandbox.ForkOptions{}); err == nil {
			t.Error("without a snapshot")
		}
		r.wire.heal()
	}
	forks, err := parent.ForkAll(t.Context(), 2, sandbox.ForkOptions{Tag: "both"})
	if err != nil || len(forks) != 2 || forks[0].ID() == forks[1].ID() {
		t.Fatalf("got %v, %v", forks, err)
	}
	for _, fork := range forks {
		if err := fork.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	var once sync.Once
	r.store.set(func(e store.Entry) (err error) {
		if e.Event == store.EventSandboxCreated {
			once.Do(func() { err = boom })
		}
		return err
	})
	if _, err := parent.ForkAll(t.Context(), 2, sandbox.ForkOptions{}); !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
	for _, id := range r.wire.made() {
		if id != parent.ID() && !gone(t, id) {
			t.Errorf("%s is left", id)
		}
	}
	if _, err := parent.ForkAll(t.Context(), 3, sandbox.ForkOptions{}); !errors.Is(err, sandbox.ErrLimit) {
		t.Errorf("got %v", err)
	}
}

func TestForksAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	parent := r.create(sandbox.CreateOptions{})
	r.run(parent, "echo base > /tmp/state")
	children := make([]*sandbox.Handle, 2)
	var all sync.WaitGroup
	for i := range children {
		all.Go(func() {
			var err error
			if children[i], err = parent.Fork(t.Context(), sandbox.ForkOptions{Tag: fmt.Sprint("tag", i)}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	for _, child := range children {
		r.keep(child, nil)
		if got := r.run(child, "cat /tmp/state"); got.Stdout != "base\n" {
			t.Errorf("got %+v", got)
		}
	}
	list, err := parent.Checkpoints(t.Context())
	if err != nil || len(list) != 2 || list[0].Tag == list[1].Tag || children[0].ID() == children[1].ID() {
		t.Errorf("got %+v, %v", list, err)
	}
}

// However a sandbox comes to be, one that can't be recorded is deleted, and its place is free.
func TestOriginsLeaveNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *sandbox.Options) { o.MaxConcurrency = 2 })
	parent := r.create(sandbox.CreateOptions{})
	snapshot := r.checkpoint(parent, "")
	env := r.client.Environment("e", sandbox.EnvironmentOptions{})
	must(t, r.keep(env.Create(t.Context(), sandbox.SpawnOptions{})).Close(t.Context()))
	for name, origin := range map[string]func() (*sandbox.Handle, error){
		"resume": func() (*sandbox.Handle, error) {
			return r.client.Resume(t.Context(), parent.ID(), sandbox.ResumeOptions{})
		},
		"restore": func() (*sandbox.Handle, error) {
			return r.client.RestoreSnapshot(t.Context(), snapshot, sandbox.RestoreOptions{})
		},
		"environment": func() (*sandbox.Handle, error) { return env.Create(t.Context(), sandbox.SpawnOptions{}) },
		"fork":        func() (*sandbox.Handle, error) { return parent.Fork(t.Context(), sandbox.ForkOptions{}) },
	} {
		for fault, spoil := range map[string]func(){
			"the ledger does not take it": func() { r.store.set(failOn(store.EventSandboxCreated, store.ErrInvalid)) },
			"the server fails":            func() { r.wire.on(http.MethodPost, "=/v1/sandboxes", says{http.StatusInternalServerError, "{}"}) },
			"it never answers":            func() { r.wire.on(http.MethodGet, "/ping", says{http.StatusUnauthorized, "{}"}) },
		} {
			spoil()
			if _, err := origin(); err == nil {
				t.Errorf("%s: %s: no error", name, fault)
			}
			r.store.set(nil)
			r.wire.heal()
			for _, id := range r.wire.made() {
				if id != parent.ID() && !gone(t, id) {
					t.Errorf("%s: %s: %s is left", name, fault, id)
				}
			}
		}
		h, err := origin() // there is a place
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		must(t, h.Close(t.Context()))
	}
}

// Who only looks takes nothing from whoever drives the sandbox.
func TestLookOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *sandbox.Options) { o.MaxConcurrency = 1 })
	driver := r.create(sandbox.CreateOptions{Name: "job", NetworkPolicy: &opensandbox.NetworkPolicy{DefaultAction: "deny"}})
	h, err := r.client.Connect(t.Context(), driver.ID(), sandbox.ConnectOptions{LookOnly: true, Resources: driver.Resources()})
	must(t, err)
	if h.Key() != driver.Key() {
		t.Errorf("key %s", h.Key())
	}
	must(t, h.WriteFile(t.Context(), "/tmp/seen", []byte("x"), 0))
	if _, err := h.Metrics(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := h.NetworkPolicy(t.Context()); err != nil {
		t.Error(err)
	}
	before := r.events(driver)
	for what, do := range map[string]func() error{
		"exec":       func() error { _, err := h.Exec(t.Context(), "true", sandbox.ExecOptions{}); return err },
		"terminal":   func() error { _, err := h.Interactive(t.Context(), "true", sandbox.TerminalOptions{}); return err },
		"code":       func() error { _, err := h.ExecCode(t.Context(), "1", sandbox.CodeOptions{}); return err },
		"session":    func() error { _, err := h.CreateSession(t.Context(), ""); return err },
		"emit":       func() error { return h.Emit(t.Context(), "mine", nil) },
		"checkpoint": func() error { _, err := h.Checkpoint(t.Context(), "x"); return err },
		"fork":       func() error { _, err := h.Fork(t.Context(), sandbox.ForkOptions{}); return err },
		"forks":      func() error { _, err := h.ForkAll(t.Context(), 2, sandbox.ForkOptions{}); return err },
		"pause":      func() error { return h.Pause(t.Context()) },
		"unpause":    func() error { return h.Unpause(t.Context()) },
		"rules": func() error {
			_, err := h.AddNetworkRules(t.Context(), opensandbox.NetworkRule{Action: "allow", Target: "example.com"})
			return err
		},
	} {
		if err := do(); !errors.Is(err, sandbox.ErrLookOnly) && !errors.Is(err, sandbox.ErrLimit) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if got := r.run(driver, "cat /tmp/seen"); got.Stdout != "x\n" {
		t.Errorf("got %+v", got)
	}
	must(t, h.Close(t.Context()))
	if gone(t, driver.ID()) {
		t.Error("the sandbox is gone")
	}
	if err := h.WriteFile(t.Context(), "/tmp/seen", nil, 0); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("got %v", err)
	}
	r.wantEvents(driver, before+" exec.started:1 exec.completed:1")
}
