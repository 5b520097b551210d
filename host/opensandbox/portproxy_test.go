package opensandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// app is a user's server inside a sandbox: it tells what it got, echoes over WebSockets and speaks a
// protocol of its own after an upgrade.
func app(w http.ResponseWriter, r *http.Request) {
	if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"chat"}})
		if err != nil {
			return
		}
		kind, message, err := conn.Read(r.Context())
		if err == nil {
			_ = conn.Write(r.Context(), kind, append([]byte(r.URL.RequestURI()+" "+r.Header.Get("X-Own")+" "), message...))
		}
		_ = conn.Close(websocket.StatusNormalClosure, "")
		return
	}
	if r.Header.Get("Upgrade") == "lines" {
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: lines\r\n\r\n")
		_ = rw.Flush()
		line, _ := rw.ReadString('\n')
		_, _ = rw.WriteString("got " + line)
		_ = rw.Flush()
		return
	}
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("X-Key", r.Header.Get("OPEN-SANDBOX-API-KEY"))
	w.Header().Set("X-Routed", r.Header.Get("OpenSandbox-Ingress-To"))
	w.WriteHeader(http.StatusTeapot)
	_, _ = fmt.Fprintf(w, "%s %s %s %s", r.Method, r.URL.RequestURI(), body, r.Header.Get("X-Own"))
}

// portClient reaches the app at an endpoint below prefix.
func portClient(t *testing.T, prefix string, throughControl bool) *opensandbox.Client {
	t.Helper()
	inner := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.StripPrefix(prefix, http.HandlerFunc(app)).ServeHTTP(w, r)
	})
	var control *httptest.Server
	control = serve(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/v1/sandboxes/box/endpoints/") {
			http.StripPrefix(prefix, http.HandlerFunc(app)).ServeHTTP(w, r)
			return
		}
		at := inner.URL
		if throughControl {
			at = control.URL
		}
		_, _ = fmt.Fprintf(w, `{"endpoint":"%s%s","headers":{"OpenSandbox-Ingress-To":"box-3000"}}`, strings.TrimPrefix(at, "http://"), prefix)
	})
	return newClient(t, opensandbox.Options{BaseURL: control.URL, APIKey: "k3y"})
}

func TestPortTransport(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prefix  string
		control bool
		key     string
	}{
		"direct":                  {"", false, ""},
		"through execd":           {"/proxy/3000", false, ""},
		"through the server":      {"/sandboxes/box/proxy/3000", true, "k3y"},
		"gateway on the same box": {"/box/3000", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := portClient(t, test.prefix, test.control)
			user := http.Client{Transport: client.PortTransport("box", 3000)}
			// The path imitates the server's proxy: what is behind an endpoint must not decide who gets the key.
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://app/sandboxes/box/proxy/3000/a%2Fb?x=1&y=%20", strings.NewReader("body"))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("X-Own", "mine")
			req.Header.Set("OPEN-SANDBOX-API-KEY", "slipped in")
			resp, err := user.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			raw, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != http.StatusTeapot {
				t.Errorf("status %d, %v", resp.StatusCode, err)
			}
			same(t, "app", string(raw), "PUT /sandboxes/box/proxy/3000/a%2Fb?x=1&y=%20 body mine")
			same(t, "key", resp.Header.Get("X-Key"), test.key)
			same(t, "route", resp.Header.Get("X-Routed"), "box-3000")
			if req.URL.Host != "app" || req.Header.Get("OPEN-SANDBOX-API-KEY") != "slipped in" {
				t.Error("the caller's request was changed")
			}
		})
	}
}

// A path that climbs out of the proxy would end at the control server, with the key.
func TestPortPathsStayInside(t *testing.T) {
	t.Parallel()
	client := portClient(t, "/sandboxes/box/proxy/3000", true)
	user := http.Client{Transport: client.PortTransport("box", 3000)}
	for _, path := range []string{"/../../../other", "/a/%2e%2e/%2E%2E/b", "/..%2f..%2f", "/..\\x"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://app"+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := user.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		if !errors.Is(err, opensandbox.ErrInvalid) {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := client.DialWebSocket(t.Context(), "box", 3000, path, opensandbox.WebSocketOptions{}); !errors.Is(err, opensandbox.ErrInvalid) {
			t.Errorf("websocket %s: %v", path, err)
		}
	}
}

func TestPortWebSocket(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prefix  string
		control bool
	}{"direct": {"", false}, "through execd": {"/proxy/3000", false}, "through the server": {"/sandboxes/box/proxy/3000", true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			conn, err := portClient(t, test.prefix, test.control).DialWebSocket(ctx, "box", 3000, "/ws", opensandbox.WebSocketOptions{
				Query: map[string][]string{"room": {"1"}}, Header: http.Header{"X-Own": {"mine"}}, Subprotocols: []string{"chat"},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.CloseNow() }()
			if err := conn.Write(ctx, websocket.MessageBinary, []byte("\x00hello")); err != nil {
				t.Fatal(err)
			}
			kind, message, err := conn.Read(ctx)
			if err != nil || kind != websocket.MessageBinary || string(message) != "/ws?room=1 mine \x00hello" || conn.Subprotocol() != "chat" {
				t.Errorf("got %q, %v", message, err)
			}
			if _, _, err := conn.Read(ctx); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestPortUpgrade(t *testing.T) {
	t.Parallel()
	client := portClient(t, "/proxy/3000", false)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://app/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "lines")
	resp, err := client.PortTransport("box", 3000).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	conn, ok := resp.Body.(io.ReadWriteCloser)
	if !ok || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("got %d and a %T", resp.StatusCode, resp.Body)
	}
	_, _ = io.WriteString(conn, "hi\n")
	if raw, err := io.ReadAll(conn); err != nil || string(raw) != "got hi\n" {
		t.Errorf("got %q, %v", raw, err)
	}
}

// Nobody listens where the port was. What can be sent again is, at the new address.
func TestPortMoves(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := listener.Addr().String()
	_ = listener.Close()
	inner := strings.TrimPrefix(serve(t, app).URL, "http://")
	for name, test := range map[string]struct {
		body io.Reader
		ok   bool
	}{
		"nothing": {nil, true}, "can be read again": {strings.NewReader("b"), true}, "once only": {io.MultiReader(strings.NewReader("b")), false},
	} {
		var asked atomic.Int32
		control := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			at := inner
			if asked.Add(1) == 1 {
				at = gone
			}
			_, _ = fmt.Fprintf(w, `{"endpoint":%q}`, at)
		})
		client := newClient(t, opensandbox.Options{BaseURL: control.URL})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://app/", test.body)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.PortTransport("box", 3000).RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		if (err == nil) != test.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDialPort(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			_, _ = conn.Write([]byte("220 ready\r\n"))
			_ = conn.Close()
		}
	}()
	direct := newClient(t, opensandbox.Options{BaseURL: serve(t, reply(`{"endpoint":"`+listener.Addr().String()+`"}`)).URL})
	conn, err := direct.DialPort(t.Context(), "box", 25)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(conn)
	_ = conn.Close()
	if err != nil || string(raw) != "220 ready\r\n" {
		t.Errorf("got %q, %v", raw, err)
	}
	for _, body := range []string{`{"endpoint":"h:1/proxy/25"}`, `{"endpoint":"h:1","headers":{"X":"y"}}`, `{"endpoint":"https://h:1"}`} {
		client := newClient(t, opensandbox.Options{BaseURL: serve(t, reply(body)).URL})
		if _, err := client.DialPort(t.Context(), "box", 25); !errors.Is(err, opensandbox.ErrUnsupported) {
			t.Errorf("%s: %v", body, err)
		}
	}
}
