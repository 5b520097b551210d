package jail

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// Enter puts this process into the sandbox that spec describes. The caller
// runs locked to a thread, from which alone it starts processes afterwards.
// network is called in a network namespace of its own, once loopback is up and
// while this process still may change it; nil leaves it at that.
func Enter(spec *Spec, network func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	unix.Umask(0o022)
	switch spec.Level {
	case Namespaces:
		return enterNamespaces(spec, network)
	case Reduced:
		return enterReduced(spec)
	case None:
		return enterDirectory(spec)
	}
	return fmt.Errorf("entering the sandbox: unknown isolation level %q", spec.Level)
}

func enterNamespaces(spec *Spec, network func() error) error {
	if err := buildRoot(spec); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(spec.Hostname)); err != nil {
		return fmt.Errorf("setting the host name: %w", err)
	}
	if err := loopbackUp(); err != nil {
		return err
	}
	if network != nil {
		if err := network(); err != nil {
			return err
		}
	}
	if err := maskKernel(); err != nil {
		return err
	}
	if err := setLimits(spec); err != nil {
		return err
	}
	return harden(spec, rootRules(), filterPolicy{})
}

func enterReduced(spec *Spec) error {
	dir := filepath.Join(spec.DataDir, spec.Upper)
	if err := enterDirectory(spec); err != nil {
		return err
	}
	if err := setLimits(spec); err != nil {
		return err
	}
	// The children of a reduced sandbox find a new parent here and not at the
	// machine's init, so that none escapes the end of the sandbox.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("becoming the reaper of the sandbox: %w", err)
	}
	rules, err := reducedRules(dir)
	if err != nil {
		return err
	}
	return harden(spec, rules, filterPolicy{noNetwork: true})
}

func enterDirectory(spec *Spec) error {
	if err := os.Chdir(filepath.Join(spec.DataDir, spec.Upper, WorkDir)); err != nil {
		return fmt.Errorf("entering the working directory: %w", err)
	}
	return nil
}

// oomScore makes the kernel, when memory runs out, end a sandbox's processes before its init, and
// before the machine's own.
const oomScore = "300"

// Limit bounds the memory of a process that has just been started and of
// those that it will start. The init itself can't live with such a limit:
// its runtime claims more than it uses.
func Limit(spec *Spec, pid int) {
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte(oomScore), 0) // it may have ended
	if spec.MaxMemory > 0 {
		l := unix.Rlimit{Cur: spec.MaxMemory, Max: spec.MaxMemory}
		_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &l, nil) // it may have ended
	}
}

// politeness is the nice value of what runs in a sandbox whose use of processors nothing bounds.
const politeness = 5

// giveWay makes what this thread starts go after the machine's own processes, which a bomb of forks
// would otherwise make wait. Nobody in a sandbox can take it back. Where sessions are scheduled as
// groups, values count within the group alone, so it has one too. The kernel may refuse: it is a kindness.
func giveWay() {
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, politeness)
	_ = os.WriteFile("/proc/self/autogroup", []byte(strconv.Itoa(politeness)), 0)
}

// setLimits sets the soft limits that stand in for control groups.
func setLimits(spec *Spec) error {
	if spec.MaxProcesses > 0 {
		l := unix.Rlimit{Cur: spec.MaxProcesses, Max: spec.MaxProcesses}
		if err := unix.Setrlimit(unix.RLIMIT_NPROC, &l); err != nil {
			return fmt.Errorf("limiting processes: %w", err)
		}
	}
	if spec.Polite {
		giveWay()
	}
	// 1 and not 0: with 0 the machine's core dump program would still be run,
	// as the machine's root, for every crash in here.
	none := unix.Rlimit{Cur: 1, Max: 1}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &none); err != nil {
		return fmt.Errorf("turning core dumps off: %w", err)
	}
	return nil
}
