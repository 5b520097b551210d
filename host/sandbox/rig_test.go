package sandbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/alineo-labs/alineo-host/host/engine"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/internal/nativeledger"
)

// shared is the engine that all tests use: sandboxes are real, and so are their ends.
var shared *engine.Engine

func TestMain(m *testing.M) {
	engine.Init() // this binary is also its sandboxes' first process
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sandbox-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx := context.Background()
	shared, err = engine.Open(ctx, engine.Options{DataDir: dir, AllowReduced: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if left := list(ctx); code == 0 && len(left) > 0 {
		fmt.Fprintln(os.Stderr, "sandboxes are left:", left)
		code = 1
	}
	for _, id := range list(ctx) {
		_ = wireClient(shared.Transport()).DeleteSandbox(ctx, id)
	}
	if err := shared.Close(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if code == 0 {
		// The engine waits for its sandboxes' processes, which may take a moment longer than they.
		shims := goleak.IgnoreAnyFunction("github.com/alineo-labs/alineo-host/host/internal/engine/shim.startReaped.func1")
		if err := goleak.Find(shims); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}

func list(ctx context.Context) (ids []string) {
	for box, err := range wireClient(shared.Transport()).ListSandboxes(ctx, opensandbox.SandboxFilter{}) {
		if err != nil {
			return append(ids, err.Error())
		}
		ids = append(ids, box.ID)
	}
	return ids
}

func wireClient(transport http.RoundTripper) *opensandbox.Client {
	client, err := opensandbox.New(opensandbox.Options{BaseURL: shared.BaseURL(), Transport: transport})
	if err != nil {
		panic(err)
	}
	return client
}

// wire stands between the client and the engine and lets tests break things.
type wire struct {
	mu     sync.Mutex
	calls  []string // method and path, the sandbox's id as ID
	faults []fault
	boxes  []string // ids that create answered
}

// fault takes requests that match; the others go through.
type fault struct {
	method, path string // path is a part of it, or the whole after an =
	act          action
}

// action answers a request in the engine's place.
type action interface {
	RoundTrip(req *http.Request) (*http.Response, error)
}

// does is an action that is a function.
type does func(*http.Request) (*http.Response, error)

// RoundTrip calls it.
func (d does) RoundTrip(req *http.Request) (*http.Response, error) { return d(req) }

// says answers without asking the engine.
type says struct {
	status int
	body   string
}

// RoundTrip gives the answer.
func (s says) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: s.status, Header: make(http.Header), Body: io.NopCloser(strings.NewReader(s.body)), Request: req,
	}, nil
}

func (w *wire) on(method, path string, act action) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, fault{method, path, act})
}

func (w *wire) do(method, path string, act does) { w.on(method, path, act) }

func (w *wire) heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = nil
}

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	w.mu.Lock()
	w.calls = append(w.calls, req.Method+" "+req.URL.Path)
	var act action
	for _, f := range w.faults {
		whole, exact := strings.CutPrefix(f.path, "=")
		if f.method == req.Method && (exact && req.URL.Path == whole || !exact && strings.Contains(req.URL.Path, f.path)) {
			act = f.act
		}
	}
	w.mu.Unlock()
	if act != nil {
		return act.RoundTrip(req)
	}
	resp, err := shared.Transport().RoundTrip(req)
	if err == nil && req.Method == http.MethodPost && req.URL.Path == "/v1/sandboxes" {
		err = w.note(resp)
	}
	return resp, err
}

// note remembers which sandbox was made.
func (w *wire) note(resp *http.Response) error {
	body, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	var box struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(body, &box) == nil && box.ID != "" {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.boxes = append(w.boxes, box.ID)
	}
	return err
}

// made returns the sandboxes that were made over the wire.
func (w *wire) made() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.boxes)
}

// count returns how many requests went out whose method and path hold both.
func (w *wire) count(method, path string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, call := range w.calls {
		if strings.HasPrefix(call, method+" ") && strings.Contains(call, path) {
			n++
		}
	}
	return n
}

func pass(req *http.Request) (*http.Response, error) { return shared.Transport().RoundTrip(req) }

// faulty is a real store that can be told to fail.
type faulty struct {
	store.Ledger
	mu   sync.Mutex
	fail func(store.Entry) error // asked for each entry of a batch before it is written
	lose bool                    // the batch is written, and then nobody knows
	hold chan struct{}           // when not nil, appends wait until it is closed
}

func (f *faulty) set(fail func(store.Entry) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = fail
}

func (f *faulty) Append(ctx context.Context, batch *store.Batch) error {
	f.mu.Lock()
	fail, hold, lose := f.fail, f.hold, f.lose
	f.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if fail != nil {
		for i := range batch.Segments {
			for j, e := range batch.Segments[i].Entries {
				if err := fail(e); err != nil {
					return &store.SegmentError{Segment: i, Entry: j, Err: err}
				}
			}
		}
	}
	err := f.Ledger.Append(ctx, batch)
	if err == nil && lose {
		return store.ErrUnknownOutcome
	}
	return err
}

// failOn fails entries of an event.
func failOn(event string, err error) func(store.Entry) error {
	return func(e store.Entry) error {
		if e.Event == event {
			return err
		}
		return nil
	}
}

// rig is a client over the real engine and a real ledger.
type rig struct {
	t      testing.TB
	wire   *wire
	store  *faulty
	writer *ledger.Writer
	client *sandbox.Client
}

func newRig(t testing.TB, adjust ...func(*sandbox.Options)) *rig {
	t.Helper()
	native, err := nativeledger.Open(filepath.Join(t.TempDir(), "ledger.db"), nativeledger.Options{Synchronous: "off"})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, wire: &wire{}, store: &faulty{Ledger: native}}
	r.writer = ledger.NewWriter(r.store, ledger.WriterOptions{RetryFor: 50 * time.Millisecond})
	opts := sandbox.Options{
		Wire: wireClient(r.wire), Store: r.store, Ledger: r.writer,
		Image: "host", Resources: sandbox.Resources{CPU: "2", Memory: "256Mi"},
	}
	for _, a := range adjust {
		a(&opts)
	}
	if r.client, err = sandbox.New(opts); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := r.client.Close(ctx); err != nil {
			t.Error(err)
		}
		_ = r.writer.Close(ctx) // it has lost what tests made it lose
		if err := native.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *rig) create(opts sandbox.CreateOptions) *sandbox.Handle {
	r.t.Helper()
	h, err := r.client.Create(r.t.Context(), opts)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = h.Close(context.Background()) }) // tests that care close it themselves
	return h
}

func (r *rig) resume(id string, opts sandbox.ResumeOptions) *sandbox.Handle {
	r.t.Helper()
	h, err := r.client.Resume(r.t.Context(), id, opts)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = h.Close(context.Background()) })
	return h
}

func (r *rig) run(h *sandbox.Handle, command string) *sandbox.Result {
	r.t.Helper()
	return r.runWith(h, command, sandbox.ExecOptions{})
}

func (r *rig) runWith(h *sandbox.Handle, command string, opts sandbox.ExecOptions) *sandbox.Result {
	r.t.Helper()
	result, err := h.Run(r.t.Context(), command, opts)
	if err != nil {
		r.t.Fatalf("%s: %v", command, err)
	}
	return result
}

func (r *rig) checkpoint(h *sandbox.Handle, name string) string {
	r.t.Helper()
	id, err := h.Checkpoint(r.t.Context(), name)
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

func (r *rig) entries(h *sandbox.Handle) []store.Entry {
	r.t.Helper()
	return r.entriesOf(h.Key())
}

func (r *rig) entriesOf(key store.Key) []store.Entry {
	r.t.Helper()
	var all []store.Entry
	for e, err := range ledger.ReadSandbox(context.Background(), r.store.Ledger, key) {
		if err != nil {
			r.t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// events is a ledger in short: events with their steps, output left out.
func (r *rig) events(h *sandbox.Handle) string {
	r.t.Helper()
	return short(r.entries(h))
}

func short(entries []store.Entry) string {
	var names []string
	for _, e := range entries {
		switch {
		case e.Event == store.EventExecOutput:
		case e.StepIndex >= 0:
			names = append(names, fmt.Sprintf("%s:%d", e.Event, e.StepIndex))
		default:
			names = append(names, e.Event)
		}
	}
	return strings.Join(names, " ")
}

func (r *rig) wantEvents(h *sandbox.Handle, want string) {
	r.t.Helper()
	if got := r.events(h); got != want {
		r.t.Errorf("the ledger has\n %s\nwant\n %s", got, want)
	}
}

// payloads returns the payloads of an event.
func (r *rig) payloads(h *sandbox.Handle, event string) (all []string) {
	r.t.Helper()
	for _, e := range r.entries(h) {
		if e.Event == event {
			all = append(all, string(e.Payload))
		}
	}
	return all
}

func field(t testing.TB, payload, key string) any {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal([]byte(payload), &fields); err != nil {
		t.Fatalf("%s: %v", payload, err)
	}
	return fields[key]
}

// gone reports whether the engine has forgotten a sandbox.
func gone(t testing.TB, id string) bool {
	t.Helper()
	return !slices.Contains(list(context.Background()), id)
}
