package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// period is the scheduling period that processor limits are given in.
const period = 100_000 // microseconds

// Named is the group of a sandbox, whether it has been made or not.
func (p Parent) Named(id string) Group {
	if p.version == 0 {
		return Group{}
	}
	g := Group{Version: p.version, Dirs: map[string]string{}}
	for c, dir := range p.dirs {
		g.Dirs[c] = filepath.Join(dir, "alineo-host-"+id)
	}
	return g
}

// Create makes the group of a sandbox, without limits. The freezer needs none.
func (p Parent) Create(id string) (Group, error) {
	g := p.Named(id)
	for _, at := range g.Dirs {
		if err := os.Mkdir(at, 0o755); err != nil {
			if !errors.Is(err, fs.ErrExist) {
				_ = g.rmdir()
			}
			return Group{}, fmt.Errorf("making control group %q: %w", at, err)
		}
	}
	return g, nil
}

// Limit sets the limits of a group.
func (p Parent) Limit(g Group, l Limits) error {
	for _, s := range settings(p, l) {
		dir, ok := g.Dirs[s.controller]
		if p.version == 2 {
			dir, ok = g.Dirs[""], p.has[s.controller]
		}
		if !ok {
			continue
		}
		err := os.WriteFile(filepath.Join(dir, s.file), []byte(s.value), 0o600)
		if err != nil && (!s.optional || !errors.Is(err, fs.ErrNotExist)) {
			return fmt.Errorf("setting %s of control group %q: %w", s.file, dir, err)
		}
	}
	return nil
}

type setting struct {
	controller, file, value string
	optional                bool
}

func settings(p Parent, l Limits) []setting {
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	quota := max(l.CPU*period/1000, 1000)
	var out []setting
	if l.Memory > 0 {
		if p.version == 2 {
			out = append(out, setting{Memory, "memory.max", n(l.Memory), false}, setting{Memory, "memory.swap.max", "0", true})
		} else {
			out = append(out, setting{Memory, "memory.limit_in_bytes", n(l.Memory), false}, setting{Memory, "memory.memsw.limit_in_bytes", n(l.Memory), true})
		}
	}
	if l.CPU > 0 {
		if p.version == 2 {
			out = append(out, setting{CPU, "cpu.max", n(quota) + " " + n(period), false})
		} else {
			out = append(out, setting{CPU, "cpu.cfs_period_us", n(period), false}, setting{CPU, "cpu.cfs_quota_us", n(quota), false})
		}
	}
	if l.Processes > 0 {
		out = append(out, setting{Pids, "pids.max", n(l.Processes), false})
	}
	return out
}

// ErrStuck tells that a thread could not leave a group again. Its process must end.
var ErrStuck = errors.New("a thread could not leave a control group")

// Spawn makes the process that this thread starts next, with attr, begin its life in the group. The
// caller is locked to its thread until it has called done, after the start. Moving a process later
// makes every fork of the machine wait, for milliseconds.
func (g Group) Spawn(attr *syscall.SysProcAttr) (done func() error, err error) {
	switch g.Version {
	case 2:
		f, err := os.Open(g.Dirs[""])
		if err != nil {
			return nil, fmt.Errorf("opening the control group: %w", err)
		}
		attr.UseCgroupFD, attr.CgroupFD = true, int(f.Fd())
		return f.Close, nil
	case 1:
		return g.visit()
	}
	return func() error { return nil }, nil
}

// visit moves this thread into a group of version 1, whose children begin there, and done moves it back:
// into the group that holds this one.
func (g Group) visit() (done func() error, err error) {
	var inside []string
	done = func() error {
		var all []error
		for _, dir := range inside {
			if err := enter(filepath.Dir(dir)); err != nil {
				all = append(all, fmt.Errorf("%w: %w", ErrStuck, err))
			}
		}
		return errors.Join(all...)
	}
	for _, dir := range g.Dirs {
		if err := unix.Access(filepath.Join(filepath.Dir(dir), "tasks"), unix.W_OK); err != nil {
			return nil, errors.Join(fmt.Errorf("leaving control group %q again: %w", dir, err), done())
		}
		if err := enter(dir); err != nil {
			return nil, errors.Join(err, done())
		}
		inside = append(inside, dir)
	}
	return done, nil
}

// enter moves this thread. The kernel takes 0 for the caller, which it can move without stopping others.
func enter(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, "tasks"), []byte("0"), 0o600); err != nil {
		return fmt.Errorf("moving a thread into control group %q: %w", dir, err)
	}
	return nil
}

// Add moves a process into the group.
func (g Group) Add(pid int) error {
	for _, dir := range g.Dirs {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o600); err != nil {
			return fmt.Errorf("moving process %d into control group %q: %w", pid, dir, err)
		}
	}
	return nil
}

// CanFreeze tells whether Freeze does anything.
func (g Group) CanFreeze() bool { return g.Version == 2 || g.Dirs[Freezer] != "" }

// Freeze stops every process of the group and returns when they have stopped.
func (g Group) Freeze(ctx context.Context) error { return g.freeze(ctx, true) }

// Thaw lets them go on. It waits for that no longer than within.
func (g Group) Thaw(within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	return g.freeze(ctx, false)
}

func (g Group) freeze(ctx context.Context, stop bool) error {
	switch {
	case g.Version == 2:
		value := "0"
		if stop {
			value = "1"
		}
		if err := os.WriteFile(filepath.Join(g.Dirs[""], "cgroup.freeze"), []byte(value), 0o600); err != nil {
			return fmt.Errorf("freezing: %w", err)
		}
		return await(ctx, filepath.Join(g.Dirs[""], "cgroup.events"), "frozen "+value, nil)
	case g.Dirs[Freezer] != "":
		value := "THAWED"
		if stop {
			value = "FROZEN"
		}
		state := filepath.Join(g.Dirs[Freezer], "freezer.state")
		write := func() error { return os.WriteFile(state, []byte(value), 0o600) }
		if err := write(); err != nil {
			return fmt.Errorf("freezing: %w", err)
		}
		return await(ctx, state, value, write)
	}
	return nil
}

// await polls a file of the freezer's until a line of it is want. Every now and then it does again.
func await(ctx context.Context, file, want string, again func() error) error {
	const every = 10
	for polls := 1; ; polls++ {
		b, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("freezing: %w", err)
		}
		if slices.Contains(strings.Split(string(b), "\n"), want) {
			return nil
		}
		if err := pause(ctx, time.Millisecond); err != nil {
			return fmt.Errorf("freezing: %w", err)
		}
		// A process that was made while its parent was being frozen may be left out by version 1, which then
		// never gets there; told once more it takes that one, too.
		if again != nil && polls%every == 0 {
			if err := again(); err != nil {
				return fmt.Errorf("freezing: %w", err)
			}
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Unthrottle lifts the limit on processors. Dying takes processor time, and thousands of processes that
// have to share a quota for it may take many minutes.
func (g Group) Unthrottle() {
	file, value := filepath.Join(g.Dirs[CPU], "cpu.cfs_quota_us"), "-1"
	switch {
	case g.Version == 2:
		file, value = filepath.Join(g.Dirs[""], "cpu.max"), "max"
	case g.Dirs[CPU] == "":
		return
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return // there is no limit
	}
	_, _ = f.WriteString(value) // they die without it too, if late
	_ = f.Close()
}

// Remove removes the group. It waits for processes that are still dying.
func (g Group) Remove(ctx context.Context) error {
	g.Unthrottle()
	for {
		err := g.rmdir()
		if err == nil || !errors.Is(err, syscall.EBUSY) {
			return err
		}
		if perr := pause(ctx, time.Millisecond); perr != nil {
			return err
		}
	}
}

func (g Group) rmdir() error {
	var all []error
	for _, dir := range g.Dirs {
		if err := syscall.Rmdir(dir); err != nil && !errors.Is(err, syscall.ENOENT) {
			all = append(all, fmt.Errorf("removing control group %q: %w", dir, err))
		}
	}
	return errors.Join(all...)
}
