package shim

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/alineo-labs/alineo-host/host/internal/engine/jail"
)

// prepare makes the shim the reaper of whatever a sandbox without a process
// namespace leaves behind.
func (s *keeper) prepare() error {
	if s.seed.Level == jail.Namespaces {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("becoming the reaper of the sandbox: %w", err)
	}
	return nil
}

// namespaces are those that an init is started in.
func namespaces(s Seed) (*syscall.SysProcAttr, error) {
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
	if s.Level != jail.Namespaces {
		return attr, nil
	}
	attr.Cloneflags = unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWCGROUP
	if !s.UserNamespace {
		return attr, nil
	}
	attr.Cloneflags |= unix.CLONE_NEWUSER
	if os.Geteuid() != 0 {
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
		return attr, nil
	}
	var err error
	if attr.UidMappings, err = identity("/proc/self/uid_map"); err != nil {
		return nil, err
	}
	if attr.GidMappings, err = identity("/proc/self/gid_map"); err != nil {
		return nil, err
	}
	attr.GidMappingsEnableSetgroups = true
	return attr, nil
}

// identity maps every id that exists here to itself.
func identity(path string) ([]syscall.SysProcIDMap, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading own id map: %w", err)
	}
	var out []syscall.SysProcIDMap
	for line := range strings.SplitSeq(strings.TrimSpace(string(b)), "\n") {
		f := strings.Fields(line)
		if len(f) != 3 {
			return nil, fmt.Errorf("reading own id map: %q", line)
		}
		first, err1 := strconv.Atoi(f[0])
		size, err2 := strconv.Atoi(f[2])
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("reading own id map: %q", line)
		}
		out = append(out, syscall.SysProcIDMap{ContainerID: first, HostID: first, Size: size})
	}
	return out, nil
}

// sweep kills what was re-parented to us. It is called when the init has been
// waited for, so every child there is was the sandbox's.
func (p *initProcess) sweep() {
	if p.level == jail.Namespaces {
		return
	}
	for {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return
		}
		found := false
		for _, t := range tasks {
			b, err := os.ReadFile("/proc/self/task/" + t.Name() + "/children")
			if err != nil {
				continue
			}
			for f := range strings.FieldsSeq(string(b)) {
				pid, err := strconv.Atoi(f)
				if err != nil {
					continue
				}
				found = true
				_ = unix.Kill(pid, unix.SIGKILL)
				_, _ = unix.Wait4(pid, nil, 0, nil)
			}
		}
		if !found {
			return
		}
	}
}
