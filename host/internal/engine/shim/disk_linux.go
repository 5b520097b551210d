package shim

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/alineo-labs/alineo-host/host/internal/engine/layer"
)

// How often a sandbox's files are looked at.
const (
	glanceEvery  = time.Second      // at the file system's free room, which costs nothing
	measureEvery = 30 * time.Second // at the files, whatever the free room says
	// A measurement takes at most this part of the time.
	measureShare = 20
)

// disk watches what a sandbox's files take. No file system that an ordinary user has can limit a
// directory, so the limit is soft: it is noticed a moment after it was passed.
type disk struct {
	dir  string
	most layer.Usage
	init int // process id

	used       layer.Usage
	free       layer.Usage // of the file system, when used was measured
	measuredAt time.Time
	took       time.Duration
}

// watchDisk ends the sandbox when its files take more than they may.
func (s *keeper) watchDisk() {
	d := &disk{dir: filepath.Join(s.config.Dir, LayerDir), most: s.config.Disk, init: s.init.pid}
	if d.most == (layer.Usage{}) {
		return
	}
	look := time.NewTicker(glanceEvery)
	defer look.Stop()
	for {
		select {
		case <-s.ended:
			return
		case <-look.C:
		}
		if !d.due(time.Now()) {
			continue
		}
		if why := d.measure(); why != "" {
			s.evict(why)
			return
		}
	}
}

// due tells whether the sandbox may have passed its limit since the last measurement: if so, the file
// system has lost room.
func (d *disk) due(now time.Time) bool {
	since := now.Sub(d.measuredAt)
	if since < d.took*measureShare {
		return false
	}
	free, err := freeRoom(d.dir)
	if err != nil || since >= measureEvery {
		return true
	}
	lost := layer.Usage{Bytes: d.free.Bytes - free.Bytes, Files: d.free.Files - free.Files}
	return lost.Over(layer.Usage{Bytes: half(d.most.Bytes, d.used.Bytes), Files: half(d.most.Files, d.used.Files)})
}

// half is half of what is left, and 0, no bound, where there is none.
func half(most, used int64) int64 {
	if most == 0 {
		return 0
	}
	return max((most-used)/2, 1)
}

// measure returns why the sandbox has to end; "" when it hasn't.
func (d *disk) measure() string {
	began := time.Now()
	d.free, _ = freeRoom(d.dir) // zeros measure again soon
	used, err := layer.Measure(d.dir, d.most)
	if errors.Is(err, layer.ErrTooDeep) {
		return "its " + layer.ErrTooDeep.Error()
	}
	used.Bytes += deleted(d.init)
	d.used, d.measuredAt = used, time.Now()
	d.took = d.measuredAt.Sub(began)
	switch {
	case err != nil: // it is looked at again
	case used.Over(layer.Usage{Bytes: d.most.Bytes}):
		return fmt.Sprintf("its files took more than the %d MiB that they may", d.most.Bytes>>20)
	case used.Over(layer.Usage{Files: d.most.Files}):
		return fmt.Sprintf("it had more than the %d files that it may", d.most.Files)
	}
	return ""
}

func freeRoom(dir string) (layer.Usage, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return layer.Usage{}, err
	}
	return layer.Usage{Bytes: int64(st.Bfree) * st.Bsize, Files: int64(st.Ffree)}, nil //nolint:gosec // no disk is that large
}

// deleted adds up what files take that have no name any more, but are open in the sandbox whose init
// that is.
func deleted(init int) (bytes int64) {
	seen := map[[2]uint64]bool{}
	for _, pid := range below(init) {
		proc := "/proc/" + strconv.Itoa(pid) + "/fd"
		fds, err := os.ReadDir(proc)
		if err != nil {
			continue // it has ended
		}
		for _, fd := range fds {
			var st unix.Stat_t
			at := proc + "/" + fd.Name()
			if err := unix.Stat(at, &st); err != nil || st.Nlink > 0 || st.Mode&unix.S_IFMT != unix.S_IFREG || seen[[2]uint64{st.Dev, st.Ino}] {
				continue
			}
			var where unix.Statfs_t
			if err := unix.Statfs(at, &where); err != nil || where.Type == unix.TMPFS_MAGIC || where.Type == unix.HUGETLBFS_MAGIC {
				continue // memory, and limited as such
			}
			seen[[2]uint64{st.Dev, st.Ino}] = true
			bytes += st.Blocks * 512
		}
	}
	return bytes
}

// below lists a process and all that descend from it.
func below(pid int) []int {
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		tasks, err := filepath.Glob("/proc/" + strconv.Itoa(all[i]) + "/task/*/children")
		if err != nil {
			continue
		}
		for _, t := range tasks {
			b, err := os.ReadFile(t)
			if err != nil {
				continue
			}
			for f := range strings.FieldsSeq(string(b)) {
				if child, err := strconv.Atoi(f); err == nil {
					all = append(all, child)
				}
			}
		}
	}
	return all
}

// evict ends the sandbox's processes and gives its files' room back. What is left says why.
func (s *keeper) evict(why string) {
	s.mu.Lock()
	s.state.Evicted = why
	s.mu.Unlock()
	_ = s.init.cmd.Process.Kill() // at once, and not when it was asked to end
	s.kill()
	// It gives up its name first: a snapshot that is being made of it notices.
	at := filepath.Join(s.config.Dir, LayerDir)
	gone := filepath.Join(s.config.Dir, ".gone")
	if err := os.Rename(at, gone); err != nil {
		gone = at
	}
	_ = layer.Remove(gone) // else it goes with the sandbox
}
