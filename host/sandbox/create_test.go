package sandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

func TestCreateRecords(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var hooked string
	h := r.create(sandbox.CreateOptions{
		RunID: "run-1", ResourceID: "res", TeamID: "team", Metadata: map[string]string{"project": "Apollo", "runId": "other"},
		Resources: sandbox.Resources{CPU: "250m"}, Lifetime: 61500 * time.Millisecond,
		Hooks: &sandbox.Hooks{SandboxCreated: func(id, name string) { hooked = id + " " + name }},
	})
	if want := "sandbox-" + h.ID()[:8]; h.Name() != want || hooked != h.ID()+" "+want {
		t.Errorf("name %q, hook %q", h.Name(), hooked)
	}
	if h.RunID() != "run-1" || h.Key() != (store.Key{Name: h.Name(), SandboxID: h.ID()}) {
		t.Errorf("run %q, key %s", h.RunID(), h.Key())
	}
	want := `{"sandboxId":"` + h.ID() + `","resources":{"cpu":"250m","memory":"256Mi"},"runId":"run-1","resourceId":"res","teamId":"team"}`
	if got := r.payloads(h, store.EventSandboxCreated); len(got) != 1 || got[0] != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	box, err := wireClient(shared.Transport()).GetSandbox(t.Context(), h.ID())
	if err != nil {
		t.Fatal(err)
	}
	if box.Metadata["project"] != "Apollo" || box.Metadata["runId"] != "run-1" {
		t.Errorf("metadata %v", box.Metadata)
	}
	if life := box.ExpiresAt.Sub(box.CreatedAt.Time); life < 61*time.Second || life > 63*time.Second {
		t.Errorf("it lives for %s", life)
	}
	plain := r.create(sandbox.CreateOptions{Name: "mine"})
	if plain.Name() != "mine" || len(plain.RunID()) != 36 {
		t.Errorf("name %q, run %q", plain.Name(), plain.RunID())
	}
	want = `{"sandboxId":"` + plain.ID() + `","resources":{"cpu":"2","memory":"256Mi"},"runId":"` + plain.RunID() + `"}`
	if got := r.payloads(plain, store.EventSandboxCreated)[0]; got != want { // what is not given is absent
		t.Errorf("got  %s\nwant %s", got, want)
	}
	details, err := r.client.FindSandbox(t.Context(), h.ID())
	if err != nil || details.RunID != "run-1" || details.Status != store.StatusRunning || details.TeamID != "team" {
		t.Errorf("got %+v, %v", details, err)
	}
}

// counted returns hooks that count failures.
func counted() (*sandbox.Hooks, *atomic.Int32) {
	failures := new(atomic.Int32)
	return &sandbox.Hooks{SandboxFailed: func(string, error) { failures.Add(1) }}, failures
}

// Whatever goes wrong on the way to a handle: no sandbox, no slot, no ledger that says "running".
func TestCreateFailuresLeaveNothing(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, test := range []struct {
		name  string
		setup func(*rig, *sandbox.CreateOptions)
		want  error
	}{
		{"server refuses", func(r *rig, _ *sandbox.CreateOptions) {
			r.wire.on("POST", "=/v1/sandboxes", says{409, `{"code":"X","message":"no"}`})
		}, opensandbox.ErrConflict},
		{"answer is lost", func(r *rig, _ *sandbox.CreateOptions) {
			r.wire.do("POST", "=/v1/sandboxes", func(req *http.Request) (*http.Response, error) {
				if resp, err := pass(req); err == nil {
					_ = resp.Body.Close()
				}
				return nil, broken
			})
		}, broken},
		{"answer is garbled", func(r *rig, _ *sandbox.CreateOptions) {
			r.wire.do("POST", "=/v1/sandboxes", func(req *http.Request) (*http.Response, error) {
				resp, err := pass(req)
				if err == nil {
					raw, _ := io.ReadAll(resp.Body)
					resp.Body = io.NopCloser(strings.NewReader(strings.Replace(string(raw), `"status":{`, `"status":7,"x":{`, 1)))
				}
				return resp, err
			})
		}, nil},
		{"it fails", func(r *rig, _ *sandbox.CreateOptions) {
			pending(r)
			r.wire.on("GET", "/v1/sandboxes/", says{200, `{"id":"x","status":{"state":"Failed","reason":"PROVISIONING_ERROR","message":"no disk"}}`})
		}, sandbox.ErrNotReady},
		{"it ends", func(r *rig, _ *sandbox.CreateOptions) {
			pending(r)
			r.wire.on("GET", "/v1/sandboxes/", says{200, `{"id":"x","status":{"state":"Terminated","reason":"SandboxExpired"}}`})
		}, sandbox.ErrNotReady},
		{"it never runs", func(r *rig, _ *sandbox.CreateOptions) {
			pending(r)
			r.wire.on("GET", "/v1/sandboxes/", says{200, `{"id":"x","status":{"state":"Allocated"}}`})
		}, sandbox.ErrNotReady},
		{"it is gone", func(r *rig, _ *sandbox.CreateOptions) {
			pending(r)
			r.wire.on("GET", "/v1/sandboxes/", says{404, `{"code":"X","message":"no"}`})
		}, opensandbox.ErrNotFound},
		{"execd never answers", func(r *rig, _ *sandbox.CreateOptions) { r.wire.on("GET", "/ping", says{502, ""}) }, sandbox.ErrNotReady},
		{"execd refuses us", func(r *rig, _ *sandbox.CreateOptions) {
			r.wire.on("GET", "/ping", says{401, `{"error":"Unauthorized"}`})
		}, opensandbox.ErrUnauthorized},
		{"ledger does not open", func(_ *rig, o *sandbox.CreateOptions) { o.Name = "a\x00b" }, store.ErrInvalid},
		{"ledger is down", func(r *rig, _ *sandbox.CreateOptions) {
			r.store.set(failOn(store.EventSandboxCreated, store.ErrUnavailable))
		}, store.ErrUnavailable},
		{"ledger refuses", func(r *rig, _ *sandbox.CreateOptions) {
			r.store.set(failOn(store.EventSandboxCreated, store.ErrInvalid))
		}, store.ErrInvalid},
		{"hook panics", func(_ *rig, o *sandbox.CreateOptions) {
			o.Hooks = sandbox.ComposeHooks(nil, o.Hooks)
			o.Hooks.SandboxCreated = func(string, string) { panic(broken) }
		}, broken},
		{"lifetime too short", func(_ *rig, o *sandbox.CreateOptions) { o.Lifetime = time.Second }, sandbox.ErrInvalid},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(o *sandbox.Options) {
				o.MaxConcurrency = 1
				o.ReadyTimeout, o.ExecdTimeout = 300*time.Millisecond, 300*time.Millisecond
			})
			hooks, failures := counted()
			run := "leak-" + strings.ReplaceAll(test.name, " ", "-")
			opts := sandbox.CreateOptions{RunID: run, Hooks: hooks}
			test.setup(r, &opts)
			h, err := r.client.Create(t.Context(), opts)
			var where *sandbox.Error
			if h != nil || err == nil || test.want != nil && !errors.Is(err, test.want) || !errors.As(err, &where) {
				t.Fatalf("got %v, %v", h, err)
			}
			if local := test.name == "lifetime too short"; !local && failures.Load() != 1 {
				t.Errorf("the hook for failures was called %d times", failures.Load())
			}
			for _, id := range ofRun(t, run) {
				t.Errorf("sandbox %s is left: %v", id, err)
			}
			r.wire.heal()
			r.store.set(nil)
			next := r.create(sandbox.CreateOptions{}) // the slot is free
			if err := next.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if err := r.client.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if page, err := r.client.ListSandboxes(t.Context(), store.ListOptions{Status: store.StatusRunning}); err != nil || len(page.Sandboxes) != 0 {
				t.Errorf("the ledger has %+v, %v", page.Sandboxes, err)
			}
		})
	}
}

// pending makes create answer that the sandbox is not running yet.
func pending(r *rig) {
	r.wire.do("POST", "=/v1/sandboxes", func(req *http.Request) (*http.Response, error) {
		resp, err := pass(req)
		if err == nil {
			raw, _ := io.ReadAll(resp.Body)
			resp.Body = io.NopCloser(strings.NewReader(strings.Replace(string(raw), `"Running"`, `"Pending"`, 1)))
		}
		return resp, err
	})
}

func ofRun(t *testing.T, run string) (ids []string) {
	t.Helper()
	filter := opensandbox.SandboxFilter{Metadata: map[string]string{"runId": run}}
	for box, err := range wireClient(shared.Transport()).ListSandboxes(t.Context(), filter) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, box.ID)
	}
	return ids
}

func TestCreateWaitsUntilRunning(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pending(r)
	var asked, pinged atomic.Int32
	r.wire.do("GET", "/v1/sandboxes/", func(req *http.Request) (*http.Response, error) {
		if !strings.Contains(req.URL.Path, "/endpoints/") && asked.Add(1) < 3 {
			return says{200, `{"id":"x","status":{"state":"Unheard-of"}}`}.RoundTrip(req)
		}
		return pass(req)
	})
	r.wire.do("GET", "/ping", func(req *http.Request) (*http.Response, error) {
		if pinged.Add(1) < 3 {
			return says{503, ""}.RoundTrip(req)
		}
		return pass(req)
	})
	r.create(sandbox.CreateOptions{})
	if asked.Load() < 3 || pinged.Load() != 3 {
		t.Errorf("asked %d times, pinged %d times", asked.Load(), pinged.Load())
	}
}

// The ledger took sandbox.created, but the client could not know: it deletes the sandbox, and the
// ledger hears of that as soon as it can.
func TestCreateWithUnknownOutcome(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.store.mu.Lock()
	r.store.lose = true
	r.store.mu.Unlock()
	r.wire.do(http.MethodDelete, "/v1/sandboxes/", func(req *http.Request) (*http.Response, error) {
		r.store.mu.Lock()
		defer r.store.mu.Unlock()
		r.store.lose = false // by now it was given up
		return pass(req)
	})
	_, err := r.client.Create(t.Context(), sandbox.CreateOptions{Name: "lost", RunID: "lost-run"})
	if !errors.Is(err, store.ErrUnknownOutcome) {
		t.Fatalf("got %v", err)
	}
	if left := ofRun(t, "lost-run"); len(left) != 0 {
		t.Errorf("left: %s", left)
	}
	if err := r.client.Close(t.Context()); err != nil {
		t.Error(err)
	}
	page, err := r.client.ListSandboxes(t.Context(), store.ListOptions{Name: "lost"})
	if err != nil {
		t.Fatal(err)
	}
	for _, details := range page.Sandboxes {
		if details.Status != store.StatusCompleted {
			t.Errorf("the ledger says %+v", details)
		}
	}
}

// The caller leaves while the server is still making the sandbox: Create returns at once, and the
// sandbox goes as soon as it is there.
func TestCancelDuringCreate(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *sandbox.Options) { o.MaxConcurrency = 1 })
	making, proceed := make(chan struct{}), make(chan struct{})
	r.wire.do("POST", "=/v1/sandboxes", func(req *http.Request) (*http.Response, error) {
		close(making)
		<-proceed
		return pass(req)
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-making
		cancel()
	}()
	if _, err := r.client.Create(ctx, sandbox.CreateOptions{RunID: "cancelled-run"}); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	// It still counts while it may be there.
	short, done := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer done()
	if _, err := r.client.Create(short, sandbox.CreateOptions{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	r.wire.heal()
	close(proceed)
	r.create(sandbox.CreateOptions{}) // waits for the slot
	if left := ofRun(t, "cancelled-run"); len(left) != 0 {
		t.Errorf("left: %s", left)
	}
}

func TestClientCloseWaitsForCleanup(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	making, proceed := make(chan struct{}), make(chan struct{})
	r.wire.do("POST", "=/v1/sandboxes", func(req *http.Request) (*http.Response, error) {
		close(making)
		<-proceed
		return pass(req)
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-making
		cancel()
	}()
	if _, err := r.client.Create(ctx, sandbox.CreateOptions{RunID: "closed-run"}); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	short, done := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer done()
	if err := r.client.Close(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	close(proceed)
	if err := r.client.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if left := ofRun(t, "closed-run"); len(left) != 0 {
		t.Errorf("left: %s", left)
	}
	if _, err := r.client.Create(t.Context(), sandbox.CreateOptions{}); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

// More sandboxes than the limit are never open, and who waits may give up. TestPlacesAreFair has the order.
func TestSlots(t *testing.T) {
	t.Parallel()
	const limit = 2
	r := newRig(t, func(o *sandbox.Options) { o.MaxConcurrency = limit })
	var open, most atomic.Int32
	first, second := r.create(sandbox.CreateOptions{}), r.create(sandbox.CreateOptions{})
	open.Store(limit)
	var wait sync.WaitGroup
	for i := range 3 {
		wait.Go(func() {
			h, err := r.client.Create(context.Background(), sandbox.CreateOptions{Name: fmt.Sprint("w", i)})
			if err != nil {
				t.Error(err)
				return
			}
			most.Store(max(most.Load(), open.Add(1)))
			open.Add(-1)
			if err := h.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	gaveUp, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := r.client.Create(gaveUp, sandbox.CreateOptions{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	open.Add(-1)
	if err := first.Close(t.Context()); err != nil {
		t.Error(err)
	}
	wait.Wait()
	if most.Load() > limit {
		t.Errorf("%d were open at once", most.Load())
	}
	if err := second.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestClientCloseTurnsWaitersAway(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *sandbox.Options) { o.MaxConcurrency = 1 })
	h := r.create(sandbox.CreateOptions{})
	failed := make(chan error)
	go func() {
		_, err := r.client.Create(context.Background(), sandbox.CreateOptions{})
		failed <- err
	}()
	if err := r.client.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-failed; !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("got %v", err)
	}
	r.run(h, "true") // what is open goes on
}

func TestNewChecksOptions(t *testing.T) {
	t.Parallel()
	if _, err := sandbox.New(sandbox.Options{}); !errors.Is(err, sandbox.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	// Nothing is asked of the server or the ledger yet: both would panic.
	writer := ledger.NewWriter(store.Discard{}, ledger.WriterOptions{})
	defer func() { must(t, writer.Close(t.Context())) }()
	unasked := does(func(*http.Request) (*http.Response, error) { panic("the server was asked") })
	client, err := sandbox.New(sandbox.Options{Wire: wireClient(unasked), Store: struct{ store.Ledger }{}, Ledger: writer})
	must(t, err)
	if env := client.Environment("tools", sandbox.EnvironmentOptions{}); env.Name() != "tools" {
		t.Errorf("got %q", env.Name())
	}
	must(t, client.Close(t.Context()))
	r := newRig(t, func(o *sandbox.Options) { o.Image = "" })
	if _, err := r.client.Create(t.Context(), sandbox.CreateOptions{}); !errors.Is(err, sandbox.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	auth := &sandbox.ImageAuth{Username: "me", Password: "s3cret"}
	for _, text := range []string{fmt.Sprint(*auth), fmt.Sprintf("%+v %#v %s %q", *auth, *auth, auth, auth)} {
		if strings.Contains(text, "s3cret") {
			t.Errorf("the password shows: %s", text)
		}
	}
}

// Everything that can be asked for is sent, and recorded as far as the reference records it.
func TestCreateSendsEverything(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	bodies := make(chan []byte, 1)
	r.wire.do(http.MethodPost, "=/v1/sandboxes", func(req *http.Request) (*http.Response, error) {
		raw, err := io.ReadAll(req.Body)
		bodies <- raw
		if err != nil {
			return nil, err
		}
		return says{http.StatusTeapot, `{"code":"X","message":"no tea"}`}.RoundTrip(req)
	})
	_, err := r.client.Create(t.Context(), sandbox.CreateOptions{
		Image: "registry.example.com/tool:1", ImageAuth: &sandbox.ImageAuth{Username: "me", Password: "s3cret"},
		Entrypoint: []string{"sleep", "1000"}, Resources: sandbox.Resources{CPU: "500m", Memory: "1Gi", GPU: "1"},
		Env: map[string]string{"A": "b"}, Metadata: map[string]string{"team": "x", "runId": "mine"}, Lifetime: 90 * time.Second, RunID: "run",
		NetworkPolicy:   &opensandbox.NetworkPolicy{DefaultAction: "deny", Egress: []opensandbox.NetworkRule{{Action: "allow", Target: "10.0.0.0/8"}}},
		CredentialProxy: true,
		Volumes:         []opensandbox.Volume{{Name: "data", Host: &opensandbox.HostVolume{Path: "/srv"}, MountPath: "/data", ReadOnly: true}},
		Platform:        &opensandbox.Platform{OS: "linux", Arch: "arm64"},
		Extensions:      map[string]string{"x": "y"},
	})
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v", err)
	}
	var sent map[string]any
	must(t, json.Unmarshal(<-bodies, &sent))
	metadata, _ := sent["metadata"].(map[string]any)
	if metadata["team"] != "x" || metadata["runId"] != "run" { // the run's own id wins
		t.Errorf("metadata %v", metadata)
	}
	delete(sent, "metadata")
	got, err := json.Marshal(sent)
	must(t, err)
	const want = `{"credentialProxy":{"enabled":true},"entrypoint":["sleep","1000"],"env":{"A":"b"},"extensions":{"x":"y"},` +
		`"image":{"auth":{"password":"s3cret","username":"me"},"uri":"registry.example.com/tool:1"},` +
		`"networkPolicy":{"defaultAction":"deny","egress":[{"action":"allow","target":"10.0.0.0/8"}]},` +
		`"platform":{"arch":"arm64","os":"linux"},"resourceLimits":{"cpu":"500m","gpu":"1","memory":"1Gi"},"timeout":90,` +
		`"volumes":[{"host":{"path":"/srv"},"mountPath":"/data","name":"data","readOnly":true}]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
