package opensandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

func TestNewRefusesAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "localhost:8080", "ftp://x", "http://", "http://[::1", "http:///v1"} {
		if _, err := opensandbox.New(opensandbox.Options{BaseURL: address}); err == nil {
			t.Errorf("%q: no error", address)
		}
	}
}

func TestBasePath(t *testing.T) {
	t.Parallel()
	var paths []string
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.Path)
		_, _ = io.WriteString(w, `{"id":"a/b","status":{"state":"Running"}}`)
	})
	for _, suffix := range []string{"", "/", "/v1", "/v1/", "/team/v1"} {
		client := newClient(t, opensandbox.Options{BaseURL: server.URL + suffix})
		if _, err := client.GetSandbox(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"/v1/sandboxes/a", "/v1/sandboxes/a", "/v1/sandboxes/a", "/v1/sandboxes/a", "/team/v1/sandboxes/a"}
	if !slices.Equal(paths, want) {
		t.Errorf("got %q", paths)
	}
}

// The bodies that a control server was seen to answer with.
func TestErrorBodies(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, body    string
		status        int
		code, message string
		is            error
	}{
		{"code and message", `{"code":"DOCKER::SANDBOX_NOT_FOUND","message":"gone"}`, 404, "DOCKER::SANDBOX_NOT_FOUND", "gone", opensandbox.ErrNotFound},
		{"message only", `{"message":"gone"}`, 409, "", "gone", opensandbox.ErrConflict},
		{"error", `{"error":"Unauthorized: invalid or missing header"}`, 401, "", "Unauthorized: invalid or missing header", opensandbox.ErrUnauthorized},
		{"detail text", `{"detail":"Not Found"}`, 404, "", "Not Found", opensandbox.ErrNotFound},
		{
			"detail list", `{"detail":[{"loc":["body","timeout"],"msg":"too small","type":"x","input":"s3cret"},{"loc":[],"msg":"bad"},{"loc":["query",0],"msg":"no"}]}`,
			422, "", "body.timeout: too small; bad; query.0: no", opensandbox.ErrInvalid,
		},
		{"detail object", `{"detail":{"code":"A","message":"b"}}`, 400, "A", "b", opensandbox.ErrInvalid},
		{"plain text", "Internal Server Error\n", 500, "", "Internal Server Error", nil},
		{"empty", "", 501, "", "Not Implemented", opensandbox.ErrUnsupported},
		{"object without words", `{"a":1}`, 500, "", `{"a":1}`, nil},
		{"array", `[1]`, 500, "", "[1]", nil},
		{"null", `null`, 500, "", "null", nil},
		{"two objects", `{"code":"X","message":"first"}{"session_id":"y"}`, 500, "X", "first", nil},
		{"odd values", `{"code":7,"message":["x"],"error":null,"detail":5}`, 500, "", `{"code":7,"message":["x"],"error":null,"detail":5}`, nil},
		{"redirect", "", 302, "", "Found", nil},
		{"not utf-8", "a\xffb", 403, "", "a\ufffdb", opensandbox.ErrUnauthorized},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Request-ID", "r1")
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			})
			_, err := newClient(t, opensandbox.Options{BaseURL: server.URL}).GetSandbox(t.Context(), "box")
			var refused *opensandbox.Error
			if !errors.As(err, &refused) {
				t.Fatalf("got %v", err)
			}
			want := opensandbox.Error{Op: "get sandbox", Subject: "box", Status: test.status, Code: test.code, Message: test.message, RequestID: "r1"}
			if *refused != want {
				t.Errorf("got %+v", *refused)
			}
			for _, sentinel := range []error{
				opensandbox.ErrNotFound, opensandbox.ErrConflict, opensandbox.ErrInvalid,
				opensandbox.ErrUnauthorized, opensandbox.ErrUnavailable, opensandbox.ErrUnsupported,
			} {
				if want := test.is != nil && errors.Is(sentinel, test.is); errors.Is(err, sentinel) != want {
					t.Errorf("errors.Is %v: %v", sentinel, errors.Is(err, sentinel))
				}
			}
		})
	}
}

func TestHugeErrorBodyIsClipped(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, strings.Repeat("é", 1<<20))
	})
	_, err := newClient(t, opensandbox.Options{BaseURL: server.URL}).GetSandbox(t.Context(), "box")
	if err == nil || len(err.Error()) > 5000 {
		t.Errorf("%d bytes", len(err.Error()))
	}
}

// flaky fails the first calls in a way of its choice and counts all of them.
func flaky(t *testing.T, failures int32, fail, succeed http.HandlerFunc) (*httptest.Server, *atomic.Int32) {
	t.Helper()
	calls := new(atomic.Int32)
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) <= failures {
			fail(w, r)
			return
		}
		succeed(w, r)
	}), calls
}

func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
	}
}

func hangUp(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

func reply(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

func TestRetries(t *testing.T) {
	t.Parallel()
	get := func(c *opensandbox.Client) error {
		_, err := c.GetSandbox(context.Background(), "box")
		return err
	}
	create := func(c *opensandbox.Client) error {
		_, err := c.CreateSandbox(context.Background(), opensandbox.CreateRequest{SnapshotID: "s"})
		return err
	}
	snapshot := func(c *opensandbox.Client) error {
		_, err := c.CreateSnapshot(context.Background(), "box", "")
		return err
	}
	remove := func(c *opensandbox.Client) error { return c.DeleteSandbox(context.Background(), "box") }
	renew := func(c *opensandbox.Client) error {
		_, err := c.RenewExpiration(context.Background(), "box", time.Now())
		return err
	}
	for _, test := range []struct {
		name     string
		call     func(*opensandbox.Client) error
		failures int32
		fail     http.HandlerFunc
		calls    int32
		ok       bool
	}{
		{"get after hang-ups", get, 3, hangUp, 4, true},
		{"get gives up", get, 100, hangUp, 4, false},
		{"get after 503", get, 1, status(503), 2, true},
		{"get after 502", get, 1, status(502), 2, true},
		{"get after 429", get, 1, status(429, "Retry-After", "0"), 2, true},
		{"get, 500 stays", get, 1, status(500), 1, false},
		{"get, 404 stays", get, 1, status(404), 1, false},
		{"get, asked to wait too long", get, 1, status(503, "Retry-After", "3600"), 1, false},
		{"create is sent once", create, 1, hangUp, 1, false},
		{"create is sent once, 503", create, 1, status(503), 1, false},
		{"snapshot is sent once", snapshot, 1, hangUp, 1, false},
		{"delete after hang-up", remove, 1, hangUp, 2, true},
		{"delete of nothing", remove, 1, status(404), 1, true},
		{"delete, 409 stays", remove, 1, status(409), 1, false},
		{"renew after hang-up", renew, 1, hangUp, 2, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server, calls := flaky(t, test.failures, test.fail, reply(`{"id":"box","status":{"state":"Running"}}`))
			err := test.call(newClient(t, opensandbox.Options{BaseURL: server.URL}))
			if (err == nil) != test.ok || calls.Load() != test.calls {
				t.Errorf("%d calls, %v", calls.Load(), err)
			}
		})
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	server, _ := flaky(t, 1, status(429, "Retry-After", "1"), reply(`{"id":"box"}`))
	start := time.Now()
	if _, err := newClient(t, opensandbox.Options{BaseURL: server.URL}).GetSandbox(t.Context(), "box"); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < time.Second {
		t.Errorf("asked again after %s", took)
	}
}

// Nobody took the connection, so even a create can be sent again.
func TestRefusedConnectionIsRetried(t *testing.T) {
	t.Parallel()
	server := serve(t, reply(`{"id":"box","status":{"state":"Running"}}`))
	var dials atomic.Int32
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		if dials.Add(1) == 1 {
			return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("connection refused")}
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
	defer transport.CloseIdleConnections()
	client := newClient(t, opensandbox.Options{BaseURL: server.URL, Transport: transport})
	if _, err := client.CreateSandbox(t.Context(), opensandbox.CreateRequest{SnapshotID: "s"}); err != nil {
		t.Error(err)
	}
}

func TestTimeoutIsNamed(t *testing.T) {
	t.Parallel()
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	client := newClient(t, opensandbox.Options{BaseURL: server.URL, Timeout: 30 * time.Millisecond, Attempts: 1})
	_, err := client.GetSandbox(t.Context(), "box")
	if !errors.Is(err, opensandbox.ErrTimeout) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if want := `get sandbox "box": timed out: no answer within 30ms`; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client.GetSandbox(ctx, "box"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// The API key is for the control server. Sandboxes run code that nobody trusts.
func TestKeyStaysAtControlServer(t *testing.T) {
	t.Parallel()
	const header, key = "OPEN-SANDBOX-API-KEY", "k3y"
	var leaked atomic.Bool
	direct := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(header) != "" {
			leaked.Store(true)
		}
		if r.Header.Get("X-EXECD-ACCESS-TOKEN") != "tok" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	var proxied, refused atomic.Int32
	var proxy atomic.Bool
	control := httptest.NewUnstartedServer(nil)
	control.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(header) != key {
			refused.Add(1)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch {
		case strings.Contains(r.URL.Path, "/proxy/"):
			proxied.Add(1)
		case r.URL.Path == "/v1/sandboxes/moved":
			http.Redirect(w, r, direct.URL, http.StatusTemporaryRedirect)
		case proxy.Load():
			if r.URL.Query().Get("use_server_proxy") != "true" {
				w.WriteHeader(http.StatusBadRequest)
			}
			_, _ = fmt.Fprintf(w, `{"endpoint":"%s/sandboxes/box/proxy/44772"}`, r.Host)
		default:
			// A server that hands out the key as an endpoint header must not make us leak it.
			_, _ = fmt.Fprintf(w, `{"endpoint":"%s","headers":{"X-EXECD-ACCESS-TOKEN":"tok","open-sandbox-api-key":"k3y"}}`, strings.TrimPrefix(direct.URL, "http://"))
		}
	})
	control.Start()
	defer control.Close()

	client := newClient(t, opensandbox.Options{BaseURL: control.URL, APIKey: key})
	if err := client.Execd("box").Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := client.GetSandbox(t.Context(), "moved"); err == nil {
		t.Error("a redirect was taken for an answer")
	}
	if leaked.Load() {
		t.Error("the key reached a sandbox")
	}
	proxy.Store(true)
	client = newClient(t, opensandbox.Options{BaseURL: control.URL, APIKey: key, UseServerProxy: true})
	if err := client.Execd("box").Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if proxied.Load() != 1 || refused.Load() != 0 {
		t.Errorf("%d proxied, %d refused", proxied.Load(), refused.Load())
	}
}

func TestListWalksPages(t *testing.T) {
	t.Parallel()
	var queries []string
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		queries = append(queries, r.URL.RawQuery)
		switch r.URL.Query().Get("page") {
		case "1":
			_, _ = io.WriteString(w, `{"items":[{"id":"a"},{"id":"b"}],"pagination":{"hasNextPage":true}}`)
		default: // b slid to the second page while it was fetched
			_, _ = io.WriteString(w, `{"items":[{"id":"b"},{"id":"c","createdAt":"2026-06-15T10:00:00.123456789+02:00"}],"pagination":{"hasNextPage":false}}`)
		}
	})
	client := newClient(t, opensandbox.Options{BaseURL: server.URL})
	var ids []string
	for box, err := range client.ListSandboxes(t.Context(), opensandbox.SandboxFilter{
		States: []string{"Running", "Paused"}, Metadata: map[string]string{"project": "Apollo", "note": "a b"},
	}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, box.ID)
		if box.ID == "c" && !box.CreatedAt.Equal(time.Date(2026, 6, 15, 8, 0, 0, 123456789, time.UTC)) {
			t.Errorf("created at %s", box.CreatedAt)
		}
	}
	if !slices.Equal(ids, []string{"a", "b", "c"}) {
		t.Errorf("got %q", ids)
	}
	const rest = "&pageSize=200&state=Running&state=Paused"
	const filter = "metadata=note%3Da%2Bb%26project%3DApollo&page="
	if want := []string{filter + "1" + rest, filter + "2" + rest}; !slices.Equal(queries, want) {
		t.Errorf("got  %q\nwant %q", queries, want)
	}
}

func TestRenew(t *testing.T) {
	t.Parallel()
	var body string
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		body = string(raw)
		_, _ = io.WriteString(w, `{"expiresAt":"2026-06-15T10:00:00Z"}`)
	})
	at := time.Date(2026, 6, 15, 12, 0, 0, 5_000_000, time.FixedZone("", 2*3600))
	got, err := newClient(t, opensandbox.Options{BaseURL: server.URL}).RenewExpiration(t.Context(), "box", at)
	if err != nil || !got.Equal(time.Date(2026, 6, 15, 10, 0, 0, 0, time.UTC)) {
		t.Errorf("got %s, %v", got, err)
	}
	if want := `{"expiresAt":"2026-06-15T10:00:00.005Z"}`; body != want {
		t.Errorf("sent %s, want %s", body, want)
	}
}

func TestCreateChecksLocally(t *testing.T) {
	t.Parallel()
	client := newClient(t, opensandbox.Options{BaseURL: "http://127.0.0.1:1"})
	for _, req := range []opensandbox.CreateRequest{
		{},
		{Image: &opensandbox.Image{URI: "x"}, SnapshotID: "s"},
		{SnapshotID: "s", Timeout: 59},
	} {
		if _, err := client.CreateSandbox(t.Context(), req); !errors.Is(err, opensandbox.ErrInvalid) {
			t.Errorf("%+v: got %v", req, err)
		}
	}
}

// The sandbox is there, but the server describes it in a way that can't be understood.
func TestCreateWithBadReplyDeletes(t *testing.T) {
	t.Parallel()
	var deleted string
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			deleted = r.URL.Path
			return
		}
		_, _ = io.WriteString(w, `{"id":"box","status":"Running"}`)
	})
	_, err := newClient(t, opensandbox.Options{BaseURL: server.URL}).CreateSandbox(t.Context(), opensandbox.CreateRequest{SnapshotID: "s"})
	if err == nil || deleted != "/v1/sandboxes/box" {
		t.Errorf("got %v, deleted %q", err, deleted)
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]time.Time{
		`"2026-06-15T10:00:00Z"`:            time.Date(2026, 6, 15, 10, 0, 0, 0, time.UTC),
		`"2026-06-15T10:00:00.123456Z"`:     time.Date(2026, 6, 15, 10, 0, 0, 123456000, time.UTC),
		`"2026-06-15T12:00:00.5+02:00"`:     time.Date(2026, 6, 15, 10, 0, 0, 500000000, time.UTC),
		`"2026-06-15T10:00:00.000001"`:      time.Date(2026, 6, 15, 10, 0, 0, 1000, time.UTC),
		`"yesterday"`:                       {},
		`null`:                              {},
		`17`:                                {},
		`{"a":1}`:                           {},
		`"2026-06-15T10:00:00.9999999999Z"`: time.Date(2026, 6, 15, 10, 0, 0, 999999999, time.UTC),
	} {
		var got opensandbox.Time
		if err := json.Unmarshal([]byte(raw), &got); err != nil || !got.Equal(want) {
			t.Errorf("%s: got %s, %v", raw, got, err)
		}
	}
}

func FuzzErrorBody(f *testing.F) {
	for _, body := range []string{
		"", "plain", `{"code":"A::B","message":"m"}`, `{"error":"e"}`, `{"detail":"d"}`,
		`{"detail":[{"loc":["body",0],"msg":"m"}]}`, `{"detail":{"code":"c","message":"m"}}`, `{"code":1}{`, "\xff\xfe",
	} {
		f.Add(404, body)
	}
	f.Fuzz(func(t *testing.T, code int, body string) {
		if code < 300 || code > 599 {
			code = 500
		}
		client, err := opensandbox.New(opensandbox.Options{BaseURL: "http://x", Attempts: 1, Transport: answer{code, body}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.GetSandbox(context.Background(), "box")
		var refused *opensandbox.Error
		if !errors.As(err, &refused) || refused.Status != code || refused.Message == "" {
			t.Fatalf("got %v", err)
		}
		if len(refused.Code)+len(refused.Message) > 10<<10 {
			t.Fatalf("%d bytes of message", len(refused.Message))
		}
		if strings.ToValidUTF8(err.Error(), "") != err.Error() {
			t.Fatalf("not UTF-8: %q", err)
		}
	})
}

// answer is a transport that gives one answer to everything.
type answer struct {
	code int
	body string
}

func (a answer) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: a.code, Header: make(http.Header), Body: io.NopCloser(strings.NewReader(a.body)), Request: req,
	}, nil
}
