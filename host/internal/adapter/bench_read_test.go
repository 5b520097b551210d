package adapter_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/ledger"
)

// BenchmarkRead reads a sandbox of 10,000 entries through the WebAssembly ledger, page by page.
func BenchmarkRead(b *testing.B) {
	const entries = 10_000
	st, err := openSQLite(b.Context(), newRuntime(b), filepath.Join(b.TempDir(), "read.db"), "normal")
	if err != nil {
		b.Fatal(err)
	}
	a := newAppender(b, st)
	ts := time.Now().UnixMilli()
	for range entries / 500 {
		a.append(b, 500, &ts)
	}
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range ledger.ReadSandbox(b.Context(), st, a.key) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != entries {
			b.Fatalf("%d entries", n)
		}
	}
	b.ReportMetric(float64(entries*b.N)/b.Elapsed().Seconds(), "events/s")
}
