package engine_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/engine"
)

// inventory is what an engine in a process of its own has.
// (A namespace lives while a process is in it, a mount or a descriptor leads to it.)
type inventory struct{ descriptors, threads, goroutines, mounts, directories int }

func takeInventory(t *testing.T, p *engineProcess, dir string) inventory {
	t.Helper()
	count := func(pattern string) int {
		all, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	proc := filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid))
	b, err := os.ReadFile(filepath.Join(proc, "mountinfo"))
	if err != nil {
		t.Fatal(err)
	}
	return inventory{
		descriptors: count(filepath.Join(proc, "fd", "*")), threads: count(filepath.Join(proc, "task", "*")), goroutines: p.goroutines(t),
		mounts: strings.Count(string(b), dir), directories: count(filepath.Join(dir, "*", "*")) + count(filepath.Join(dir, "*", ".*")),
	}
}

// TestChaosManySandboxes has 200 sandboxes alive at once (fewer without ALINEO_CHAOS_ROUNDS), made and
// deleted by 32 clients, commands in 16 at a time; and looks at what is left.
func TestChaosManySandboxes(t *testing.T) {
	t.Parallel()
	requireNamespaces(t)
	n := 50
	if os.Getenv("ALINEO_CHAOS_ROUNDS") != "" {
		n = 200
	}
	dir := t.TempDir()
	p := startProcess(t, dir)
	e := openEngine(t, engine.Options{DataDir: dir})
	e.create(nil).delete() // what is made once
	e.create(nil).delete()
	e.awaitSpare()
	eventually(t, "the first shim to end", func() bool { return len(shimsIn(dir)) == 0 })
	before := takeInventory(t, p, dir)

	boxes := make([]*testBox, n)
	began := time.Now()
	took := clients(32, n, func(i int) {
		boxes[i] = e.create(map[string]any{"resourceLimits": map[string]string{"cpu": "1", "memory": "64Mi"}})
	})
	t.Logf("created %d in %v: %s", n, time.Since(began), took)
	if got := len(shimsIn(dir)); got != n {
		t.Errorf("%d shims", got)
	}
	t.Logf("with all alive: %+v; %s", takeInventory(t, p, dir), memoryOf(boxes))
	for _, again := range []bool{false, true} {
		began = time.Now()
		took = clients(16, n, func(i int) {
			before := ""
			if again {
				before = strconv.Itoa(i) + "\n"
			}
			if got := boxes[i].must(fmt.Sprintf("cat x 2>/dev/null; echo %d > x", i)); got != before {
				t.Errorf("in sandbox %d: %q, want %q", i, got, before)
			}
		})
		t.Logf("%d commands in %v: %s", n, time.Since(began), took)
	}
	began = time.Now()
	took = clients(32, n, func(i int) { boxes[i].delete() })
	t.Logf("deleted %d in %v: %s", n, time.Since(began), took)

	eventually(t, "everything to be given back", func() bool {
		now := takeInventory(t, p, dir)
		return now.descriptors <= before.descriptors && now.goroutines <= before.goroutines && now.mounts == before.mounts &&
			now.directories == before.directories && len(shimsIn(dir)) == 0
	})
	t.Logf("before %+v, after %+v", before, takeInventory(t, p, dir))
	for _, b := range boxes {
		for _, depth := range []string{"", "*/", "*/*/", "*/*/*/"} {
			if left, _ := filepath.Glob("/sys/fs/cgroup/" + depth + "alineo-host-" + b.ID); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		}
		if code, _, _ := e.do(http.MethodGet, "/sandboxes/"+b.ID, nil); code != http.StatusNotFound {
			t.Errorf("sandbox %s after its deletion: %d", b.ID, code)
		}
	}
}

// clients has n things done by some at a time and tells how long each took.
func clients(some, n int, f func(i int)) string {
	todo := make(chan int)
	took := make([]time.Duration, n)
	var wg sync.WaitGroup
	for range some {
		wg.Go(func() {
			for i := range todo {
				began := time.Now()
				f(i)
				took[i] = time.Since(began)
			}
		})
	}
	for i := range n {
		todo <- i
	}
	close(todo)
	wg.Wait()
	slices.Sort(took)
	return fmt.Sprintf("each p50 %v, p95 %v, worst %v", took[n/2], took[n*95/100], took[n-1])
}

var pss = regexp.MustCompile(`(?m)^Pss: +(\d+) kB`)

// memoryOf tells what sandboxes' shims and own processes need, pages that they share divided.
func memoryOf(boxes []*testBox) string {
	var total, processes int
	rollups, _ := filepath.Glob("/proc/[0-9]*/smaps_rollup")
	for _, at := range rollups {
		line, err := os.ReadFile(filepath.Join(filepath.Dir(at), "cmdline"))
		own := err == nil && slices.ContainsFunc(boxes, func(b *testBox) bool { return strings.Contains(string(line), b.ID) })
		if !own {
			continue
		}
		b, err := os.ReadFile(at)
		if m := pss.FindSubmatch(b); err == nil && m != nil {
			kb, _ := strconv.Atoi(string(m[1])) // digits
			total += kb
			processes++
		}
	}
	return fmt.Sprintf("%d KiB of memory for each sandbox's shim and init (%d processes)", total/len(boxes), processes)
}
