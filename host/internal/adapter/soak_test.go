package adapter_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/ledger"
)

// TestSoak appends through the plugin without a pause, for seconds, or as long as ALINEO_SOAK says
// (make soak: ten minutes), and checks that the heap does not grow: what lives after a collection in
// the last third is not more than in the first third, but for a little.
func TestSoak(t *testing.T) { //nolint:paralleltest // it looks at the heap of the whole process
	if testing.Short() {
		t.Skip("SKIPPED: it takes seconds")
	}
	length := 3 * time.Second
	if asked := os.Getenv("ALINEO_SOAK"); asked != "" {
		var err error
		if length, err = time.ParseDuration(asked); err != nil {
			t.Fatal(err)
		}
	}
	st, err := openSQLite(t.Context(), newRuntime(t), filepath.Join(t.TempDir(), "soak.db"), "full")
	if err != nil {
		t.Fatal(err)
	}
	w := ledger.NewWriter(st, ledger.WriterOptions{})
	stream, err := w.Open(t.Context(), benchKey)
	if err != nil {
		t.Fatal(err)
	}
	const samples, pause = 30, 2048
	var live []uint64
	var before, after runtime.MemStats
	events, total := 0, 0
	run := func(until time.Time) {
		for first := true; first || time.Now().Before(until); first = false {
			streamEvents(t, stream, pause)
			events, total = events+pause, total+pause
			if events >= 1<<17 { // the file need not grow for ever
				events = 0
				if _, err := st.DeleteSandbox(t.Context(), benchKey); err != nil {
					t.Fatal(err)
				}
				if stream, err = w.Open(t.Context(), benchKey); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	run(time.Now()) // what is made once
	runtime.ReadMemStats(&before)
	total = 0
	for i := range samples {
		began := total
		run(time.Now().Add(length / samples))
		runtime.GC()
		runtime.ReadMemStats(&after)
		live = append(live, after.HeapAlloc)
		if length > time.Minute {
			t.Logf("%3d%%: %d KiB live, %d events more", (i+1)*100/samples, after.HeapAlloc>>10, total-began)
		}
	}
	const slack = 4 << 20
	first, last := slices.Max(live[:samples/3]), slices.Max(live[2*samples/3:])
	t.Logf("%s: %d events; live after collections: at most %d KiB in the first third, %d KiB in the last; %d bytes allocated an event",
		length, total, first>>10, last>>10, (after.TotalAlloc-before.TotalAlloc)/uint64(total))
	if last > first+slack {
		t.Errorf("the heap grows: %d KiB in the first third, %d in the last", first>>10, last>>10)
	}
	if err := w.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if err := st.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
