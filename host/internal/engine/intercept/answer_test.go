package intercept

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/alineo-labs/alineo-host/host/internal/engine/trail"
)

// reflect answers with what it was sent, the way that the path says.
func reflect(w http.ResponseWriter, r *http.Request) {
	auth := r.Header.Get("Authorization")
	switch r.URL.Path {
	case "/header":
		w.Header().Set("X-Echo", auth)
		w.Header()["X-"+strings.Map(func(c rune) rune {
			if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' {
				return c
			}
			return -1
		}, auth)] = []string{"v"}
		w.Header().Set("Location", "/?a="+base64.StdEncoding.EncodeToString([]byte(auth)))
		w.WriteHeader(http.StatusFound)
	case "/body":
		_, _ = io.WriteString(w, auth)
	case "/pieces":
		for _, c := range []byte("<" + auth + ">") {
			_, _ = w.Write([]byte{c})
			_ = http.NewResponseController(w).Flush()
		}
	case "/gzip":
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, auth)
		_ = z.Close()
	case "/deflate":
		w.Header().Set("Content-Encoding", "deflate")
		z := zlib.NewWriter(w)
		_, _ = io.WriteString(z, auth)
		_ = z.Close()
	case "/br":
		w.Header().Set("Content-Encoding", "br")
		_, _ = io.WriteString(w, auth)
	case "/hints":
		w.Header().Set("Link", auth)
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		_, _ = io.WriteString(w, "hinted")
	case "/trailer":
		w.Header().Set("Trailer", "X-Echo")
		_, _ = io.WriteString(w, "body")
		_ = http.NewResponseController(w).Flush() // so that there is no length
		w.Header().Set("X-Echo", auth)
		w.Header().Set(http.TrailerPrefix+"X-Late", auth)
	case "/encoding":
		_, _ = io.WriteString(w, r.Header.Get("Accept-Encoding"))
	}
}

// TestReflection asks a server that gives everything back.
func TestReflection(t *testing.T) {
	t.Parallel()
	r := newRig(t, reflect)
	r.bind(bearer())
	tail := secret[len(secret)-10:]
	for _, http2 := range []bool{false, true} {
		c := r.client(http2)
		c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		for path, want := range map[string]string{
			"/header": "", "/body": "Bearer ****", "/pieces": "<Bearer ", "/gzip": "Bearer ****", "/deflate": "Bearer ****",
			"/br": "can't be looked into", "/hints": "hinted", "/trailer": "body", "/encoding": "identity",
		} {
			var hints []textproto.MIMEHeader
			req := r.request(http.MethodGet, "https://"+host+path, "")
			req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{Got1xxResponse: func(_ int, h textproto.MIMEHeader) error {
				hints = append(hints, h)
				return nil
			}}))
			req.Header.Set("Accept-Encoding", "br")
			resp, body := r.do(c, req)
			var all strings.Builder
			all.WriteString(body)
			for _, h := range append(hints, textproto.MIMEHeader(resp.Header), textproto.MIMEHeader(resp.Trailer)) {
				for name, values := range h {
					all.WriteString("\n" + name + ": " + strings.Join(values, ","))
				}
			}
			if !strings.HasPrefix(body, want) && !strings.Contains(body, "can't be looked into") || strings.Contains(all.String(), tail) || strings.Contains(all.String(), "czNjcjN0") {
				t.Errorf("%s: %d %s", path, resp.StatusCode, all.String())
			}
			switch path {
			case "/header":
				if resp.Header.Get("X-Echo") != "Bearer "+Redacted || resp.StatusCode != http.StatusFound {
					t.Errorf("%v", resp.Header)
				}
			case "/hints":
				if len(hints) != 1 || hints[0].Get("Link") != "Bearer "+Redacted {
					t.Errorf("hints: %v", hints)
				}
			case "/trailer":
				if resp.Trailer.Get("X-Echo") != "Bearer "+Redacted || resp.Trailer.Get("X-Late") != "Bearer "+Redacted {
					t.Errorf("trailer: %v", resp.Trailer)
				}
			case "/br":
				if resp.StatusCode != http.StatusBadGateway || !r.recorded(trail.Refused, "can't be looked into") {
					t.Errorf("%d %s", resp.StatusCode, body)
				}
			}
		}
	}
}

// TestStreaming passes each piece on when it comes, both ways, and holds a sender back whose receiver
// doesn't read.
func TestStreaming(t *testing.T) {
	t.Parallel()
	pause := make(chan struct{})
	r := newRig(t, func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/slow" {
			<-pause // and reads nothing
			return
		}
		buf := make([]byte, 100)
		for {
			n, err := q.Body.Read(buf)
			_, _ = w.Write(bytes.ToUpper(buf[:n]))
			_ = http.NewResponseController(w).Flush()
			if err != nil {
				return
			}
		}
	})
	r.bind(bearer())
	c := r.client(true) // HTTP/1 clients write everything first
	from, to := io.Pipe()
	resp, err := c.Do(r.request(http.MethodPost, "https://"+host+"/", "").WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	req := r.request(http.MethodPost, "https://"+host+"/", "")
	req.Body, req.ContentLength = from, -1
	go func() { _, _ = io.WriteString(to, "first") }()
	resp, err = c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	buf := make([]byte, 100)
	for _, piece := range []string{"FIRST", "SECOND", "THIRD"} {
		if n, err := io.ReadFull(resp.Body, buf[:len(piece)]); err != nil || string(buf[:n]) != piece {
			t.Fatalf("%q %v, want %q", buf[:n], err, piece)
		}
		next := map[string]string{"FIRST": "second", "SECOND": "third"}[piece]
		go func() { _, _ = io.WriteString(to, next) }()
	}
	_ = to.Close()

	// A body without end to a server that doesn't read: it stops after what buffers hold.
	forever := &endless{}
	req = r.request(http.MethodPost, "https://"+host+"/slow", "")
	req.Body, req.ContentLength = forever, -1
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		if resp, err := c.Do(req.WithContext(ctx)); err == nil {
			_ = resp.Body.Close()
		}
	}()
	last, still := int64(-1), 0
	for deadline := time.Now().Add(20 * time.Second); still < 5 && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond) // it is done when nothing moves any more
		if now := forever.sent.Load(); now == last {
			still++
		} else {
			last, still = now, 0
		}
	}
	cancel()
	close(pause)
	if last > 64<<20 || still < 5 {
		t.Errorf("%d bytes were taken for nobody", last)
	}
}

// TestWebSocket talks through an upgraded connection.
func TestWebSocket(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(w http.ResponseWriter, q *http.Request) {
		c, err := websocket.Accept(w, q, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionContextTakeover})
		if err != nil {
			return
		}
		defer func() { _ = c.CloseNow() }()
		c.SetReadLimit(-1)
		_ = c.Write(q.Context(), websocket.MessageText, []byte("you are "+q.Header.Get("Authorization")))
		for {
			kind, b, err := c.Read(q.Context())
			if err != nil {
				return
			}
			if err := c.Write(q.Context(), kind, b); err != nil {
				return
			}
		}
	})
	r.bind(bearer())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, scheme := range []string{"wss", "ws"} {
		client := r.client(false)
		c, _, err := websocket.Dial(ctx, scheme+"://"+host+"/", &websocket.DialOptions{HTTPClient: client, CompressionMode: websocket.CompressionContextTakeover}) //nolint:bodyclose // there is none
		if err != nil {
			t.Fatal(err)
		}
		c.SetReadLimit(-1)
		if _, b, err := c.Read(ctx); err != nil || string(b) != "you are Bearer "+strings.Repeat("*", len(secret)) {
			t.Errorf("%s: %q %v", scheme, b, err)
		}
		for _, message := range []string{"hello", strings.Repeat("0123456789", 200_000), "bye"} {
			go func() { _ = c.Write(ctx, websocket.MessageText, []byte(message)) }()
			if _, b, err := c.Read(ctx); err != nil || string(b) != message {
				t.Errorf("%s: %d bytes of %d, %v", scheme, len(b), len(message), err)
			}
		}
		_ = c.Close(websocket.StatusNormalClosure, "")
		client.CloseIdleConnections()
	}
	if r.took()[0].Header.Get("Authorization") != "Bearer "+secret {
		t.Error("no credential")
	}
}

// TestOtherUpgrades don't pass.
func TestOtherUpgrades(t *testing.T) {
	t.Parallel()
	r := newRig(t, ok)
	r.bind(bearer())
	req := r.request(http.MethodGet, "http://"+host+"/", "")
	req.Header.Set("Connection", "Upgrade, HTTP2-Settings")
	req.Header.Set("Upgrade", "h2c")
	req.Header.Set("HTTP2-Settings", "AAMAAABkAARAAAAAAAIAAAAA")
	if resp, _ := r.do(r.client(false), req); resp.StatusCode != http.StatusOK {
		t.Errorf("%d", resp.StatusCode)
	}
	if got := r.took()[0].Header; got.Get("Upgrade") != "" || got.Get("HTTP2-Settings") != "" {
		t.Errorf("%v", got)
	}
}

// TestCloseEndsConnections leaves nobody waiting.
func TestCloseEndsConnections(t *testing.T) {
	t.Parallel()
	r := newRig(t, ok)
	r.bind(bearer())
	c, err := net.Dial("tcp", r.plain)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	r.proxy.Close()
	if b, err := io.ReadAll(c); len(b) > 0 {
		t.Errorf("%q %v", b, err)
	}
}
