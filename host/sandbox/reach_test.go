package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

func TestPauseAndUnpause(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var told []string
	hooks := &sandbox.Hooks{
		SandboxPaused:  func(string) { told = append(told, "paused") },
		SandboxResumed: func(string) { told = append(told, "resumed") },
	}
	h := r.create(sandbox.CreateOptions{Hooks: sandbox.ComposeHooks(nil, hooks)})
	r.run(h, "echo kept > /tmp/state")
	shell := r.interactive(h, "cat", sandbox.TerminalOptions{})
	typeIn(t, shell, "x\n")
	readUntil(t, shell.Stdout(), "x\r\nx")
	must(t, h.Pause(t.Context()))
	if _, err := shell.Write([]byte("y")); !errors.Is(err, sandbox.ErrPaused) {
		t.Errorf("got %v", err)
	}
	if _, err := h.Run(t.Context(), "true", sandbox.ExecOptions{}); !errors.Is(err, sandbox.ErrPaused) {
		t.Errorf("got %v", err)
	}
	if _, err := h.Interactive(t.Context(), "sh", sandbox.TerminalOptions{}); !errors.Is(err, sandbox.ErrPaused) {
		t.Errorf("got %v", err)
	}
	if _, err := h.ReadFile(t.Context(), "/tmp/state"); !errors.Is(err, sandbox.ErrPaused) {
		t.Errorf("got %v", err)
	}
	if err := h.Pause(t.Context()); !errors.Is(err, sandbox.ErrPaused) {
		t.Errorf("got %v", err)
	}
	if _, err := r.client.Connect(t.Context(), h.ID(), sandbox.ConnectOptions{}); !errors.Is(err, opensandbox.ErrConflict) || !strings.Contains(err.Error(), "AllowPaused") {
		t.Errorf("got %v", err)
	}
	must(t, h.Unpause(t.Context()))
	typeIn(t, shell, "z\n") // it goes on
	readUntil(t, shell.Stdout(), "z\r\nz")
	// The refused calls have their positions, as in the reference.
	if got := r.run(h, "cat /tmp/state"); got.Stdout != "kept\n" || got.Seq != 5 {
		t.Errorf("got %+v", got)
	}
	r.wantEvents(h, "sandbox.created exec.started:1 exec.completed:1 exec.started:2 sandbox.paused sandbox.resumed exec.started:5 exec.completed:5")
	for _, payload := range append(r.payloads(h, store.EventSandboxPaused), r.payloads(h, store.EventSandboxResumed)...) {
		if payload != "" {
			t.Errorf("payload %s", payload)
		}
	}
	if strings.Join(told, " ") != "paused resumed" {
		t.Errorf("hooks %v", told)
	}
	must(t, h.Pause(t.Context()))
	other := r.keep(r.client.Connect(t.Context(), h.ID(), sandbox.ConnectOptions{AllowPaused: true}))
	if _, err := other.Run(t.Context(), "true", sandbox.ExecOptions{}); !errors.Is(err, sandbox.ErrPaused) {
		t.Errorf("got %v", err)
	}
	must(t, other.Unpause(t.Context()))
	r.run(other, "true")
	must(t, other.Pause(t.Context()))
	for range 2 {
		must(t, other.Close(t.Context())) // also paused
	}
	if !gone(t, h.ID()) {
		t.Error("it is left")
	}
}

func TestPauseFails(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	r.wire.on(http.MethodPost, "/pause", says{http.StatusConflict, `{"code":"X","message":"not now"}`})
	if err := h.Pause(t.Context()); !errors.Is(err, opensandbox.ErrConflict) {
		t.Errorf("got %v", err)
	}
	r.run(h, "true")
	r.wantEvents(h, "sandbox.created exec.started:1 exec.completed:1")
}

func TestNetworkRules(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.create(sandbox.CreateOptions{NetworkPolicy: &opensandbox.NetworkPolicy{
		DefaultAction: "deny", Egress: []opensandbox.NetworkRule{{Action: "allow", Target: "boot.example.com"}, {Action: "allow", Target: "gone.example.com"}},
	}})
	if got := field(t, r.payloads(first, store.EventSandboxCreated)[0], "networkPolicy"); fmt.Sprint(got) != "map[defaultAction:deny egress:[map[action:allow target:boot.example.com] map[action:allow target:gone.example.com]]]" {
		t.Errorf("recorded %v", got)
	}
	if _, err := first.AddNetworkRules(t.Context(), opensandbox.NetworkRule{Action: "allow", Target: "http://x"}); !errors.Is(err, sandbox.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	if _, err := first.AddNetworkRules(t.Context(), opensandbox.NetworkRule{Action: "allow", Target: " one.example.com "}); err != nil {
		t.Fatal(err)
	}
	r.checkpoint(first, "")
	if _, err := first.RemoveNetworkRules(t.Context(), "gone.example.com\n"); err != nil {
		t.Fatal(err)
	}
	if got := r.payloads(first, store.EventEgressRuleAdded); len(got) != 1 || got[0] != `{"rules":[{"action":"allow","target":"one.example.com"}]}` {
		t.Errorf("got %s", got)
	}
	if got := r.payloads(first, store.EventEgressRuleRemoved); len(got) != 1 || got[0] != `{"targets":["gone.example.com"]}` {
		t.Errorf("got %s", got)
	}
	const want = `{"defaultAction":"deny","egress":[{"action":"allow","target":"one.example.com"},{"action":"allow","target":"boot.example.com"}]}`
	policy := func(h *sandbox.Handle) string {
		t.Helper()
		status, err := h.NetworkPolicy(t.Context())
		if err != nil || status.Policy == nil {
			t.Fatalf("got %+v, %v", status, err)
		}
		var all []string
		for _, rule := range status.Policy.Egress {
			all = append(all, rule.Action+" "+rule.Target)
		}
		return strings.Join(all, ", ")
	}
	resumed := r.resume(first.ID(), sandbox.ResumeOptions{})
	if got := r.payloads(resumed, store.EventSandboxCreated)[0]; !strings.Contains(got, `"networkPolicy":`+want) {
		t.Errorf("recorded %s", got)
	}
	if got := policy(resumed); got != "allow one.example.com, allow boot.example.com" {
		t.Errorf("got %s", got)
	}
	// And so on: the next one begins with what this one had come to.
	if _, err := resumed.RemoveNetworkRules(t.Context(), "ONE.example.com"); err != nil {
		t.Fatal(err)
	}
	next := r.resume(resumed.ID(), sandbox.ResumeOptions{})
	if got := policy(next); got != "allow boot.example.com" {
		t.Errorf("got %s", got)
	}
	if got := policy(r.keep(first.Fork(t.Context(), sandbox.ForkOptions{}))); got != "allow one.example.com, allow boot.example.com" {
		t.Errorf("a fork got %s", got)
	}
	open := &opensandbox.NetworkPolicy{DefaultAction: opensandbox.ActionAllow}
	if got := policy(r.keep(first.Fork(t.Context(), sandbox.ForkOptions{NetworkPolicy: open}))); got != "" {
		t.Errorf("a fork that was opened got %s", got)
	}
	r.store.set(failOn(store.EventEgressRuleAdded, store.ErrInvalid))
	if status, err := first.AddNetworkRules(t.Context(), opensandbox.NetworkRule{Action: "allow", Target: "late.example.com"}); !errors.Is(err, store.ErrInvalid) || status == nil {
		t.Errorf("got %+v, %v", status, err)
	}
	// What holds is recorded although its caller has left meanwhile.
	r.store.set(nil)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	r.wire.do(http.MethodPatch, "/policy", func(req *http.Request) (*http.Response, error) {
		resp, err := pass(req)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(resp.Body)
		leave()
		return &http.Response{StatusCode: resp.StatusCode, Header: resp.Header, Body: io.NopCloser(bytes.NewReader(body)), Request: req}, err
	})
	if _, err := first.AddNetworkRules(ctx, opensandbox.NetworkRule{Action: "deny", Target: "left.example.com"}); err != nil {
		t.Error(err)
	}
	r.wire.heal()
	if got := r.payloads(first, store.EventEgressRuleAdded); !strings.Contains(got[len(got)-1], "left.example.com") {
		t.Errorf("recorded %s", got)
	}
	for _, bad := range []*opensandbox.NetworkPolicy{{DefaultAction: "maybe"}, {Egress: []opensandbox.NetworkRule{{Action: "allow", Target: "*"}}}} {
		posted := r.wire.count("POST", "/v1/sandboxes")
		if _, err := r.client.Create(t.Context(), sandbox.CreateOptions{NetworkPolicy: bad}); !errors.Is(err, sandbox.ErrInvalid) || r.wire.count("POST", "/v1/sandboxes") != posted {
			t.Errorf("got %v", err)
		}
	}
}

const server = `python3 -c '
import http.server, sys
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(500 if self.path == "/bad" else 200); self.end_headers(); self.wfile.write(("path " + self.path + " x=" + self.headers.get("X-Mine", "")).encode())
    def log_message(self, *a): pass
http.server.HTTPServer(("0.0.0.0", 3111), H).serve_forever()'`

func TestPorts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := h.WaitForPort(short, 3111); !errors.Is(err, sandbox.ErrNotReady) || !strings.Contains(err.Error(), "3111") {
		t.Errorf("got %v", err)
	}
	serving, err := h.Exec(t.Context(), server, sandbox.ExecOptions{})
	must(t, err)
	must(t, h.WaitForPort(t.Context(), 3111))
	must(t, h.WaitForHTTP(t.Context(), 3111, "/health"))
	bad, cancelBad := context.WithTimeout(t.Context(), time.Second)
	defer cancelBad()
	if err := h.WaitForHTTP(bad, 3111, "/bad"); !errors.Is(err, sandbox.ErrNotReady) || !strings.Contains(err.Error(), "500") {
		t.Errorf("got %v", err)
	}
	for range 2 { // what is changed in it is the caller's alone
		endpoint, err := h.Proxy(t.Context(), 3111)
		if err != nil || endpoint.URL == "" || endpoint.Header.Get("X-Mine") != "" {
			t.Errorf("got %+v, %v", endpoint, err)
		}
		endpoint.Header.Set("X-Mine", "yes")
	}
	waiting := make(chan error, 1)
	go func() { waiting <- h.WaitForPort(t.Context(), 3119) }() // which nothing will ever listen on
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	forwarded := make(chan error, 1)
	go func() { forwarded <- h.Forward(ctx, listener, 3111) }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String()+"/a%20b?q=1", nil)
	must(t, err)
	req.Header.Set("X-Mine", "yes")
	resp, err := client.Do(req)
	must(t, err)
	got := readAll(t, resp.Body)
	must(t, resp.Body.Close())
	if got != "path /a%20b?q=1 x=yes" {
		t.Errorf("got %q", got)
	}
	stop()
	must(t, <-forwarded)
	if _, err := net.Dial("tcp", listener.Addr().String()); err == nil {
		t.Error("the listener is open")
	}
	// Closing the handle ends it, too.
	listener, err = net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	go func() { forwarded <- h.Forward(t.Context(), listener, 3111) }()
	for _, dialErr := net.Dial("tcp", listener.Addr().String()); dialErr != nil; {
		t.Fatal(dialErr)
	}
	must(t, h.Close(t.Context()))
	if err := <-forwarded; err != nil && !errors.Is(err, sandbox.ErrClosed) {
		t.Error(err)
	}
	if err := <-waiting; !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("waiting for a port of what is closed: %v", err)
	}
	if _, err := serving.Wait(); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if err := h.WaitForPort(t.Context(), 0); !errors.Is(err, sandbox.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

// On servers that reach ports over TCP, anything goes through.
func TestForwardTCP(t *testing.T) {
	t.Parallel()
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = echo.Close() }()
	go func() {
		for {
			conn, err := echo.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	h := overTCP(t, echo.Addr().String())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	forwarded := make(chan error, 1)
	go func() { forwarded <- h.Forward(ctx, listener, 7) }()
	conn, err := net.Dial("tcp", listener.Addr().String())
	must(t, err)
	_, err = conn.Write([]byte("\x00any\xff"))
	must(t, err)
	must(t, conn.(*net.TCPConn).CloseWrite()) //nolint:forcetypeassert // it was dialed as one
	if got := readAll(t, conn); got != "\x00any\xff" {
		t.Errorf("got %q", got)
	}
	must(t, conn.Close())
	stop()
	must(t, <-forwarded)
}

// overTCP returns a handle on a sandbox whose ports are all at one address. The server is the engine,
// over a real socket.
func overTCP(t *testing.T, address string) *sandbox.Handle {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	front := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/endpoints/7") {
			_, _ = fmt.Fprintf(w, `{"endpoint":%q}`, address)
			return
		}
		out := req.Clone(req.Context())
		out.RequestURI, out.URL.Scheme, out.URL.Host = "", "http", "engine"
		resp, err := shared.Transport().RoundTrip(out)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer func() { _ = resp.Body.Close() }()
		maps.Copy(w.Header(), resp.Header)
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	})}
	go func() { _ = front.Serve(listener) }()
	t.Cleanup(func() { _ = front.Close() })
	direct, err := opensandbox.New(opensandbox.Options{BaseURL: "http://" + listener.Addr().String(), UseServerProxy: true})
	must(t, err)
	t.Cleanup(direct.Close)
	r := newRig(t, func(o *sandbox.Options) { o.Wire = direct })
	return r.create(sandbox.CreateOptions{})
}

// WebSockets go through a forwarded port.
func TestForwardWebSocket(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	const upgrade = `python3 -c '
import base64, hashlib, socket
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("0.0.0.0", 3112)); s.listen(5)
while True:
    c, _ = s.accept()
    head = b""
    while b"\r\n\r\n" not in head:
        d = c.recv(4096)
        if not d: break
        head += d
    keys = [l.split(b": ")[1] for l in head.split(b"\r\n") if l.lower().startswith(b"sec-websocket-key")]
    if not keys: c.close(); continue
    accept = base64.b64encode(hashlib.sha1(keys[0] + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
    c.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + accept + b"\r\n\r\n" + b"\x81\x05hello")
'`
	_, err := h.Exec(t.Context(), upgrade, sandbox.ExecOptions{})
	must(t, err)
	must(t, h.WaitForPort(t.Context(), 3112))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	forwarded := make(chan error, 1)
	go func() { forwarded <- h.Forward(ctx, listener, 3112) }()
	conn, resp, err := websocket.Dial(t.Context(), "ws://"+listener.Addr().String()+"/x", nil)
	must(t, err)
	if resp.Body != nil {
		_ = resp.Body.Close()
	}
	if _, message, err := conn.Read(t.Context()); err != nil || string(message) != "hello" {
		t.Errorf("got %q, %v", message, err)
	}
	_ = conn.CloseNow()
	stop()
	must(t, <-forwarded)
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	m, err := h.Metrics(t.Context())
	if err != nil || m.Memory <= 0 || m.Memory > 100 || m.CPU < 0 || m.Time.IsZero() || m.Wire.CPUCount <= 0 {
		t.Errorf("got %+v, %v", m, err)
	}
	n := 0
	for m, err := range h.WatchMetrics(t.Context()) {
		if err != nil || m.Time.IsZero() {
			t.Fatalf("got %+v, %v", m, err)
		}
		if n++; n == 2 {
			break
		}
	}
	if logs, err := h.DiagnosticLogs(t.Context(), opensandbox.DiagnosticsQuery{Tail: 5}); err != nil || logs.SandboxID != h.ID() {
		t.Errorf("got %+v, %v", logs, err)
	}
	if events, err := h.DiagnosticEvents(t.Context(), opensandbox.DiagnosticsQuery{}); err != nil || events.Kind != "events" {
		t.Errorf("got %+v, %v", events, err)
	}
	must(t, h.Close(t.Context()))
	for _, err := range h.WatchMetrics(t.Context()) {
		if !errors.Is(err, sandbox.ErrClosed) {
			t.Errorf("got %v", err)
		}
	}
}

// A sandbox does not end while something runs in it.
func TestWorkKeepsAlive(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *sandbox.Options) { o.KeepAlive, o.Lifetime = true, time.Hour })
	h := r.create(sandbox.CreateOptions{Lifetime: 2 * time.Hour})
	renewed := make(chan string, 10)
	r.wire.do(http.MethodPost, "/renew-expiration", func(req *http.Request) (*http.Response, error) {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		raw, err := io.ReadAll(body)
		renewed <- string(raw)
		if err != nil {
			return nil, err
		}
		return pass(req)
	})
	for range 2 {
		exec, err := h.Exec(t.Context(), "while [ ! -e /tmp/go ]; do sleep 0.01; done", sandbox.ExecOptions{})
		must(t, err)
		sent := <-renewed
		at, err := time.Parse(time.RFC3339, fmt.Sprint(field(t, sent, "expiresAt")))
		if err != nil || time.Until(at) < 110*time.Minute || time.Until(at) > 2*time.Hour {
			t.Errorf("renewed to %s, %v", sent, err)
		}
		must(t, h.WriteFile(t.Context(), "/tmp/go", nil, 0))
		if _, err := exec.Wait(); err != nil {
			t.Error(err)
		}
		must(t, h.Remove(t.Context(), "/tmp/go"))
	}
	must(t, h.Close(t.Context()))
	other := newRig(t)
	sb := other.create(sandbox.CreateOptions{Lifetime: time.Hour})
	other.run(sb, "true")
	if n := other.wire.count("POST", "/renew-expiration"); n != 0 {
		t.Errorf("renewed %d times unasked", n)
	}
}

func TestKeepAlive(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{Lifetime: time.Minute})
	ctx, stop := context.WithCancel(t.Context())
	kept := make(chan error, 1)
	renewed := make(chan struct{}, 1)
	r.wire.do(http.MethodPost, "/renew-expiration", func(req *http.Request) (*http.Response, error) {
		resp, err := pass(req)
		renewed <- struct{}{}
		return resp, err
	})
	go func() { kept <- h.KeepAlive(ctx, time.Hour) }()
	<-renewed
	stop()
	must(t, <-kept)
	r.wire.heal()
	box, err := wireClient(r.wire).GetSandbox(t.Context(), h.ID())
	if err != nil || box.ExpiresAt == nil || time.Until(box.ExpiresAt.Time) < 50*time.Minute {
		t.Errorf("got %+v, %v", box, err)
	}
	if err := h.KeepAlive(t.Context(), time.Second); !errors.Is(err, sandbox.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	must(t, r.create(sandbox.CreateOptions{}).KeepAlive(t.Context(), time.Hour)) // it never expires
	go func() { kept <- h.KeepAlive(t.Context(), time.Hour) }()
	must(t, h.Close(t.Context()))
	if err := <-kept; err != nil && !errors.Is(err, opensandbox.ErrNotFound) {
		t.Error(err)
	}
}
