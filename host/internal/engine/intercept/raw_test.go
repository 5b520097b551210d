package intercept

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/alineo-labs/alineo-host/host/internal/engine/trail"
	"github.com/alineo-labs/alineo-host/host/internal/engine/vault"
)

// TestRawRequests sends bytes that no client should. None may bring a credential, or anything at all, to
// the upstream.
func TestRawRequests(t *testing.T) {
	t.Parallel()
	const h = "Host: " + host + "\r\n"
	for _, c := range []struct {
		name, raw, recorded string
	}{
		{"absolute form", "GET http://" + host + "/v1/x HTTP/1.1\r\n" + h + "\r\n", "the target is not a path"},
		{"absolute form to another host", "GET http://other.test/ HTTP/1.1\r\n" + h + "\r\n", "the target is not a path"},
		{"asterisk form", "OPTIONS * HTTP/1.1\r\n" + h + "\r\n", "the target is not a path"},
		{"CONNECT to the vault", "CONNECT 127.0.0.1:18080 HTTP/1.1\r\n" + h + "\r\n", "the method is CONNECT"},
		{"CL and TE", "POST /v1/x HTTP/1.1\r\n" + h + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /v1/y HTTP/1.1\r\n" + h + "\r\n", "both Content-Length and Transfer-Encoding"},
		{"TE and CL", "POST /v1/x HTTP/1.1\r\n" + h + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n", "both Content-Length and Transfer-Encoding"},
		{"two lengths", "POST /v1/x HTTP/1.1\r\n" + h + "Content-Length: 4\r\nContent-Length: 4\r\n\r\nabcd", "several lengths"},
		{"a list of lengths", "POST /v1/x HTTP/1.1\r\n" + h + "Content-Length: 4, 4\r\n\r\nabcd", "not one number"},
		{"a signed length", "POST /v1/x HTTP/1.1\r\n" + h + "Content-Length: +4\r\n\r\nabcd", "not one number"},
		{"odd coding", "POST /v1/x HTTP/1.1\r\n" + h + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "not plainly chunked"},
		{"two codings", "POST /v1/x HTTP/1.1\r\n" + h + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "not plainly chunked"},
		{"coding with a tab", "POST /v1/x HTTP/1.1\r\n" + h + "Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n", "a control character"},
		{"coding before a colon with space", "POST /v1/x HTTP/1.1\r\n" + h + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", "malformed name"},
		{"old version with a coding", "POST /v1/x HTTP/1.0\r\n" + h + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "not plainly chunked"},
		{"folded", "GET /v1/x HTTP/1.1\r\n" + h + "X-A: b\r\n Content-Length: 4\r\n\r\n", "folded"},
		{"folded first", "GET /v1/x HTTP/1.1\r\n X-A: b\r\n" + h + "\r\n", "folded"},
		{"bare line feed", "GET /v1/x HTTP/1.1\n" + h + "\r\n", "bare line feed"},
		{"bare line feeds only", "GET /v1/x HTTP/1.1\nHost: " + host + "\n\n", "bare line feed"},
		{"bare line feed in a header", "GET /v1/x HTTP/1.1\r\n" + h + "X-A: b\nTransfer-Encoding: chunked\r\n\r\n", "bare line feed"},
		{"bare carriage return", "GET /v1/x HTTP/1.1\r\n" + h + "X-A: b\rX-B: c\r\n\r\n", "carriage return"},
		{"null", "GET /v1/x HTTP/1.1\r\n" + h + "X-A: b\x00c\r\n\r\n", "control character"},
		{"no host", "GET /v1/x HTTP/1.1\r\n\r\n", "not exactly one Host"},
		{"two hosts", "GET /v1/x HTTP/1.1\r\n" + h + "Host: other.test\r\n\r\n", "not exactly one Host"},
		{"no colon", "GET /v1/x HTTP/1.1\r\n" + h + "X-A\r\n\r\n", "malformed name"},
		{"name with a space", "GET /v1/x HTTP/1.1\r\n" + h + "X A: b\r\n\r\n", "malformed name"},
		{"two spaces", "GET  /v1/x HTTP/1.1\r\n" + h + "\r\n", "request line is malformed"},
		{"space in the target", "GET /v1/x y HTTP/1.1\r\n" + h + "\r\n", "request line is malformed"},
		{"fragment", "GET /v1/x#y HTTP/1.1\r\n" + h + "\r\n", "fragment"},
		{"odd version", "GET /v1/x HTTP/1.2\r\n" + h + "\r\n", "request line is malformed"},
		{"HTTP/0.9", "GET /v1/x\r\n\r\n", "request line is malformed"},
		{"HTTP/2 in clear", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "request line is malformed"},
		{"empty line first", "\r\nGET /v1/x HTTP/1.1\r\n" + h + "\r\n", "empty line"},
		{"declared trailers", "POST /v1/x HTTP/1.1\r\n" + h + "Trailer: Authorization\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "trailers"},
		{"long head", "GET /v1/x HTTP/1.1\r\n" + h + "X-A: " + strings.Repeat("a", maxHead) + "\r\n\r\n", "too long"},
		{"another method", "GET /v1/x HTTP/1.1\r\n" + h + "X-HTTP-Method-Override: DELETE\r\n\r\n", "could make another request of it"},
		{"another path", "GET /v1/x HTTP/1.1\r\n" + h + "x_original_url: /admin\r\n\r\n", "could make another request of it"},
		{"dot segments", "GET /v1/../admin HTTP/1.1\r\n" + h + "\r\n", "ambiguous segments"},
		{"encoded dots", "GET /v1/%2e%2E/admin HTTP/1.1\r\n" + h + "\r\n", "ambiguous segments"},
		{"encoded slash", "GET /v1/..%2fadmin HTTP/1.1\r\n" + h + "\r\n", "ambiguous segments"},
		{"twice encoded", "GET /v1/%252e%252e/admin HTTP/1.1\r\n" + h + "\r\n", "ambiguous segments"},
		{"five times encoded", "GET /v1/%25252525252e/admin HTTP/1.1\r\n" + h + "\r\n", "ambiguous segments"},
		{"back slash", "GET /v1/..\\admin HTTP/1.1\r\n" + h + "\r\n", "ambiguous segments"},
		{"encoded back slash", "GET /v1/..%5cadmin HTTP/1.1\r\n" + h + "\r\n", "ambiguous segments"},
		{"parameters", "GET /v1/..;x=y/admin HTTP/1.1\r\n" + h + "\r\n", "ambiguous segments"},
		{"overlong", "GET /v1/%c0%ae%c0%ae/admin HTTP/1.1\r\n" + h + "\r\n", "ambiguous segments"},
		{"encoded null", "GET /v1/%00/admin HTTP/1.1\r\n" + h + "\r\n", "ambiguous segments"},
		{"into another binding", "GET /v1/x/..%2f..%2fadmin HTTP/1.1\r\n" + h + "\r\n", "ambiguous segments"},
		{"out of the binding by slashes", "GET /v1/%2f/admin HTTP/1.1\r\n" + h + "\r\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, ok)
			r.bind(bearer(), func(m *vault.Match) { m.Paths = []string{"/v1/*", "/v1"} })
			conn, err := r.dial(host)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(conn, c.raw); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if c.recorded == "" {
				if resp.StatusCode != http.StatusOK || len(r.took()) != 1 {
					t.Errorf("%d %v", resp.StatusCode, r.trail.Entries())
				}
				return
			}
			if resp.StatusCode < 400 || len(r.took()) != 0 || !r.recorded(trail.Refused, c.recorded) {
				t.Errorf("%d %v", resp.StatusCode, r.trail.Entries())
			}
		})
	}
}

// TestRawBodies breaks what has begun.
func TestRawBodies(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(w, q.Body)
		for name, v := range q.Trailer {
			t.Errorf("the trailer %s: %s", name, v)
		}
	})
	r.bind(bearer())
	const head = "POST / HTTP/1.1\r\nHost: " + host + "\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, body := range []string{
		"5\r\nhello\r\n0\r\nAuthorization: mine\r\n\r\n", "5;x=y\r\nhello\r\n0\r\n\r\n", "5\nhello\r\n0\r\n\r\n", "5\r\nhello!\r\n0\r\n\r\n",
		"0x5\r\nhello\r\n0\r\n\r\n", "-5\r\nhello\r\n0\r\n\r\n", " 5\r\nhello\r\n0\r\n\r\n", "ffffffffffffffff\r\nhello\r\n0\r\n\r\n", "\r\n0\r\n\r\n",
	} {
		before := len(r.trail.Entries())
		conn, err := r.dial(host)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, head+body); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode >= 400 {
				err = errors.New(resp.Status)
			}
		}
		if err == nil {
			t.Errorf("%q was taken", body)
		}
		if len(r.trail.Entries()) == before && !r.recorded(trail.Refused, "chunk") {
			t.Errorf("%q: %v", body, r.trail.Entries())
		}
	}
	conn, err := r.dial(host)
	if err != nil {
		t.Fatal(err)
	}
	// And what is right goes on after itself.
	if _, err := io.WriteString(conn, head+"5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n"+"GET /next HTTP/1.1\r\nHost: "+host+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(conn)
	for _, want := range []string{"hello!", ""} {
		resp, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(resp.Body); err != nil || string(b) != want {
			t.Errorf("%q %v", b, err)
		}
		_ = resp.Body.Close()
	}
}

// FuzzStrict reads any bytes: what passes is a beginning of them, the same however it comes in, and Go's
// own reader finds the same requests in it, with one length each.
func FuzzStrict(f *testing.F) {
	f.Add([]byte("GET /a HTTP/1.1\r\nHost: x\r\n\r\nPOST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcPUT /c HTTP/1.1\r\nhost: y\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"))
	f.Add([]byte("POST / HTTP/1.0\r\nContent-Length: 1\r\n\r\nx"))
	f.Fuzz(func(t *testing.T, in []byte) {
		pass := func(from io.Reader) []byte {
			var out bytes.Buffer
			_, _ = io.Copy(&out, &strict{from: from, refused: func(string) {}})
			return out.Bytes()
		}
		out := pass(bytes.NewReader(in))
		if !bytes.HasPrefix(in, out) {
			t.Fatalf("%q became %q", in, out)
		}
		if slow := pass(iotest.OneByteReader(bytes.NewReader(in))); !bytes.Equal(out, slow) {
			t.Fatalf("%q passes, byte by byte %q", out, slow)
		}
		rd := bufio.NewReader(bytes.NewReader(out))
		for {
			if _, err := rd.Peek(1); err != nil {
				return
			}
			req, err := http.ReadRequest(rd)
			if err != nil {
				return // Go is stricter: about percent signs, for one
			}
			if len(req.TransferEncoding) > 0 && req.Header.Get("Content-Length") != "" || len(req.Trailer) > 0 || !strings.HasPrefix(req.RequestURI, "/") {
				t.Fatalf("%q passes", out)
			}
			if _, err := io.Copy(io.Discard, req.Body); err != nil {
				return // it ends in the middle
			}
			if len(req.Trailer) > 0 {
				t.Fatalf("trailers pass: %q", out)
			}
		}
	})
}

// FuzzPath looks at any path: one that gets a credential leads, decoded or not, to the same binding.
func FuzzPath(f *testing.F) {
	f.Add("/v1/%2e%2e/admin")
	f.Add("/v1/a%2fb//c")
	store := vault.NewStore()
	if _, err := store.Create(vault.CreateRequest{
		Credentials: []vault.Credential{{Name: "t", Source: vault.Source{Value: "v"}}},
		Bindings:    []vault.Binding{{Name: "b", Match: vault.Match{Hosts: []string{host}, Paths: []string{"/v1/*"}}, Auth: bearer()}},
	}, anyHost); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, p string) {
		q := vault.Request{Scheme: "https", Host: host, Port: 443, Method: "GET", Path: p}
		chosen, err := store.Rules().Select(q)
		if err != nil || chosen == nil || checkPath(store.Rules(), q, chosen) != nil {
			return
		}
		for range 10 {
			if !strings.HasPrefix(p, "/v1/") || strings.Contains(p+"/", "/../") {
				t.Fatalf("%q gets a credential, and is %q", q.Path, p)
			}
			p = unescape(p)
		}
	})
}
