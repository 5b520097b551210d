package host_test

import (
	"bytes"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/engine"
	"github.com/alineo-labs/alineo-host/host/sandbox"
)

// receiver is a collector.
type receiver struct {
	t      *testing.T
	status int // that it answers with

	mu     sync.Mutex
	bodies [][]byte
	header http.Header // of the last request
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil || req.Method != http.MethodPost || req.URL.Path != "/v1/traces" || req.Header.Get("Content-Type") != "application/x-protobuf" {
		r.t.Errorf("%s %s, %v, %v", req.Method, req.URL, req.Header, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies, r.header = append(r.bodies, body), req.Header
	w.WriteHeader(r.status)
}

// received decodes everything with the official messages.
func (r *receiver) received() (all []*spans.Span, resource map[string]string) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	resource = map[string]string{}
	for _, body := range r.bodies {
		var request collector.ExportTraceServiceRequest
		if err := (proto.UnmarshalOptions{}).Unmarshal(body, &request); err != nil {
			r.t.Fatal(err)
		}
		if unknown := request.ProtoReflect().GetUnknown(); len(unknown) > 0 {
			r.t.Errorf("unknown fields %x", unknown)
		}
		for _, of := range request.GetResourceSpans() {
			for _, a := range of.GetResource().GetAttributes() {
				resource[a.GetKey()] = a.GetValue().GetStringValue()
			}
			for _, scope := range of.GetScopeSpans() {
				all = append(all, scope.GetSpans()...)
			}
		}
	}
	return all, resource
}

// openTold opens a host with an engine of its own that tells a collector what it does.
func openTold(t *testing.T, address string, change func(*config.Config)) *host.Host {
	t.Helper()
	return newSite(t).openEngineWith(t, func(cfg *config.Config) {
		cfg.Telemetry.OTLP = address
		if change != nil {
			change(cfg)
		}
	})
}

func TestTelemetry(t *testing.T) {
	t.Parallel()
	r := &receiver{t: t, status: http.StatusOK}
	server := httptest.NewServer(r)
	defer server.Close()
	h := openTold(t, server.URL+"/", func(cfg *config.Config) {
		cfg.Telemetry.Headers = config.NewSecret("authorization=Bearer%20k3y, x-team=a")
	})
	client, err := h.Sandboxes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	box, err := client.Create(t.Context(), sandbox.CreateOptions{Name: "told", RunID: "run-1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := box.Run(t.Context(), "echo s3cret-out; echo $KEY; exit 3", sandbox.ExecOptions{Env: map[string]string{"KEY": "s3cret-env"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := box.Checkpoint(t.Context(), "here"); err != nil {
		t.Fatal(err)
	}
	again, err := client.Resume(t.Context(), box.ID(), sandbox.ResumeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Run(t.Context(), "something s3cret-else", sandbox.ExecOptions{}); err == nil {
		t.Error("no divergence")
	}
	for _, b := range []*sandbox.Handle{again, box} {
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := h.Close(t.Context()); err != nil { // sends what is left
		t.Fatal(err)
	}

	all, resource := r.received()
	if resource["service.name"] != "alineo-host" || resource["service.version"] == "" || resource["telemetry.sdk.name"] != "opentelemetry" {
		t.Errorf("resource %v", resource)
	}
	if r.header.Get("Authorization") != "Bearer k3y" || r.header.Get("X-Team") != "a" {
		t.Errorf("headers %v", r.header)
	}
	byID, byName := map[string]*spans.Span{}, map[string][]*spans.Span{}
	for _, s := range all {
		byID[hex.EncodeToString(s.GetSpanId())] = s
		byName[s.GetName()] = append(byName[s.GetName()], s)
		if len(s.GetTraceId()) != 16 || len(s.GetSpanId()) != 8 || s.GetStartTimeUnixNano() == 0 || s.GetEndTimeUnixNano() < s.GetStartTimeUnixNano() {
			t.Errorf("span %v", s)
		}
		for _, a := range s.GetAttributes() {
			if !slices.Contains([]string{"plugin", "kind", "op", "sandbox", "name", "seq", "run"}, a.GetKey()) {
				t.Errorf("%s has the attribute %s", s.GetName(), a.GetKey())
			}
		}
	}
	for name, least := range map[string]int{
		"sandbox.create": 2, "sandbox.exec": 1, "sandbox.checkpoint": 1, "sandbox.resume": 1, "ledger.append": 5, "plugin.call": 10,
	} {
		if len(byName[name]) < least {
			t.Fatalf("%d spans %s, want %d or more", len(byName[name]), name, least)
		}
	}
	exec := byName["sandbox.exec"][0]
	want := map[string]any{"kind": "exec", "sandbox": box.ID(), "name": "told", "seq": int64(1), "run": "run-1"}
	for _, a := range exec.GetAttributes() {
		got := any(a.GetValue().GetStringValue())
		if a.GetKey() == "seq" {
			got = a.GetValue().GetIntValue()
		}
		if got != want[a.GetKey()] {
			t.Errorf("exec: %s is %v", a.GetKey(), got)
		}
		delete(want, a.GetKey())
	}
	if len(want) > 0 || exec.GetStatus().GetCode() != spans.Status_STATUS_CODE_UNSET {
		t.Errorf("exec: missing %v, status %v", want, exec.GetStatus())
	}
	// A plugin's call is inside of the commit that it is for, and that inside of the exec.
	inside := func(s *spans.Span, name string) bool {
		for s != nil && s.GetName() != name {
			s = byID[hex.EncodeToString(s.GetParentSpanId())]
		}
		return s != nil
	}
	chains := 0
	for _, s := range byName["plugin.call"] {
		if inside(s, "ledger.append") && inside(s, "sandbox.exec") {
			chains++
		}
	}
	if chains == 0 {
		t.Error("no plugin call is inside of a commit inside of the exec")
	}
	for _, body := range r.bodies {
		for _, private := range []string{"s3cret", "echo", "k3y", "something"} {
			if bytes.Contains(body, []byte(private)) {
				t.Errorf("%s was told", private)
			}
		}
	}
}

// A collector that refuses, or is not there, fails nothing.
func TestTelemetryFails(t *testing.T) {
	t.Parallel()
	refusing := httptest.NewServer(&receiver{t: t, status: http.StatusForbidden})
	defer refusing.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, address := range []string{refusing.URL, gone.URL} {
		h := openTold(t, address, nil)
		client, err := h.Sandboxes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		box, err := client.Create(t.Context(), sandbox.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if result, err := box.Run(t.Context(), "echo hi", sandbox.ExecOptions{}); err != nil || result.Stdout != "hi\n" {
			t.Errorf("got %+v, %v", result, err)
		}
		if err := box.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := h.Close(t.Context()); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// A server is told in which span a request is.
func TestTraceparentReachesServer(t *testing.T) {
	t.Parallel()
	r := &receiver{t: t, status: http.StatusOK}
	told := httptest.NewServer(r)
	defer told.Close()
	s := newSite(t)
	local, err := engine.Open(t.Context(), engine.Options{DataDir: shortDir(t), AllowReduced: true})
	if err != nil {
		t.Skipf("SKIPPED: this machine can run no sandbox: %v", err)
	}
	defer func() { _ = local.Close(t.Context()) }()
	var mu sync.Mutex
	seen := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		seen[req.Header.Get("Traceparent")] = true
		mu.Unlock()
		local.Handler().ServeHTTP(w, req)
	}))
	defer server.Close()
	cfg, err := host.LoadConfig(s.config)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Sandbox.URL, cfg.Telemetry.OTLP, cfg.Sandbox.UseServerProxy = server.URL, told.URL, true
	h, err := host.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	client, err := h.Sandboxes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	box, err := client.Create(t.Context(), sandbox.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := box.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
	all, _ := r.received()
	for _, one := range all {
		if one.GetName() == "sandbox.create" && !seen["00-"+hex.EncodeToString(one.GetTraceId())+"-"+hex.EncodeToString(one.GetSpanId())+"-01"] {
			t.Errorf("the server saw %v", seen)
		}
	}
}
