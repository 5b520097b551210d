package cgroup

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Find looks for a place where this process may make groups. missing says, a
// sentence each, which controllers it didn't get and why.
func Find() (p Parent, missing []string) {
	own, err := ownGroups("/proc/self/cgroup")
	if err != nil {
		return Parent{}, []string{err.Error()}
	}
	mounts, err := groupMounts("/proc/self/mountinfo")
	if err != nil {
		return Parent{}, []string{err.Error()}
	}
	if p, ok := findUnified(own, mounts); ok {
		for _, c := range []string{Memory, CPU, Pids} {
			if !p.has[c] {
				missing = append(missing, c+": not delegated to "+p.dirs[""])
			}
		}
		return p, missing
	}
	p = Parent{version: 1, dirs: map[string]string{}}
	for _, c := range []string{Memory, CPU, Pids, Freezer} {
		dir, reason := findSplit(c, own, mounts)
		if reason != "" {
			missing = append(missing, c+": "+reason)
			continue
		}
		p.dirs[c] = dir
	}
	if len(p.dirs) == 0 {
		return Parent{}, missing
	}
	// Only to look at: nothing is missed without it. Often it is the
	// processor's own hierarchy.
	if dir, reason := findSplit(account, own, mounts); reason == "" && dir != p.dirs[CPU] {
		p.dirs[account] = dir
	}
	return p, missing
}

// groupMount is a mounted hierarchy. controllers is empty for version 2.
type groupMount struct {
	at, root    string
	controllers []string
}

// ownGroups reads /proc/PID/cgroup: the path by controller, "" for version 2.
func ownGroups(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading own control groups: %w", err)
	}
	defer func() { _ = f.Close() }()
	own := map[string]string{}
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		parts := strings.SplitN(sc.Text(), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for c := range strings.SplitSeq(parts[1], ",") {
			own[c] = parts[2]
		}
	}
	return own, sc.Err()
}

// groupMounts reads the hierarchies from /proc/PID/mountinfo.
func groupMounts(path string) ([]groupMount, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading mounts: %w", err)
	}
	defer func() { _ = f.Close() }()
	var out []groupMount
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		left, right, ok := strings.Cut(sc.Text(), " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 5 || len(r) < 3 {
			continue
		}
		switch r[0] {
		case "cgroup2":
			out = append(out, groupMount{at: l[4], root: l[3]})
		case "cgroup":
			out = append(out, groupMount{at: l[4], root: l[3], controllers: strings.Split(r[2], ",")})
		}
	}
	return out, sc.Err()
}

// dir is where a group's path is in the mounted tree.
func (m groupMount) dir(path string) string {
	if rel, ok := strings.CutPrefix(path, m.root); ok && m.root != "/" {
		path = rel
	}
	return filepath.Join(m.at, path)
}

// findUnified looks for a version 2 group, ours or one above it, in which
// memory and process limits can be given to children and into which we may
// move processes.
func findUnified(own map[string]string, mounts []groupMount) (Parent, bool) {
	for _, m := range mounts {
		if len(m.controllers) > 0 {
			continue
		}
		for dir := m.dir(own[""]); strings.HasPrefix(dir, m.at); dir = filepath.Dir(dir) {
			if unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) != nil {
				continue
			}
			if has := enable(dir); has[Memory] && has[Pids] && unix.Access(dir, unix.W_OK) == nil {
				return Parent{version: 2, dirs: map[string]string{"": dir}, has: has}, true
			}
		}
	}
	return Parent{}, false
}

// enable hands the controllers that we want to a group's children, as far as
// they are there and the kernel lets us.
func enable(dir string) map[string]bool {
	ctl := filepath.Join(dir, "cgroup.subtree_control")
	has := map[string]bool{}
	for _, c := range []string{Memory, CPU, Pids} {
		b, err := os.ReadFile(ctl)
		if err != nil {
			return has
		}
		if !slices.Contains(strings.Fields(string(b)), c) && os.WriteFile(ctl, []byte("+"+c), 0o600) != nil {
			continue
		}
		has[c] = true
	}
	return has
}

func findSplit(controller string, own map[string]string, mounts []groupMount) (dir, reason string) {
	for _, m := range mounts {
		if !slices.Contains(m.controllers, controller) {
			continue
		}
		dir := m.dir(own[controller])
		if err := unix.Access(dir, unix.W_OK); err != nil {
			return "", dir + " is not writable"
		}
		return dir, ""
	}
	return "", "the controller is not mounted"
}
