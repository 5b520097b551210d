package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/engine"
)

// hardLimits tells whether control groups stand behind the limits here.
func (b *testBox) hardLimits() bool {
	b.e.t.Helper()
	_, _, out := b.e.do(http.MethodGet, "/sandboxes/"+b.ID+"/diagnostics/inspect", nil)
	return !strings.Contains(out, "(soft: this engine")
}

// responsive measures how long the machine makes others wait until stop is called: a timer, a small
// file and a request to another sandbox's execd, over and over. It reports and judges nothing, for on
// a machine that does much else nobody knows whose fault it is.
func responsive(t *testing.T, other *testBox) (stop func()) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	done := make(chan struct{})
	var timer, disk, execd time.Duration
	var wg sync.WaitGroup
	worst := func(into *time.Duration, f func()) {
		wg.Go(func() {
			for {
				began := time.Now()
				f()
				*into = max(*into, time.Since(began))
				select {
				case <-done:
					return
				case <-time.After(10 * time.Millisecond): // a pause between measurements
				}
			}
		})
	}
	worst(&timer, func() { time.Sleep(time.Millisecond) }) // what is measured
	worst(&disk, func() {
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Error(err)
		}
	})
	worst(&execd, func() {
		if code, _, out := other.e.do(http.MethodGet, other.execd("/ping"), nil); code != http.StatusOK {
			t.Errorf("another sandbox: %d %s", code, out)
		}
	})
	return func() {
		close(done)
		wg.Wait()
		t.Logf("the worst of the machine meanwhile: timer %v late, file written in %v, another sandbox answered in %v", timer, disk, execd)
	}
}

// TestExhaustion has sandboxes use up what they can.
func TestExhaustion(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	other := e.create(nil)
	hard := other.hardLimits()
	for _, c := range []struct {
		name, command string
		hard          bool // only where limits are
		judge         func(r result) error
	}{
		{"forks", "f() { f | f & }; f", false, nil},
		{"memory of one process", "head -c 3G /dev/zero | tail -c 2G | wc -c", false, func(r result) error {
			if strings.TrimSpace(r.Stdout) == fmt.Sprint(2<<30) {
				return errors.New("2 GiB fitted into 256 MiB")
			}
			return nil
		}},
		{"memory of many", // all of them hold their memory until each has taken it, or was not let
			`for i in $(seq 20); do ((head -c 20M /dev/zero; : >/tmp/taken.$i) | tail -c 20M | (until [ -e /tmp/all ]; do sleep 0.1; done; wc -c)) & done
			until [ $(ls /tmp/taken.* | wc -l) = 20 ]; do sleep 0.1; done 2>/dev/null; : >/tmp/all; wait`, true, func(r result) error {
				if n := strings.Count(r.Stdout, fmt.Sprint(20<<20)); n > 12 {
					return fmt.Errorf("%d times 20 MiB fitted into 256 MiB", n)
				}
				return nil
			}},
		{"shared memory", "head -c 3G /dev/zero > /dev/shm/x; rm /dev/shm/x", false, func(r result) error {
			if !strings.Contains(r.Stderr, "No space left") && r.Code == "0" {
				return fmt.Errorf("3 GiB fitted: %q", r.Stderr)
			}
			return nil
		}},
		{"names in memory", "for d in /dev/shm:103000 /run:11000 /dev:1100; do seq 1 ${d#*:} | (cd ${d%:*} && xargs touch) 2>&1 | grep -c -m1 'No space'; done", false, func(r result) error {
			if r.Stdout != "1\n1\n1\n" {
				return fmt.Errorf("%q %q", r.Stdout, r.Stderr)
			}
			return nil
		}},
		{"terminals", `[ -e /dev/ptmx ] && bash -c 'n=0; while exec {f}<>/dev/ptmx; do n=$((n+1)); done 2>/dev/null; true'; echo`, false, nil},
		{"descriptors", `for i in $(seq 20); do bash -c 'ulimit -n $(ulimit -Hn); while exec {f}</dev/null; do :; done' 2>/dev/null & done; sleep 3; kill $(jobs -p); echo`, false, nil},
		{"processor", "for i in $(seq 32); do (while :; do :; done) & done; sleep 2; kill $(jobs -p); echo", false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !hard && (c.hard || testing.Short() && c.name == "forks") {
				return // what is soft is said to be so, and hurts whatever else is tested
			}
			e := &testEngine{t, e.Engine, e.dir}
			box := e.create(map[string]any{"resourceLimits": map[string]string{"memory": "256Mi", "cpu": "1"}})
			stop := responsive(t, &testBox{e: e, ID: other.ID})
			// A bomb of forks never ends by itself.
			code, _, out := e.do(http.MethodPost, box.execd("/command"), map[string]any{"command": c.command, "timeout": 30_000, "background": c.name == "forks"})
			if c.name == "forks" {
				time.Sleep(500 * time.Millisecond) // for as long as the machine is to bear it
			}
			stop()
			if code != http.StatusOK {
				t.Fatalf("%d %s", code, out)
			}
			if c.judge != nil {
				if err := c.judge(collect(t, strings.NewReader(out))); err != nil {
					t.Error(err)
				}
			}
			if err := exec.Command("true").Run(); err != nil {
				t.Errorf("the machine: %v", err)
			}
			if got := (&testBox{e: e, ID: other.ID}).must("echo alive"); got != "alive\n" {
				t.Errorf("another sandbox: %q", got)
			}
			code, _, out = e.do(http.MethodGet, "/sandboxes/"+box.ID, nil)
			t.Logf("afterwards: %d %s", code, out)
			if c.name != "forks" { // which may go on
				if got := box.must("echo alive"); got != "alive\n" {
					t.Errorf("afterwards: %q", got)
				}
			}
			box.delete()
			assertGone(t, e, box.ID)
		})
	}
}

// TestDiskLimit has sandboxes write more, and more files, than they may.
func TestDiskLimit(t *testing.T) {
	t.Parallel()
	const files = 100_000
	e := openEngine(t, engine.Options{DataDir: t.TempDir(), MaxDisk: 96 << 20, MaxFiles: files})
	below := e.create(nil)
	below.must("head -c 40M /dev/zero > big; seq 1 2000 | xargs touch")
	for _, c := range []struct{ name, command, limits, want string }{
		{"bytes", "head -c 200M /dev/zero > big; sleep 100", "", "96 MiB"},
		{"bytes of many files", "for i in $(seq 300); do head -c 1M /dev/zero > f$i; done; sleep 100", "", "96 MiB"},
		{"bytes without a name", "exec 3> big; rm big; head -c 200M /dev/zero >&3; sleep 100", "", "96 MiB"},
		{"fewer bytes", "head -c 20M /dev/zero > big; sleep 100", "8Mi", "8 MiB"},
		{"files", fmt.Sprintf("seq 1 %d | xargs touch; sleep 100", 2*files), "", "100000 files"},
		{"where its owner may not look", "mkdir d; cd d; chmod 0 .; for i in $(seq 300); do head -c 1M /dev/zero > f$i; done; sleep 100", "", "96 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := &testEngine{t, e.Engine, e.dir}
			limits := map[string]string{"memory": "512Mi"}
			if c.limits != "" {
				limits["ephemeral-storage"] = c.limits
			}
			box := e.create(map[string]any{"resourceLimits": limits})
			e.want(http.MethodGet, "/sandboxes/"+box.ID+"/diagnostics/inspect", 200, "MiB (soft: files are measured")
			e.do(http.MethodPost, box.execd("/command"), map[string]any{"command": c.command, "background": true})
			var got struct {
				Status struct{ State, Reason, Message string }
			}
			eventually(t, "the sandbox to be ended", func() bool {
				_, _, out := e.do(http.MethodGet, "/sandboxes/"+box.ID, nil)
				if err := json.Unmarshal([]byte(out), &got); err != nil {
					t.Fatal(err)
				}
				return got.Status.State == "Failed"
			})
			if got.Status.Reason != "CONTAINER_EVICTED" || !strings.Contains(got.Status.Message, c.want) {
				t.Errorf("it ended like this: %+v", got.Status)
			}
			e.want(http.MethodGet, "/sandboxes/"+box.ID+"/diagnostics/events", 200, "Evicted - ")
			eventually(t, "its files to be gone", func() bool {
				left, err := os.ReadDir(filepath.Join(e.dir, "sandboxes", box.ID))
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range left {
					if f.Name() == "layer" || f.Name() == ".gone" {
						return false
					}
				}
				return true
			})
			box.delete()
			assertGone(t, e, box.ID)
		})
	}
	t.Run("below", func(t *testing.T) { // runs before the others, which wait for their parent
		if got := below.must("ls | wc -l"); got != "2001\n" {
			t.Errorf("%q", got)
		}
	})
}

// TestDeepDirectories nests them deeper than a path can be long, which nobody must stumble over who
// removes them.
func TestDeepDirectories(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	// Each round puts what there is at the bottom of another twelve.
	path := strings.Repeat(strings.Repeat("d", 200)+"/", 12)
	got := box.must("mkdir -p top/closed; touch top/closed/f; chmod 0 top/closed; for i in $(seq 100); do mkdir -p new/" + path + "; [ ! -d top ] || mv top new/" + path + "; mv new top; done; echo made")
	if got != "made\n" {
		t.Fatalf("nested: %q", got)
	}
	began := time.Now()
	code, _, out := e.do(http.MethodPost, "/sandboxes/"+box.ID+"/snapshots", map[string]string{"name": "deep"})
	t.Logf("a snapshot: %d %s %v", code, out, time.Since(began))
	box.delete()
	assertGone(t, e, box.ID)
}
