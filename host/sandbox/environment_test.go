package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

func TestEnvironment(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *sandbox.Options) { o.MaxConcurrency = 6 })
	var builds atomic.Int32
	env := r.client.Environment("tools", sandbox.EnvironmentOptions{
		Shell: "/bin/bash",
		Setup: func(ctx context.Context, sb *sandbox.Handle) error {
			builds.Add(1)
			_, err := sb.Run(ctx, "echo built > /tmp/tool", sandbox.ExecOptions{Strict: true})
			return err
		},
	})
	if _, err := env.Info(t.Context()); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	// Several at once share one build.
	handles := make([]*sandbox.Handle, 4)
	var all sync.WaitGroup
	for i := range handles {
		all.Go(func() {
			var err error
			if handles[i], err = env.Create(t.Context(), sandbox.SpawnOptions{ResourceID: "res", TeamID: "team"}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if builds.Load() != 1 || t.Failed() {
		t.Fatalf("%d builds", builds.Load())
	}
	record, err := env.Info(t.Context())
	if err != nil || record.Name != "tools" || record.Image != "host" || record.BuiltAt == 0 {
		t.Errorf("got %+v, %v", record, err)
	}
	for i, h := range handles {
		if got := r.run(h, "a=(1 2); echo ${#a[@]}; cat /tmp/tool"); got.Stdout != "2\nbuilt\n" || h.Name() != "env-tools-"+h.ID()[:8] {
			t.Errorf("got %+v, name %s", got, h.Name())
		}
		want := fmt.Sprintf(`{"sandboxId":%q,"fromEnvironment":"tools","snapshotId":%q,"runId":%q,"resourceId":"res","teamId":"team","resources":{"cpu":"2","memory":"256Mi"}}`,
			h.ID(), record.SnapshotID, h.RunID())
		if got := r.payloads(h, store.EventSandboxCreated)[0]; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if i > 0 && h.RunID() == handles[0].RunID() {
			t.Error("two have one run id")
		}
	}
	child := r.keep(handles[0].Fork(t.Context(), sandbox.ForkOptions{}))
	if details, err := r.client.GetSandbox(t.Context(), child.Key()); err != nil || details.ResourceID != "res" || details.TeamID != "team" {
		t.Errorf("got %+v, %v", details, err)
	}
	for _, h := range slices.Concat(handles, []*sandbox.Handle{child}) {
		must(t, h.Close(t.Context()))
	}
	page, err := r.client.ListSandboxes(t.Context(), store.ListOptions{Name: "env-tools-build"})
	if err != nil || len(page.Sandboxes) != 1 || page.Sandboxes[0].Status != store.StatusCompleted {
		t.Errorf("got %+v, %v", page, err)
	}
	if list, err := r.client.Environments(t.Context()); err != nil || len(list) != 1 || list[0] != record {
		t.Errorf("got %+v, %v", list, err)
	}
	// A snapshot that is gone is built again; and so is what is asked for.
	lost := record
	lost.SnapshotID = "no-such-snapshot"
	must(t, r.store.SaveEnvironment(t.Context(), lost))
	stranger := r.client.Environment("tools", sandbox.EnvironmentOptions{})
	if _, err := stranger.Create(t.Context(), sandbox.SpawnOptions{NoBuild: true}); !errors.Is(err, store.ErrNotFound) || !strings.Contains(err.Error(), "no-such-snapshot") {
		t.Errorf("got %v", err)
	}
	if got, err := env.Info(t.Context()); err != nil || got != lost {
		t.Errorf("got %+v, %v", got, err)
	}
	must(t, r.keep(env.Create(t.Context(), sandbox.SpawnOptions{})).Close(t.Context()))
	if got := r.run(r.keep(stranger.Create(t.Context(), sandbox.SpawnOptions{NoBuild: true})), "cat /tmp/tool"); got.Stdout != "built\n" {
		t.Errorf("got %+v", got)
	}
	if _, err := r.client.Environment("other", sandbox.EnvironmentOptions{}).Create(t.Context(), sandbox.SpawnOptions{NoBuild: true}); !errors.Is(err, store.ErrNotFound) || !strings.Contains(err.Error(), "never built") {
		t.Errorf("got %v", err)
	}
	if _, err := env.Build(t.Context()); err != nil || builds.Load() != 3 {
		t.Errorf("%d builds, %v", builds.Load(), err)
	}
	for range 2 {
		must(t, r.client.DeleteEnvironment(t.Context(), "tools"))
	}
	if list, err := r.client.Environments(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("got %+v, %v", list, err)
	}
}

func TestEnvironmentFails(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *sandbox.Options) { o.MaxConcurrency = 1 })
	boom := errors.New("boom")
	began := make(chan struct{}, 1)
	block := false
	env := r.client.Environment("bad", sandbox.EnvironmentOptions{Setup: func(ctx context.Context, _ *sandbox.Handle) error {
		if block {
			began <- struct{}{}
			<-ctx.Done()
			return context.Cause(ctx)
		}
		return boom
	}})
	for range 2 { // the slot comes back
		if _, err := env.Create(t.Context(), sandbox.SpawnOptions{}); !errors.Is(err, boom) {
			t.Errorf("got %v", err)
		}
	}
	// A build that nobody waits for any more is given up.
	block = true
	ctx, cancel := context.WithCancel(t.Context())
	created := make(chan error, 1)
	go func() {
		_, err := env.Create(ctx, sandbox.SpawnOptions{})
		created <- err
	}()
	<-began
	cancel()
	if err := <-created; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	must(t, r.create(sandbox.CreateOptions{}).Close(t.Context())) // waits for the slot
	for _, id := range r.wire.made() {
		if !gone(t, id) {
			t.Errorf("%s is left", id)
		}
	}
	if _, err := r.client.Environment("", sandbox.EnvironmentOptions{}).Create(t.Context(), sandbox.SpawnOptions{}); !errors.Is(err, sandbox.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

// Who found that the snapshot is gone, and comes to build the environment when somebody else just has, takes
// what that one built.
func TestEnvironmentBuiltMeanwhile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var builds atomic.Int32
	env := r.client.Environment("tools", sandbox.EnvironmentOptions{Setup: func(context.Context, *sandbox.Handle) error {
		builds.Add(1)
		return nil
	}})
	must(t, r.store.SaveEnvironment(t.Context(), store.Environment{Name: "tools", SnapshotID: "lost", Image: "host", BuiltAt: 1}))
	looks, proceed := make(chan struct{}), make(chan struct{})
	var first sync.Once
	r.wire.do(http.MethodGet, "/v1/snapshots/lost", func(req *http.Request) (*http.Response, error) {
		first.Do(func() {
			close(looks)
			<-proceed
		})
		return pass(req)
	})
	slow := make(chan func() *sandbox.Handle, 1)
	go func() {
		h, err := env.Create(t.Context(), sandbox.SpawnOptions{})
		slow <- func() *sandbox.Handle { return r.keep(h, err) }
	}()
	<-looks
	r.wire.heal()
	quick := r.keep(env.Create(t.Context(), sandbox.SpawnOptions{}))
	close(proceed)
	if got, want := r.origin((<-slow)()), r.origin(quick); got != want || builds.Load() != 1 {
		t.Errorf("made of %q, and the other of %q, after %d builds", got, want, builds.Load())
	}
}

// origin is the snapshot that a sandbox was made of.
func (r *rig) origin(h *sandbox.Handle) string {
	id, _ := field(r.t, r.payloads(h, store.EventSandboxCreated)[0], "snapshotId").(string)
	return id
}

func TestSandboxes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range 5 {
		h := r.create(sandbox.CreateOptions{Name: fmt.Sprintf("n%d", i%2), RunID: fmt.Sprintf("run%d", i)})
		must(t, h.Close(t.Context()))
	}
	r.create(sandbox.CreateOptions{Name: "n1"})
	number := func(n uint64) *uint64 { return &n }
	for name, test := range map[string]struct {
		opts store.ListOptions
		want int
	}{
		"all": {store.ListOptions{}, 6}, "name": {store.ListOptions{Name: "n1"}, 3}, "status": {store.ListOptions{Status: store.StatusRunning}, 1},
		"run": {store.ListOptions{RunID: "run3"}, 1}, "limit": {store.ListOptions{Limit: number(2)}, 2}, "no limit": {store.ListOptions{Limit: number(0)}, 0},
		"before": {store.ListOptions{Before: new(int64)}, 0}, "limit above all": {store.ListOptions{Name: "n0", Limit: number(100)}, 3},
	} {
		n, last := 0, int64(1<<62)
		for details, err := range r.client.Sandboxes(t.Context(), test.opts) {
			if err != nil || details.StartedAt > last {
				t.Fatalf("%s: %+v, %v", name, details, err)
			}
			last = details.StartedAt
			n++
		}
		if n != test.want {
			t.Errorf("%s: %d", name, n)
		}
	}
	for range r.client.Sandboxes(t.Context(), store.ListOptions{}) { //nolint:errcheck // only the first
		break
	}
	key := store.Key{}
	for details := range r.client.Sandboxes(t.Context(), store.ListOptions{Name: "n0"}) { //nolint:errcheck // looked at next
		key = store.Key{Name: details.Name, SandboxID: details.SandboxID}
	}
	if n, err := r.client.DeleteSandbox(t.Context(), key); err != nil || n != 2 {
		t.Errorf("got %d, %v", n, err)
	}
	if _, err := r.client.GetSandbox(t.Context(), key); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}
