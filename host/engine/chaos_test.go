package engine_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/engine"
)

// TestKilledWhileCreating kills the engine at different moments of a create.
// Whatever the moment, afterwards each sandbox either is listed and works, or
// has left nothing.
func TestKilledWhileCreating(t *testing.T) {
	t.Parallel()
	requireNamespaces(t)
	dir := t.TempDir()
	body, err := json.Marshal(hostImage())
	if err != nil {
		t.Fatal(err)
	}
	for _, after := range []int{0, 2, 5, 10, 15, 20, 30} {
		p := startProcess(t, dir)
		e := openEngine(t, engine.Options{DataDir: dir})
		var wg sync.WaitGroup
		wg.Go(func() {
			req, err := http.NewRequest(http.MethodPost, e.BaseURL()+"/sandboxes", strings.NewReader(string(body)))
			if err != nil {
				return
			}
			if resp, err := e.Transport().RoundTrip(req); err == nil {
				_ = resp.Body.Close()
			}
		})
		time.Sleep(time.Duration(after) * time.Millisecond) // the moment is the point
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = p.cmd.Wait()
		wg.Wait()
		_, _, out := e.do(http.MethodGet, "/sandboxes", nil) // takes over
		var list struct{ Items []testBox }
		if err := json.Unmarshal([]byte(out), &list); err != nil {
			t.Fatal(err)
		}
		for _, b := range list.Items {
			b.e = e
			if got := b.must("echo works"); got != "works\n" {
				t.Errorf("killed after %d ms: %q", after, got)
			}
			b.delete()
		}
		eventually(t, "nothing of it is left", func() bool {
			left, _ := filepath.Glob(filepath.Join(dir, "sandboxes", "*"))
			hidden, _ := filepath.Glob(filepath.Join(dir, "sandboxes", ".*"))
			return len(left)+len(hidden) == 0 && len(shimsIn(dir)) == 0
		})
		if err := e.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// shimsIn lists the shims of a data directory, by the locks that they hold.
func shimsIn(dir string) []string {
	var out []string
	locks, _ := filepath.Glob("/proc/[0-9]*/fd/4")
	for _, l := range locks {
		if target, err := os.Readlink(l); err == nil && strings.HasPrefix(target, filepath.Join(dir, "sandboxes")) {
			out = append(out, target)
		}
	}
	return out
}

// TestManyGenerations restores and snapshots again more often than layers may
// be stacked.
func TestManyGenerations(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short")
	}
	e := requireNamespaces(t)
	box := e.create(nil)
	const generations = 20
	for i := range generations {
		box.must("echo x >> log; touch $(wc -l < log); [ $(wc -l < log) -lt 3 ] || rm $(($(wc -l < log) - 2)); rm -rf d; mkdir d; touch d/$(wc -l < log)")
		snap := e.snapshot(box, "")
		box.delete()
		box = e.create(map[string]any{"image": nil, "snapshotId": snap})
		if got := strings.Count(box.must("cat log"), "x"); got != i+1 {
			t.Fatalf("generation %d: %d lines", i, got)
		}
	}
	if got := box.must("ls; ls d"); got != "19\n20\nd\nlog\n20\n" {
		t.Errorf("after %d generations: %q", generations, got)
	}
}
