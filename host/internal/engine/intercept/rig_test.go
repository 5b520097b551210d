package intercept

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/alineo-labs/alineo-host/host/internal/engine/trail"
	"github.com/alineo-labs/alineo-host/host/internal/engine/vault"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// The host that has bindings, and the secret that it gets.
const (
	host   = "api.vault.test"
	secret = "s3cr3t/value+with=odd&<chars>\"1"
)

// rig is a proxy between a client and a real upstream.
type rig struct {
	t        testing.TB
	proxy    *Proxy
	store    *vault.Store
	trail    *trail.Trail
	trusted  *x509.CertPool // by the sandbox
	plain    string         // where connections to port 80 are taken
	secure   string         // and to port 443
	mu       sync.Mutex
	got      []*http.Request
	allowed  bool
	upstream *httptest.Server
}

func anyHost(string) bool { return true }

// newRig makes one whose upstream answers with h. Its requests are in took.
func newRig(t testing.TB, h http.HandlerFunc) *rig {
	t.Helper()
	r := &rig{t: t, store: vault.NewStore(), trail: trail.New(), trusted: x509.NewCertPool(), allowed: true}
	serve := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		r.got = append(r.got, q.Clone(context.Background()))
		r.mu.Unlock()
		h(w, q)
	})
	quiet := log.New(io.Discard, "", 0)
	r.upstream = httptest.NewUnstartedServer(serve)
	r.upstream.Config.ErrorLog = quiet
	r.upstream.EnableHTTP2 = true
	authority, err := NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	world, err := NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := world.certificate(host)
	if err != nil {
		t.Fatal(err)
	}
	r.upstream.TLS = &tls.Config{Certificates: []tls.Certificate{*cert}, MinVersion: tls.VersionTLS12}
	r.upstream.StartTLS()
	unencrypted := httptest.NewServer(serve)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(world.PEM())
	r.trusted.AppendCertsFromPEM(authority.PEM())
	r.proxy = New(Options{
		Authority: authority, Rules: r.store.Rules, Record: r.trail.Add, Roots: roots,
		Allowed: func(name string) bool { return r.isAllowed() && name == host },
		Dial: func(ctx context.Context, name string, port uint16) (net.Conn, error) {
			if name != host {
				return nil, &trail.RefusedError{Reason: "not the host"}
			}
			to := r.upstream.Listener.Addr()
			if port == 80 {
				to = unencrypted.Listener.Addr()
			}
			return (&net.Dialer{}).DialContext(ctx, "tcp", to.String())
		},
	})
	r.plain, r.secure = r.listen(80), r.listen(443)
	t.Cleanup(func() {
		r.proxy.Close()
		r.upstream.Close()
		unencrypted.Close()
	})
	return r
}

func (r *rig) isAllowed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.allowed
}

// listen takes connections that were going to the host.
func (r *rig) listen(port uint16) string {
	r.t.Helper()
	l, err := (&net.ListenConfig{}).Listen(r.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { r.proxy.Serve(c, host, port) })
		}
	})
	r.t.Cleanup(func() { _ = l.Close(); r.proxy.Close(); serving.Wait() })
	return l.Addr().String()
}

// bind makes the vault with one binding, for everything that the host is asked.
func (r *rig) bind(auth vault.Auth, match ...func(*vault.Match)) {
	r.t.Helper()
	m := vault.Match{Hosts: []string{host}, Schemes: []string{"https", "http"}}
	for _, f := range match {
		f(&m)
	}
	_, err := r.store.Create(vault.CreateRequest{
		Credentials: []vault.Credential{{Name: "t", Source: vault.Source{Value: secret}}},
		Bindings:    []vault.Binding{{Name: "b", Match: m, Auth: auth}},
	}, anyHost)
	if err != nil {
		r.t.Fatal(err)
	}
}

func bearer() vault.Auth { return vault.Auth{Type: "bearer", Credential: "t"} }

// client is one of the sandbox's.
func (r *rig) client(http2 bool) *http.Client {
	tr := &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			to := r.secure
			if strings.HasSuffix(address, ":80") {
				to = r.plain
			}
			return (&net.Dialer{}).DialContext(ctx, "tcp", to)
		},
		TLSClientConfig: &tls.Config{RootCAs: r.trusted, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: http2, DisableCompression: true,
	}
	if !http2 {
		tr.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	}
	r.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// answered is what came back, but for the body.
type answered struct {
	StatusCode      int
	Header, Trailer http.Header
}

// do makes a request and reads the whole answer.
func (r *rig) do(c *http.Client, req *http.Request) (answered, string) {
	r.t.Helper()
	resp, err := c.Do(req)
	if err != nil {
		r.t.Fatalf("%s %s: %v", req.Method, req.URL, err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatalf("%s %s: %v", req.Method, req.URL, err)
	}
	return answered{resp.StatusCode, resp.Header, resp.Trailer}, string(b)
}

func (r *rig) request(method, url, body string) *http.Request {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	return req
}

// took are the requests that reached the upstream since it was asked last.
func (r *rig) took() []*http.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	got := r.got
	r.got = nil
	return got
}

// recorded tells whether the trail has an entry of a kind whose text has some words.
func (r *rig) recorded(kind trail.Kind, words string) bool {
	for _, e := range r.trail.Entries() {
		if e.Kind == kind && strings.Contains(e.String(), words) {
			return true
		}
	}
	return false
}

// dial opens a raw connection to the host, as a process does that speaks TLS by itself.
func (r *rig) dial(serverName string) (*tls.Conn, error) {
	c, err := tls.Dial("tcp", r.secure, &tls.Config{ServerName: serverName, InsecureSkipVerify: serverName != host, RootCAs: r.trusted, MinVersion: tls.VersionTLS12}) //nolint:gosec // the client may do what it likes
	if err == nil {
		r.t.Cleanup(func() { _ = c.Close() })
	}
	return c, err
}

// endless is a body without an end.
type endless struct {
	sent atomic.Int64
}

func (e *endless) Read(b []byte) (int, error) {
	clear(b)
	e.sent.Add(int64(len(b)))
	return len(b), nil
}

func (e *endless) Close() error { return nil }
