package intercept

import (
	"io"
	"net/http"
	"testing"
)

// BenchmarkDownload reads 32 MiB through the proxy.
func BenchmarkDownload(b *testing.B) {
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(i*7 + i>>8)
	}
	r := newRig(b, func(w http.ResponseWriter, _ *http.Request) {
		for range 32 {
			_, _ = w.Write(block)
		}
	})
	r.bind(bearer())
	c := r.client(false)
	b.SetBytes(32 << 20)
	for b.Loop() {
		resp, err := c.Do(r.request(http.MethodGet, "https://"+host+"/", ""))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			b.Fatal(err)
		}
		_ = resp.Body.Close()
	}
}
