package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/alineo-labs/alineo-host/host/internal/engine/cgroup"
	"github.com/alineo-labs/alineo-host/host/internal/engine/guest"
	"github.com/alineo-labs/alineo-host/host/internal/engine/jail"
	"github.com/alineo-labs/alineo-host/host/internal/engine/layer"
	"github.com/alineo-labs/alineo-host/host/internal/engine/reexec"
	"github.com/alineo-labs/alineo-host/host/internal/engine/shim"
)

// abilities are what the machine allows.
type abilities struct {
	level         jail.Level
	why           string // why the level isn't better, if it isn't
	userNamespace bool
	noUserNS      string // why there is none
	noEgress      string // why sandboxes have no way out, if they have none
	volatile      bool
	copied        []string // top directories that sandboxes see a copy of
	covered       []string // mounts that are in the way
	landlock      int      // version of its interface; 0 is none
	seccomp       bool
	groups        cgroup.Parent
	soft          []string // why limits are soft
	placement     string   // what is wrong with the data directory
	full          error    // that nothing could be tried, for the disk is full
}

// decide finds the best level that opts and the machine allow.
func decide(ctx context.Context, opts Options, program *reexec.Image) (abilities, error) {
	can := explore(ctx, opts, program)
	if err := ctx.Err(); err != nil {
		// What was given up half way says nothing about the machine.
		return can, fmt.Errorf("finding out what this machine allows: %w", err)
	}
	if can.full != nil && opts.Isolation != IsolationNone {
		// It says nothing about the machine either, and must not make isolation weaker.
		return can, fmt.Errorf("finding out what this machine allows: %w (make room there, or name another folder with [engine] data)", can.full)
	}
	level := can.level
	switch opts.Isolation {
	case IsolationNamespaces:
		if level != jail.Namespaces {
			return can, fmt.Errorf("isolation %q is not possible here: %s", IsolationNamespaces, can.why)
		}
	case IsolationReduced:
		if reason := can.noReduced(); reason != "" {
			return can, fmt.Errorf("isolation %q is not possible here: %s", IsolationReduced, reason)
		}
		level = jail.Reduced
	case IsolationNone:
		level = jail.None
	}
	if level == jail.None && opts.Isolation != IsolationNone && runtime.GOOS == "linux" {
		return can, fmt.Errorf("sandboxes are not possible here: %s; nor with reduced isolation: %s", can.why, can.noReduced())
	}
	if level != jail.Namespaces && !opts.AllowReduced {
		why := can.why
		if why == "" {
			why = "[engine] isolation asks for it"
		}
		return can, fmt.Errorf("sandboxes would have only %s isolation (%s): set [engine] allow_reduced = true to accept that", level, why)
	}
	if can.level = level; level != jail.Namespaces && can.why == "" {
		can.why = "[engine] isolation asks for it"
	}
	return can, nil
}

// noReduced says why reduced isolation is impossible; "" when it is possible.
func (a *abilities) noReduced() string {
	switch {
	case runtime.GOOS != "linux":
		return "it needs Linux"
	case a.landlock < jail.MinLandlock:
		return "it needs landlock, of Linux 5.19 or later, turned on"
	case !a.seccomp:
		return "it needs seccomp filters"
	}
	return ""
}

// explore finds out by trying: a real sandbox is entered and left again.
func explore(ctx context.Context, opts Options, program *reexec.Image) abilities {
	a := abilities{landlock: jail.LandlockVersion(), seccomp: jail.SeccompFilters()}
	a.groups, a.soft = cgroup.Find()
	a.level = jail.None
	if runtime.GOOS != "linux" {
		a.why = "namespaces are Linux's"
		return a
	}
	if a.noReduced() == "" {
		a.level = jail.Reduced
	}
	if a.placement = placement(opts.DataDir); a.placement != "" {
		a.why = a.placement
		return a
	}
	if !a.seccomp {
		a.why = "the kernel has no seccomp filters"
		return a
	}
	err := a.tryNamespaces(ctx, opts, program)
	if err != nil {
		if a.why = err.Error(); errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			a.full = err
		}
		return a
	}
	a.level = jail.Namespaces
	return a
}

// tryNamespaces tries a sandbox with a user namespace, then, as root, one
// without.
func (a *abilities) tryNamespaces(ctx context.Context, opts Options, program *reexec.Image) error {
	dir, err := os.MkdirTemp(opts.DataDir, ".probe-")
	if err != nil {
		return err
	}
	defer func() { _ = layer.Remove(dir) }()
	c, err := probeConfig(opts.DataDir, dir, a.landlock >= jail.MinLandlock)
	if err != nil {
		return err
	}
	seed := shim.Seed{ID: filepath.Base(dir), Dir: dir, Level: jail.Namespaces}
	root := os.Geteuid() == 0
	if err := a.lookForMounts(c.Guest.Jail.Tops); err != nil {
		return err
	}
	var all error
	for _, user := range []bool{true, false} {
		if !user && !root || user && root && opts.NoUserNamespace {
			continue
		}
		c.Guest.Jail.Copied = nil
		if user {
			c.Guest.Jail.Copied = a.copied
		}
		for _, volatile := range []bool{true, false} {
			seed.UserNamespace, c.Guest.Jail.Volatile = user, volatile
			err := a.tryNetwork(ctx, program, seed, c)
			if err == nil {
				a.userNamespace, a.volatile, a.copied = user, volatile, c.Guest.Jail.Copied
				return nil
			}
			if user {
				a.noUserNS = err.Error()
			}
			all = errors.Join(all, err)
			if !strings.Contains(err.Error(), "overlay") {
				break // the option can't be the reason
			}
		}
	}
	return all
}

// lookForMounts finds the mounts that overlay in a user namespace stumbles
// over, and which of their directories can be copied instead.
func (a *abilities) lookForMounts(tops []string) error {
	found, err := layer.Submounts(tops)
	if err != nil {
		return err
	}
	for _, top := range tops {
		switch {
		case len(found[top]) == 0:
		case layer.Copyable(top):
			a.copied = append(a.copied, top)
		default:
			a.covered = append(a.covered, found[top]...)
		}
	}
	return nil
}

// emptyWork makes the work directories anew.
func emptyWork(dir string) error {
	names, err := os.ReadDir(filepath.Join(dir, "work"))
	if err != nil {
		return err
	}
	for _, n := range names {
		at := filepath.Join(dir, "work", n.Name())
		if err := layer.Remove(at); err != nil {
			return err
		}
		if err := os.Mkdir(at, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// tryNetwork tries a sandbox with a way out, then one without.
func (a *abilities) tryNetwork(ctx context.Context, program *reexec.Image, seed shim.Seed, c shim.Config) error {
	c.Network = &shim.Network{}
	err := try(ctx, program, seed, c)
	if err == nil {
		a.noEgress = ""
		return nil
	}
	a.noEgress = err.Error()
	c.Network = nil
	return try(ctx, program, seed, c)
}

// try tries a sandbox whose directories nobody has used: overlay marks its
// work directory, and refuses a marked one without the volatile option.
func try(ctx context.Context, program *reexec.Image, seed shim.Seed, c shim.Config) error {
	if err := emptyWork(c.Dir); err != nil {
		return err
	}
	return shim.Try(ctx, program, seed, c)
}

// probeConfig makes the directories of a sandbox that is only tried.
func probeConfig(data, dir string, landlock bool) (shim.Config, error) {
	name := filepath.Base(dir)
	tops := layer.Tops()
	if err := layer.Skeleton().Build(filepath.Join(dir, "base")); err != nil {
		return shim.Config{}, err
	}
	for _, d := range append([]string{jail.RootLayer}, tops...) {
		for _, kind := range []string{"layer", "work"} {
			if err := os.MkdirAll(filepath.Join(dir, kind, d), 0o755); err != nil {
				return shim.Config{}, err
			}
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "root"), 0o755); err != nil {
		return shim.Config{}, err
	}
	return shim.Config{Dir: dir, Guest: guest.Config{Jail: jail.Spec{
		ID: name, Hostname: "probe", Level: jail.Namespaces, DataDir: data,
		Upper: filepath.Join(name, "layer"), Work: filepath.Join(name, "work"), Root: filepath.Join(name, "root"),
		Lowers: []string{filepath.Join(name, "base")}, Tops: tops, Landlock: landlock,
	}}}, nil
}

// placement says what is wrong with where the data directory is.
func placement(dir string) string {
	for _, top := range layer.Tops() {
		if dir == "/"+top || strings.HasPrefix(dir, "/"+top+"/") {
			return fmt.Sprintf("data directory %s lies below /%s, which sandboxes see: choose one below a home directory or /tmp", dir, top)
		}
	}
	return ""
}
