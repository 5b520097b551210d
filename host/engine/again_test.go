package engine

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/internal/engine/unixsock"
)

// TestAskedAgain has connections taken and cut before a server answers.
func TestAskedAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, body string
		cuts         int
		answered     bool
	}{
		{http.MethodGet, "", 0, true},
		{http.MethodGet, "", 2, true},
		{http.MethodGet, "", 3, false},
		{http.MethodPost, "", 1, false}, // it may have been done
		{http.MethodGet, "x", 1, false}, // and a body can't be read twice
	} {
		path := filepath.Join(t.TempDir(), "s")
		l, err := unixsock.Listen(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for range c.cuts {
				if conn, err := l.Accept(); err == nil {
					_ = conn.Close()
				}
			}
			_ = http.Serve(l, http.NotFoundHandler()) //nolint:gosec // ends with the listener
		}()
		transport := &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return unixsock.Dial(ctx, path) }, DisableKeepAlives: true,
		}
		var body io.Reader
		if c.body != "" {
			body = strings.NewReader(c.body)
		}
		req, err := http.NewRequestWithContext(t.Context(), c.method, "http://engine/", body)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := again{transport}.RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		if (err == nil) != c.answered {
			t.Errorf("%s with %q after %d cuts: %v", c.method, c.body, c.cuts, err)
		}
	}
}
