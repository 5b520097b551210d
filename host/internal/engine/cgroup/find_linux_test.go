package cgroup

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"
)

func write(t testing.TB, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOwnGroups(t *testing.T) {
	t.Parallel()
	got, err := ownGroups(write(t, "9:name=systemd:/\n4:memory:/a/b\n3:cpu,cpuacct:/c:d\nrubbish\n0::/u\n"))
	want := map[string]string{"name=systemd": "/", "memory": "/a/b", "cpu": "/c:d", "cpuacct": "/c:d", "": "/u"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v %v, want %v", got, err, want)
	}
}

func TestGroupMounts(t *testing.T) {
	t.Parallel()
	got, err := groupMounts(write(t, `24 30 0:22 / /proc rw,relatime - proc proc rw
31 24 0:27 / /sys/fs/cgroup/memory rw,nosuid shared:9 master:2 - cgroup cgroup rw,memory
32 24 0:28 /docker/x /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct
33 24 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate
rubbish - x
`))
	if err != nil || len(got) != 3 || got[0].at != "/sys/fs/cgroup/memory" || len(got[2].controllers) != 0 {
		t.Fatalf("%+v %v", got, err)
	}
	for _, c := range []struct {
		m    int
		path string
		want string
	}{
		{0, "/", "/sys/fs/cgroup/memory"},
		{0, "/a/b", "/sys/fs/cgroup/memory/a/b"},
		{1, "/docker/x/y", "/sys/fs/cgroup/cpu/y"},
		{2, "/u", "/sys/fs/cgroup/unified/u"},
	} {
		if dir := got[c.m].dir(c.path); dir != c.want {
			t.Errorf("%d %s: %s, want %s", c.m, c.path, dir, c.want)
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add("4:memory:/a\n0::/\n", "31 24 0:27 / /x rw - cgroup2 cgroup2 rw\n")
	f.Fuzz(func(t *testing.T, own, mounts string) {
		if _, err := ownGroups(write(t, own)); err != nil {
			return
		}
		_, _ = groupMounts(write(t, mounts))
	})
}

// TestGroup makes a real group, if this process may.
func TestGroup(t *testing.T) {
	t.Parallel()
	p, missing := Find()
	if p.Version() == 0 {
		t.Skipf("LEFT OUT: no control groups here: %v", missing)
	}
	g, err := p.Create("test-group")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Limit(g, Limits{Memory: 64 << 20, CPU: 500, Processes: 10}); err != nil {
		t.Error(err)
	}
	t.Cleanup(func() {
		if err := g.Remove(context.Background()); err != nil {
			t.Error(err)
		}
	})
	file := map[int]string{1: "pids.max", 2: "pids.max"}[p.Version()]
	dir := g.Dirs[Pids]
	if p.Version() == 2 {
		dir = g.Dirs[""]
	}
	if b, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(b) != "10\n" {
		t.Errorf("pids.max: %q %v", b, err)
	}
	if _, err := p.Create("test-group"); err == nil {
		t.Error("a second group of the same name")
	}
	born(t, g)
}

// TestFreezeForking freezes processes that never stop making others: one that comes while its parent is being
// frozen must not keep the group from standing still.
func TestFreezeForking(t *testing.T) {
	p, missing := Find()
	if !p.Has(Freezer) {
		t.Skipf("LEFT OUT: nothing can be frozen here: %v", missing)
	}
	g, err := p.Create("forking-" + strconv.Itoa(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	var shells []*exec.Cmd
	t.Cleanup(func() {
		for _, cmd := range shells {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		if err := g.Remove(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	for range 3 {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", "read go; while :; do sleep 0.001; done")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		shells = append(shells, cmd)
		if err := g.Add(cmd.Process.Pid); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(in, "\n"); err != nil {
			t.Fatal(err)
		}
	}
	const times, within = 500, 5 * time.Second
	for i := range times {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		err := g.Freeze(ctx)
		cancel()
		if err := errors.Join(err, g.Thaw(within)); err != nil {
			t.Fatalf("time %d: %v", i+1, err)
		}
		time.Sleep(2 * time.Millisecond) // for them to run
	}
}

// born starts a process in a group, and checks that it is in it and that this thread is not.
func born(t *testing.T, g Group) {
	t.Helper()
	runtime.LockOSThread() // and ends with the goroutine, should it stay in the group
	cmd := exec.Command("sleep", "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	done, err := g.Spawn(cmd.SysProcAttr)
	if err != nil {
		t.Fatal(err)
	}
	err = cmd.Start()
	if derr := done(); err != nil || derr != nil {
		t.Fatal(err, derr)
	}
	runtime.UnlockOSThread()
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	tasks := map[int]string{1: "tasks", 2: "cgroup.threads"}[g.Version]
	for controller, dir := range g.Dirs {
		b, err := os.ReadFile(filepath.Join(dir, tasks))
		if want := strconv.Itoa(cmd.Process.Pid) + "\n"; err != nil || string(b) != want {
			t.Errorf("%s: in the group are %q %v, and not %q alone", controller, b, err, want)
		}
	}
}

func TestNoGroup(t *testing.T) {
	t.Parallel()
	var g Group
	if g.CanFreeze() || g.Freeze(t.Context()) != nil || g.Thaw(time.Second) != nil || g.OOMKills() != 0 || g.UsageFiles() != (UsageFiles{}) || g.Add(1) != nil || g.Remove(t.Context()) != nil {
		t.Error("the zero group does something")
	}
}
