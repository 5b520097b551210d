package engine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/engine"
)

// chaos kills the engine of one data directory over and over.
type chaos struct {
	t   *testing.T
	dir string
	e   *testEngine // of the round

	mu        sync.Mutex
	alive     map[string]bool   // acknowledged, and nobody asked to delete them
	snapshots map[string]string // by id, what "data" held
	seen      map[string]bool   // all sandboxes that there ever were
}

// TestChaosEngineKilled kills the engine with SIGKILL while 20 sandboxes work and others come and go:
// afterwards each sandbox goes on as if nothing had been, or has left nothing; and every snapshot holds
// what it held. Three rounds, or a twentieth of ALINEO_CHAOS_ROUNDS.
func TestChaosEngineKilled(t *testing.T) {
	t.Parallel()
	requireNamespaces(t)
	rounds := 3
	if n, err := strconv.Atoi(os.Getenv("ALINEO_CHAOS_ROUNDS")); err == nil && n > 0 {
		rounds = max(n/20, rounds)
	}
	c := &chaos{t: t, dir: t.TempDir(), alive: map[string]bool{}, snapshots: map[string]string{}, seen: map[string]bool{}}
	kept := 0
	for i := range rounds {
		kept += c.round(i)
	}
	t.Logf("%d rounds; %d times a sandbox was found again; %d sandboxes in all", rounds, kept, len(c.seen))
	c.e = openEngine(t, engine.Options{DataDir: c.dir})
	c.e.deleteAll()
	for id := range c.snapshots {
		c.e.do(http.MethodDelete, "/snapshots/"+id, nil) // those that stand on others may be in their way
	}
	eventually(t, "nothing to be left", func() bool {
		left, _ := filepath.Glob(filepath.Join(c.dir, "sandboxes", "*"))
		hidden, _ := filepath.Glob(filepath.Join(c.dir, "sandboxes", ".*"))
		return len(left)+len(hidden) == 0 && len(shimsIn(c.dir)) == 0
	})
	for id := range c.seen {
		c.noGroup(id)
	}
	if left := processesOf(t, c.dir); len(left) > 0 {
		t.Errorf("processes: %v", left)
	}
}

const chaosSandboxes = 20

// round returns how many sandboxes outlived the engine.
func (c *chaos) round(number int) int {
	p := startProcess(c.t, c.dir)
	c.e = openEngine(c.t, engine.Options{DataDir: c.dir})
	var wg sync.WaitGroup
	for len(c.alive) < chaosSandboxes {
		c.add()
	}
	stop := make(chan struct{})
	for worker := range 6 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(number), uint64(worker)))
			for {
				select {
				case <-stop:
					return
				default:
					c.step(random)
				}
			}
		})
	}
	time.Sleep(time.Duration(rand.IntN(600)) * time.Millisecond) // the moment is the point
	if err := p.cmd.Process.Kill(); err != nil {
		c.t.Fatal(err)
	}
	_ = p.cmd.Wait()
	// Requests that come now would make this process serve; those that are under way have failed.
	close(stop)
	wg.Wait()
	there := c.remember()
	return c.check(there)
}

// request is do for when the engine may die meanwhile: 0 is no answer.
func (c *chaos) request(method, path string, body any) (int, string) {
	b, err := json.Marshal(body)
	if err != nil {
		return 0, ""
	}
	req, err := http.NewRequest(method, c.e.BaseURL()+path, bytes.NewReader(b))
	if err != nil {
		return 0, ""
	}
	resp, err := c.e.Transport().RoundTrip(req)
	if err != nil {
		return 0, ""
	}
	defer func() { _ = resp.Body.Close() }()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, ""
	}
	return resp.StatusCode, string(out)
}

// add makes a sandbox that works by itself: it counts in a file.
func (c *chaos) add() {
	code, out := c.request(http.MethodPost, "/sandboxes", hostImage())
	var box testBox
	if code != http.StatusAccepted || json.Unmarshal([]byte(out), &box) != nil {
		return
	}
	c.mu.Lock()
	c.alive[box.ID], c.seen[box.ID] = true, true
	c.mu.Unlock()
	box.e = c.e
	c.request(http.MethodPost, box.execd("/command"), map[string]any{
		"command": "head -c 64 /dev/urandom | base64 -w0 > data; while :; do echo x >> log; sleep 0.02; done", "background": true,
	})
}

// any picks a sandbox; take keeps others from it.
func (c *chaos) any(take bool) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.alive {
		if take {
			delete(c.alive, id)
		}
		return id
	}
	return ""
}

// step does one thing.
func (c *chaos) step(random *rand.Rand) {
	box := &testBox{e: c.e, ID: c.any(false)}
	switch random.IntN(6) {
	case 0:
		c.add()
	case 1:
		c.request(http.MethodDelete, "/sandboxes/"+c.any(true), nil)
	case 2:
		c.request(http.MethodPost, "/sandboxes/"+box.ID+"/pause", nil)
		c.request(http.MethodPost, "/sandboxes/"+box.ID+"/resume", nil)
	case 3:
		c.snapshot(box)
	default:
		c.request(http.MethodPost, box.execd("/command"), map[string]any{"command": "seq 2000; sleep 0.01"})
	}
}

func (c *chaos) snapshot(box *testBox) {
	_, out := c.request(http.MethodPost, box.execd("/command"), map[string]any{"command": "cat data"})
	data := collect(c.t, strings.NewReader(whole(out))).Stdout
	_, out = c.request(http.MethodPost, "/sandboxes/"+box.ID+"/snapshots", nil)
	var s struct {
		ID     string
		Status struct{ State string }
	}
	if json.Unmarshal([]byte(out), &s) == nil && s.Status.State == "Ready" && data != "" {
		c.mu.Lock()
		c.snapshots[s.ID] = data
		c.mu.Unlock()
	}
}

// whole cuts off what is no whole line.
func whole(s string) string { return s[:strings.LastIndexByte(s, '\n')+1] }

// remember lists what is in the directory, by the ids in its names.
func (c *chaos) remember() map[string]bool {
	there := map[string]bool{}
	entries, err := os.ReadDir(filepath.Join(c.dir, "sandboxes"))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, e := range entries {
		id := strings.TrimPrefix(e.Name(), ".gone-")
		there[id], c.seen[id] = true, true
	}
	return there
}

// check takes over and looks at everything.
func (c *chaos) check(there map[string]bool) (kept int) {
	var code int
	var out string
	eventually(c.t, "the next engine", func() bool { // what the last one had just started may have held its socket
		code, out = c.request(http.MethodGet, "/sandboxes?pageSize=200", nil)
		return code != 0
	})
	var list struct{ Items []testBox }
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != http.StatusOK {
		c.t.Fatalf("after the kill: %d %s", code, out)
	}
	listed := map[string]bool{}
	for _, b := range list.Items {
		b.e = c.e
		listed[b.ID] = true
		if b.Status.State == "Paused" {
			c.e.want(http.MethodPost, "/sandboxes/"+b.ID+"/resume", 202, "")
		}
		if got := b.must("echo works"); got != "works\n" {
			c.t.Errorf("sandbox %s after the kill: %q", b.ID, got)
		}
		if c.alive[b.ID] {
			kept++
			if got := b.must("if [ -e log ]; then n=$(wc -c < log); for i in $(seq 500); do [ $(wc -c < log) -gt $n ] && break; sleep 0.02; done; [ $(wc -c < log) -gt $n ] && echo goes on; else echo goes on; fi"); got != "goes on\n" {
				c.t.Errorf("what sandbox %s did before the kill doesn't go on: %q", b.ID, got)
			}
			continue
		}
		b.delete() // nobody knew of it, or it was being deleted
		listed[b.ID] = false
	}
	for id := range c.alive {
		if !listed[id] {
			c.t.Errorf("sandbox %s has gone, and nobody asked for that", id)
			delete(c.alive, id)
		}
	}
	eventually(c.t, "as many shims and directories as sandboxes", func() bool {
		left, err := os.ReadDir(filepath.Join(c.dir, "sandboxes"))
		return err == nil && len(left) == len(c.alive) && len(shimsIn(c.dir)) == len(c.alive)
	})
	eventually(c.t, "no more to have begun than the next one", func() bool {
		left, err := os.ReadDir(filepath.Join(c.dir, "spares"))
		return err == nil && len(left) <= 1
	})
	for id := range there {
		if !c.alive[id] {
			c.noGroup(id)
			if left := processesOf(c.t, id); len(left) > 0 {
				c.t.Errorf("processes of a sandbox that isn't: %v", left)
			}
		}
	}
	c.checkSnapshots()
	if err := c.e.Close(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	return kept
}

// checkSnapshots restores some of them.
func (c *chaos) checkSnapshots() {
	_, _, out := c.e.do(http.MethodGet, "/snapshots?state=Creating", nil)
	if !strings.Contains(out, `"items":[]`) {
		c.t.Errorf("snapshots that are made for ever: %s", out)
	}
	checked := 0
	for id, data := range c.snapshots {
		if checked++; checked > 3 {
			break
		}
		box := c.e.create(map[string]any{"image": nil, "snapshotId": id})
		if got := box.must("cat data"); got != data {
			c.t.Errorf("snapshot %s holds %q, and held %q", id, got, data)
		}
		box.delete()
	}
	for id := range c.snapshots {
		if len(c.snapshots) <= 10 {
			break
		}
		c.e.do(http.MethodDelete, "/snapshots/"+id, nil)
		delete(c.snapshots, id)
	}
}

func (c *chaos) noGroup(id string) {
	for _, depth := range []string{"", "*/", "*/*/", "*/*/*/"} {
		if left, _ := filepath.Glob(fmt.Sprintf("/sys/fs/cgroup/%salineo-host-%s", depth, id)); len(left) > 0 {
			c.t.Errorf("left behind: %v", left)
		}
	}
}
