package opensandbox_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// BenchmarkJob reads a job's log of 64 MiB, beside the same bytes from the same server without a job
// around them. Both go through a socket.
func BenchmarkJob(b *testing.B) {
	log := bytes.Repeat([]byte("the quick brown fox jumps over the lazy dog\n"), 64<<20/44)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "/endpoints/"):
			_, _ = io.WriteString(w, `{"endpoint":"`+r.Host+`"}`)
		case strings.Contains(r.URL.Path, "/status/"):
			_, _ = io.WriteString(w, `{"id":"j","running":false,"exit_code":0}`)
		default:
			_, _ = w.Write(log)
		}
	}))
	defer server.Close()
	b.Run("job", func(b *testing.B) {
		client, err := opensandbox.New(opensandbox.Options{BaseURL: server.URL})
		if err != nil {
			b.Fatal(err)
		}
		defer client.Close()
		b.SetBytes(int64(len(log)))
		b.ReportAllocs()
		for b.Loop() {
			job := client.Execd("box").Follow(b.Context(), "j", opensandbox.Position{})
			if n, err := io.Copy(io.Discard, job); err != nil || n != int64(len(log)) {
				b.Fatal(n, err)
			}
		}
	})
	b.Run("raw", func(b *testing.B) {
		b.SetBytes(int64(len(log)))
		for b.Loop() {
			resp, err := server.Client().Get(server.URL + "/command/j/logs")
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				b.Fatal(err)
			}
			_ = resp.Body.Close()
		}
	})
}
