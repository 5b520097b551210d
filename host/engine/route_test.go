package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/engine"
)

// open sends a request without a body and returns the answer as it begins.
// The caller closes it.
func (e *testEngine) open(ctx context.Context, method, path string, header ...string) *http.Response {
	e.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, e.BaseURL()+path, nil)
	if err != nil {
		e.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := e.Transport().RoundTrip(req)
	if err != nil {
		e.t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp
}

// TestOtherRoutes is what has no sandbox to do with.
func TestOtherRoutes(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	const noPools = `{"code":"KUBERNETES::POOL_NOT_SUPPORTED","message":"Pool management is only available when runtime.type is 'kubernetes'."}`
	for _, c := range []struct {
		method, path, body string
		code               int
		want               string
	}{
		{"GET", "/pools", "", 501, noPools},
		{"POST", "/v1/pools", `{}`, 501, noPools},
		{"GET", "/pools/x", "", 501, noPools},
		{"PUT", "/pools/x", `{}`, 501, noPools},
		{"DELETE", "/v1/pools/x", "", 501, noPools},
		{"PATCH", "/pools/x", "", 405, `{"detail":"Method Not Allowed"}`},
		{"POST", "/v1/metrics/events", `{"eventType":"sandbox.create","sandboxId":"x","success":true}`, 204, ""},
		{"POST", "/metrics/events", "", 422, `"type":"missing"`},
		{"GET", "/metrics/events", "", 405, ""},
		{"GET", "/docs", "", 404, `{"detail":"Not Found"}`},
	} {
		code, h, out := e.do(c.method, c.path, c.body)
		if code != c.code || !strings.Contains(out, c.want) || h.Get("X-Request-ID") == "" {
			t.Errorf("%s %s: %d %s %v, want %d %s", c.method, c.path, code, out, h, c.code, c.want)
		}
	}
}

// TestUnsupportedAtCreate asks for what the original refuses with Docker too.
func TestUnsupportedAtCreate(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	for name, c := range map[string]struct {
		field string
		value any
		code  int
		want  string
	}{
		"secure access":     {"secureAccess", true, 400, "SANDBOX::INVALID_PARAMETER"},
		"odd secure access": {"secureAccess", "maybe", 422, `"loc":["body","secureAccess"]`},
		"another system":    {"platform", map[string]string{"os": "windows", "arch": "amd64"}, 400, "SANDBOX::INVALID_PARAMETER"},
		"half a platform":   {"platform", map[string]string{"os": "linux"}, 422, `"loc":["body","platform","arch"]`},
		"odd extensions":    {"extensions", map[string]any{"a": 1}, 422, `"loc":["body","extensions","a"]`},
		"odd limits":        {"resourceLimits", map[string]any{"cpu": 1}, 422, `"loc":["body","resourceLimits","cpu"]`},
		"credentials alone": {"credentialProxy", map[string]bool{"enabled": true}, 422, "requires networkPolicy"},
		"half the login":    {"image", map[string]any{"uri": "host", "auth": map[string]string{"username": "u"}}, 422, `"loc":["body","image","auth","password"]`},
	} {
		body := hostImage()
		body[c.field] = c.value
		if code, _, out := e.do(http.MethodPost, "/sandboxes", body); code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%s: %d %s, want %d %s", name, code, out, c.code, c.want)
		}
	}
	box := e.create(map[string]any{"platform": map[string]string{"os": "linux", "arch": runtime.GOARCH}, "secureAccess": false})
	e.want(http.MethodGet, "/sandboxes/"+box.ID, 200, `"platform":{"os":"linux","arch":"`+runtime.GOARCH+`"}`)
}

// TestSnapshotsOfTheGone lists and deletes snapshots whose sandbox has gone.
func TestSnapshotsOfTheGone(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	var ids []string
	for _, name := range []string{"one", "two", "three"} {
		ids = append(ids, e.snapshot(box, name))
	}
	box.delete()
	list := func(query string) string {
		_, _, out := e.do(http.MethodGet, "/v1/snapshots?"+query, nil)
		var l struct {
			Items []struct{ ID, Name string }
		}
		if err := json.Unmarshal([]byte(out), &l); err != nil {
			t.Fatalf("%s: %s", query, out)
		}
		var names []string
		for _, s := range l.Items {
			names = append(names, s.Name)
		}
		return strings.Join(names, " ")
	}
	for query, want := range map[string]string{
		"":                                "three two one",
		"sandboxId=" + box.ID:             "three two one",
		"sandboxId=other":                 "",
		"state=Ready":                     "three two one",
		"state=ready":                     "", // unlike sandboxes' states
		"state=Failed&state=Ready":        "three two one",
		"pageSize=2":                      "three two",
		"pageSize=2&page=2&state=Ready":   "one",
		"sandboxId=" + box.ID + "&page=9": "",
	} {
		if got := list(query); got != want {
			t.Errorf("list %q: %q, want %q", query, got, want)
		}
	}
	next := e.create(map[string]any{"image": nil, "snapshotId": ids[0]})
	e.want(http.MethodDelete, "/snapshots/"+ids[0], 409, "SNAPSHOT::DELETE_CONFLICT")
	next.delete()
	for _, id := range ids {
		e.want(http.MethodDelete, "/v1/snapshots/"+id, 204, "")
		e.want(http.MethodDelete, "/v1/snapshots/"+id, 404, "SNAPSHOT::NOT_FOUND")
	}
	if got := list(""); got != "" {
		t.Errorf("after the last: %q", got)
	}
}

// server starts a Python program in the sandbox that listens on port 8000 and
// returns once it does.
func (b *testBox) server(program string) {
	b.e.t.Helper()
	if r := b.run("command -v python3"); r.Code != "0" {
		b.e.t.Skip("LEFT OUT: no python3 to serve with")
	}
	if code, out := b.upload(file{`{"path":"/workspace/server.py"}`, program}); code != http.StatusOK {
		b.e.t.Fatalf("upload: %d %s", code, out)
	}
	b.run("python3 server.py > server.log 2>&1", "background", true)
	b.must("for i in $(seq 2000); do [ -e listens ] && exit 0; sleep 0.01; done; cat server.log; exit 1")
}

const serverHead = `
import base64, hashlib, http.server, json, os, socketserver, sys
class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    def server_activate(self):
        super().server_activate()
        open("listens", "w").close()
`

// TestProxyHeaders looks at what a server in the sandbox gets to see.
func TestProxyHeaders(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	box.server(serverHead + `
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def any(self):
        n = int(self.headers.get("Content-Length") or 0)
        out = json.dumps({"method": self.command, "path": self.path, "headers": {k.lower(): v for k, v in self.headers.items()}, "body": self.rfile.read(n).decode()}).encode()
        self.send_response(207)
        self.send_header("Content-Length", str(len(out)))
        self.send_header("X-Request-ID", "theirs")
        self.send_header("X-Own", "yes")
        self.end_headers()
        self.wfile.write(out)
    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = any
    def log_message(self, *a): pass
Server(("127.0.0.1", 8000), H).serve_forever()
`)
	for _, method := range []string{"GET", "POST", "PUT", "DELETE", "PATCH"} {
		req, err := http.NewRequest(method, e.BaseURL()+"/v1/sandboxes/"+box.ID+"/proxy/8000/a%2Fb/%20c?q=1&q=%26", strings.NewReader("body of "+method))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range map[string]string{
			"Authorization": "Bearer x", "Cookie": "c=1", "OPEN-SANDBOX-API-KEY": "k", "X-EXECD-ACCESS-TOKEN": "t", "Connection": "X-Hop", "X-Hop": "1",
			"X-Mine": "kept", "X-Request-ID": "abc", "X-Forwarded-For": "10.0.0.1",
		} {
			req.Header.Set(k, v)
		}
		code, h, out := e.send(req)
		var got struct {
			Method, Path, Body string
			Headers            map[string]string
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil || code != 207 {
			t.Fatalf("%s: %d %s", method, code, out)
		}
		if got.Method != method || got.Path != "/a%2Fb/%20c?q=1&q=%26" || got.Body != "body of "+method {
			t.Errorf("%s: %+v", method, got)
		}
		for k, want := range map[string]string{
			"authorization": "", "cookie": "", "open-sandbox-api-key": "", "x-execd-access-token": "", "x-hop": "",
			"x-mine": "kept", "x-forwarded-for": "10.0.0.1", "x-forwarded-proto": "http", "host": "127.0.0.1:8000",
		} {
			if got.Headers[k] != want {
				t.Errorf("%s: header %s is %q, want %q", method, k, got.Headers[k], want)
			}
		}
		if h.Get("X-Request-ID") != "abc" || len(h.Values("X-Request-ID")) != 1 || h.Get("X-Own") != "yes" {
			t.Errorf("%s: answer's headers %v", method, h)
		}
	}
	for path, want := range map[string]int{"/proxy/8001/": 502, "/proxy/0/": 400, "/proxy/70000/": 400, "/proxy/x/": 400} {
		if code, h, out := e.do(http.MethodGet, "/sandboxes/"+box.ID+path, nil); code != want || h.Get("X-Request-ID") == "" {
			t.Errorf("%s: %d %s", path, code, out)
		}
	}
	resp := e.open(t.Context(), http.MethodGet, "/sandboxes/"+box.ID+"/proxy/8000/", "Upgrade", "h2c", "Connection", "Upgrade")
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("an upgrade that isn't a WebSocket's: %d", resp.StatusCode)
	}
}

// TestProxyWebSocket opens one into the sandbox and talks over it.
func TestProxyWebSocket(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	box.server(serverHead + `
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        if self.path != "/ws":
            self.send_error(404, "no such socket")
            return
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.send_header("Sec-WebSocket-Protocol", self.headers.get("Sec-WebSocket-Protocol", ""))
        self.send_header("X-Origin", self.headers.get("Origin", ""))
        self.end_headers()
        self.wfile.flush()
        while True:
            b = self.connection.recv(4096)
            if not b: break
            self.connection.sendall(b)
        open("closed", "w").close()
        self.close_connection = True
    def log_message(self, *a): pass
Server(("127.0.0.1", 8000), H).serve_forever()
`)
	header := []string{
		"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version", "13",
		"Sec-WebSocket-Protocol", "chat", "Origin", "http://example.com",
	}
	path := "/v1/sandboxes/" + box.ID + "/proxy/8000"
	resp := e.open(t.Context(), http.MethodGet, path+"/ws", header...) //nolint:bodyclose // it is conn, below
	if resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("Sec-WebSocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" ||
		resp.Header.Get("Sec-WebSocket-Protocol") != "chat" || resp.Header.Get("X-Origin") != "http://example.com" {
		t.Fatalf("%s %v", resp.Status, resp.Header)
	}
	conn, ok := resp.Body.(io.ReadWriteCloser)
	if !ok {
		t.Fatal("the connection is not one")
	}
	for _, msg := range [][]byte{[]byte("\x81\x05hello"), bytes.Repeat([]byte{0x82, 0}, 50_000)} {
		sent := make(chan error, 1)
		go func() {
			_, err := conn.Write(msg)
			sent <- err
		}()
		got := make([]byte, len(msg))
		if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, msg) {
			t.Fatalf("echo of %d bytes: %v", len(msg), err)
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	box.must("for i in $(seq 2000); do [ -e closed ] && exit 0; sleep 0.01; done; exit 1") // the other end was told
	resp = e.open(t.Context(), http.MethodGet, path+"/nope", header...)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		t.Errorf("a refused handshake: %s", resp.Status)
	}
}

// TestProxyStreams gets an answer piece by piece, and holds its server up when
// it doesn't read.
func TestProxyStreams(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	box.server(serverHead + `
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        if self.path == "/slow":
            self.wfile.write(b"first\n"); self.wfile.flush()
            while not os.path.exists("go"): __import__("time").sleep(0.01)
            self.wfile.write(b"second\n")
            return
        for i in range(2000):
            self.wfile.write(b"x" * 65536)
            with open("sent.new", "w") as f: f.write(str(i))
            os.rename("sent.new", "sent")
    def do_POST(self):
        n, got = int(self.headers["Content-Length"]), 0
        while got < n:
            got += len(self.rfile.read(min(65536, n - got)))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(str(got).encode())
    def log_message(self, *a): pass
Server(("127.0.0.1", 8000), H).serve_forever()
`)
	path := "/sandboxes/" + box.ID + "/proxy/8000"
	resp := e.open(t.Context(), http.MethodGet, path+"/slow")
	buf := make([]byte, 6)
	if _, err := io.ReadFull(resp.Body, buf); err != nil || string(buf) != "first\n" {
		t.Fatalf("%q %v", buf, err)
	}
	box.must("touch go")
	if rest, err := io.ReadAll(resp.Body); err != nil || string(rest) != "second\n" {
		t.Errorf("%q %v", rest, err)
	}
	_ = resp.Body.Close()

	resp = e.open(t.Context(), http.MethodGet, path+"/endless")
	if _, err := io.ReadFull(resp.Body, make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	sent := func() int {
		n, err := strconv.Atoi(strings.TrimSpace(box.must("cat sent")))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for last := -1; ; {
		time.Sleep(100 * time.Millisecond) // a server that isn't held up has sent more by then
		now := sent()
		if now == last {
			break
		}
		last = now
	}
	if n := sent() * 65536; n > 64<<20 {
		t.Errorf("%d MiB were taken from a server whose client doesn't read", n>>20)
	}
	_ = resp.Body.Close()

	const size = 32 << 20
	if code, _, out := e.do(http.MethodPost, path+"/", strings.Repeat("y", size)); code != 200 || out != strconv.Itoa(size) {
		t.Errorf("upload: %d %s", code, out)
	}
}

// TestExecdToken gives a sandbox a token, which execd asks for from then on.
func TestExecdToken(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(map[string]any{"env": map[string]string{"EXECD_ACCESS_TOKEN": "s3cret"}})
	for _, path := range []string{"/ping", "/metrics", "/proxy/80/", "/nope"} {
		for _, token := range []string{"", "wrong"} {
			resp := e.open(t.Context(), http.MethodGet, box.execd(path), "X-EXECD-ACCESS-TOKEN", token)
			out, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil || resp.StatusCode != http.StatusUnauthorized || string(out) != `{"error":"Unauthorized: invalid or missing header X-EXECD-ACCESS-TOKEN"}` {
				t.Errorf("%s with %q: %d %s", path, token, resp.StatusCode, out)
			}
		}
	}
	resp := e.open(t.Context(), http.MethodGet, box.execd("/ping"), "X-EXECD-ACCESS-TOKEN", "s3cret")
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.ContentLength != 0 {
		t.Errorf("ping: %s, %d bytes", resp.Status, resp.ContentLength)
	}
}

// TestRaces asks for sandboxes that are ending: every answer is one that a
// client can understand.
func TestRaces(t *testing.T) {
	t.Parallel()
	e := openEngine(t, engine.Options{DataDir: t.TempDir()})
	for range 3 {
		box := e.create(nil)
		done := make(chan struct{})
		for _, c := range []struct{ method, path, body string }{
			{"POST", "/pause", ""},
			{"POST", "/resume", ""},
			{"PATCH", "/metadata", `{"a":"b"}`},
			{"GET", "", ""},
			{"GET", "/diagnostics/logs", ""},
			{"POST", "/renew-expiration", `{"expiresAt":"2999-01-01T00:00:00Z"}`},
			{"GET", "/proxy/44772/ping", ""},
			{"DELETE", "", ""},
			{"DELETE", "", ""},
		} {
			go func() {
				defer func() { done <- struct{}{} }()
				code, _, out := e.do(c.method, "/sandboxes/"+box.ID+c.path, c.body)
				if code >= 500 && code != http.StatusBadGateway && !strings.Contains(out, "PAUSE_FAILED") && !strings.Contains(out, "RESUME_FAILED") {
					t.Errorf("%s %s: %d %s", c.method, c.path, code, out)
				}
			}()
		}
		for range 9 {
			<-done
		}
		assertGone(t, e, box.ID)
	}
}
