package cgroup

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestUnthrottle lifts what Limit has set, with both versions, on ordinary files.
func TestUnthrottle(t *testing.T) {
	t.Parallel()
	for version, want := range map[int]string{1: "cpu.cfs_quota_us=-1", 2: "cpu.max=max"} {
		dir := t.TempDir()
		controller := CPU
		if version == 2 {
			controller = ""
		}
		p := Parent{version: version, dirs: map[string]string{controller: dir}, has: map[string]bool{CPU: true}}
		g, err := p.Create("x")
		if err != nil {
			t.Fatal(err)
		}
		g.Unthrottle() // without a limit
		if err := p.Limit(g, Limits{CPU: 1500}); err != nil {
			t.Fatal(err)
		}
		g.Unthrottle()
		file, value, _ := strings.Cut(want, "=")
		if b, err := os.ReadFile(filepath.Join(dir, "alineo-host-x", file)); err != nil || string(b) != value {
			t.Errorf("version %d: %s is %q %v, want %q", version, file, b, err, value)
		}
	}
}

// TestUnifiedFiles checks what is written where with version 2, on ordinary
// files: this machine may have no such hierarchy.
func TestUnifiedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := Parent{version: 2, dirs: map[string]string{"": dir}, has: map[string]bool{Memory: true, Pids: true}}
	if !p.Has(Memory) || p.Has(CPU) || !p.Has(Freezer) {
		t.Errorf("%+v", p)
	}
	g, err := p.Create("x")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Limit(g, Limits{Memory: 1 << 20, CPU: 1500, Processes: 7}); err != nil {
		t.Error(err)
	}
	if err := g.Add(42); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "alineo-host-x")
	for file, want := range map[string]string{"memory.max": "1048576", "memory.swap.max": "0", "pids.max": "7", "cgroup.procs": "42"} {
		if b, err := os.ReadFile(filepath.Join(at, file)); err != nil || string(b) != want {
			t.Errorf("%s: %q %v, want %q", file, b, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(at, "cpu.max")); err == nil {
		t.Error("a controller that isn't there was set")
	}
	attr := &syscall.SysProcAttr{}
	done, err := g.Spawn(attr)
	if err != nil || !attr.UseCgroupFD || attr.CgroupFD < 3 {
		t.Errorf("spawn: %+v %v", attr, err)
	}
	if err := done(); err != nil {
		t.Error(err)
	}

	if err := os.WriteFile(filepath.Join(at, "cgroup.events"), []byte("populated 1\nfrozen 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := g.Freeze(t.Context()); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(filepath.Join(at, "cgroup.freeze")); err != nil || string(b) != "1" {
		t.Errorf("cgroup.freeze: %q %v", b, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := g.freeze(ctx, false); err == nil {
		t.Error("thawed, and the kernel has not said so")
	}
}

// TestLimitFiles checks what each version's limits are written to, and what waits for the kernel.
func TestLimitFiles(t *testing.T) {
	t.Parallel()
	limits := Limits{Memory: 64 << 20, CPU: 250, Processes: 9}
	all := map[string]bool{Memory: true, CPU: true, Pids: true}
	split := map[string]string{Memory: t.TempDir(), CPU: t.TempDir(), Pids: t.TempDir(), Freezer: t.TempDir()}
	for name, c := range map[string]struct {
		p    Parent
		want map[string]string // by controller/file
	}{
		"version 2": {Parent{version: 2, dirs: map[string]string{"": t.TempDir()}, has: all}, map[string]string{
			"/memory.max": "67108864", "/memory.swap.max": "0", "/cpu.max": "25000 100000", "/pids.max": "9",
		}},
		"version 1": {Parent{version: 1, dirs: split}, map[string]string{
			"memory/memory.limit_in_bytes": "67108864", "memory/memory.memsw.limit_in_bytes": "67108864",
			"cpu/cpu.cfs_period_us": "100000", "cpu/cpu.cfs_quota_us": "25000", "pids/pids.max": "9",
		}},
	} {
		g, err := c.p.Create("y")
		if err == nil {
			err = c.p.Limit(g, limits)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for where, want := range c.want {
			controller, file, _ := strings.Cut(where, "/")
			if b, err := os.ReadFile(filepath.Join(g.Dirs[controller], file)); err != nil || string(b) != want {
				t.Errorf("%s: %s: %q %v, want %q", name, where, b, err, want)
			}
		}
		if !g.CanFreeze() {
			t.Errorf("%s: can't freeze", name)
		}
	}
	state := filepath.Join(split[Freezer], "alineo-host-y", "freezer.state")
	frozen := Parent{version: 1, dirs: split}.Named("y")
	if err := frozen.Freeze(t.Context()); err != nil { // the file says what was written into it
		t.Error(err)
	}
	if b, err := os.ReadFile(state); err != nil || string(b) != "FROZEN" {
		t.Errorf("%s: %q %v", state, b, err)
	}
	if err := frozen.Thaw(time.Second); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(state); err != nil || string(b) != "THAWED" {
		t.Errorf("%s: %q %v", state, b, err)
	}
}

// TestFindUnified looks for a place in made-up trees of version 2: in the own group, or in one above it
// when that one can't have children with controllers.
func TestFindUnified(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		groups map[string]string // what each has in cgroup.subtree_control; "!": no such file; "-": no cgroup.procs either
		own    string
		want   string // "none": no place
	}{
		"the own one":      {map[string]string{"": "cpu memory pids", "a": "cpu memory pids"}, "/a", "a"},
		"the one above":    {map[string]string{"": "", "a": "cpu memory pids", "a/b": "-"}, "/a/b", "a"},
		"the topmost":      {map[string]string{"": "cpu memory pids", "a": "!", "a/b": "!"}, "/a/b", ""},
		"no children":      {map[string]string{"": "!", "a": "!"}, "/a", "none"},
		"nobody may enter": {map[string]string{"": "-", "a": "-"}, "/a", "none"},
	} {
		at := t.TempDir()
		for group, controllers := range c.groups {
			dir := filepath.Join(at, group)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if controllers == "-" {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if controllers == "!" {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte(controllers), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p, ok := findUnified(map[string]string{"": c.own}, []groupMount{{at: "/elsewhere", root: "/", controllers: []string{"cpu"}}, {at: at, root: "/"}})
		switch {
		case !ok && c.want != "none":
			t.Errorf("%s: nothing", name)
		case ok && (p.dirs[""] != filepath.Join(at, c.want) || !p.Has(CPU) || !p.Has(Freezer)):
			t.Errorf("%s: %+v, want %s", name, p, c.want)
		}
	}
}

// TestEnable hands controllers on in a made-up group.
func TestEnable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if has := enable(dir); len(has) != 0 {
		t.Errorf("without a control file: %v", has)
	}
	if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("cpu memory pids io\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if has := enable(dir); !has[Memory] || !has[CPU] || !has[Pids] {
		t.Errorf("all are on already: %v", has)
	}
}

// TestUsage finds and reads what both versions keep, in files like theirs.
func TestUsage(t *testing.T) {
	t.Parallel()
	dir := func(files map[string]string) string {
		d := t.TempDir()
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(d, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return d
	}
	one := dir(map[string]string{"memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", "memory.usage_in_bytes": "1", "memory.stat": "x 1"})
	acct := dir(map[string]string{"cpuacct.usage": "1"})
	both := dir(map[string]string{"cpuacct.usage": "1"})
	two := dir(map[string]string{"memory.events": "low 0\nhigh 0\nmax 9\noom 1\noom_kill 2\n", "memory.current": "1", "memory.stat": "x 1", "cpu.stat": "usage_usec 1\n"})
	for name, c := range map[string]struct {
		g    Group
		oom  int
		want UsageFiles
	}{
		"version 1":               {Group{Version: 1, Dirs: map[string]string{Memory: one, account: acct, CPU: dir(nil)}}, 3, UsageFiles{acct + "/cpuacct.usage", one + "/memory.usage_in_bytes", one + "/memory.stat"}},
		"version 1, one for both": {Group{Version: 1, Dirs: map[string]string{CPU: both}}, 0, UsageFiles{CPU: both + "/cpuacct.usage"}},
		"version 2":               {Group{Version: 2, Dirs: map[string]string{"": two}}, 2, UsageFiles{two + "/cpu.stat", two + "/memory.current", two + "/memory.stat"}},
		"none":                    {},
	} {
		if got := c.g.OOMKills(); got != c.oom {
			t.Errorf("%s: %d killed, want %d", name, got, c.oom)
		}
		if got := c.g.UsageFiles(); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
