package jail

import (
	"fmt"
	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// keptCaps are the capabilities of a sandbox's root: those that Docker leaves.
// SYS_PTRACE is not among them: with it a process could read the init's
// memory and descriptors.
func keptCaps() uint64 {
	var set uint64
	for _, c := range []uint{
		unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_KILL, unix.CAP_SETGID,
		unix.CAP_SETUID, unix.CAP_SETPCAP, unix.CAP_NET_BIND_SERVICE, unix.CAP_NET_RAW, unix.CAP_SYS_CHROOT,
		unix.CAP_MKNOD, unix.CAP_AUDIT_WRITE, unix.CAP_SETFCAP,
	} {
		set |= 1 << c
	}
	return set
}

// harden takes from this process what a sandbox must not have. Its order matters: each step needs what the next one takes.
func harden(spec *Spec, rules []landlock.Rule, policy filterPolicy) error {
	if err := dropCaps(keptCaps()); err != nil {
		return err
	}
	if err := allThreads(unix.PR_SET_NO_NEW_PRIVS, 1, 0); err != nil {
		return fmt.Errorf("setting no_new_privs: %w", err)
	}
	if spec.Landlock {
		if err := restrictPaths(rules, spec.Level == Reduced); err != nil {
			return err
		}
	}
	if err := loadFilter(policy); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("becoming undumpable: %w", err)
	}
	return nil
}

// allThreads runs prctl on every thread: capabilities and no_new_privs belong
// to threads, and a command is forked from any of them.
func allThreads(option, a, b uintptr) error {
	if _, _, errno := psx.Syscall6(unix.SYS_PRCTL, option, a, b, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// dropCaps cuts the bounding set of this thread, from which alone commands are
// started, and the capabilities of all. (The bounding set matters only when a
// program is executed, no_new_privs makes it the second wall there, and
// cutting it on every thread takes milliseconds.)
func dropCaps(keep uint64) error {
	have, err := capget()
	if err != nil {
		return err
	}
	if have.effective&(1<<unix.CAP_SETPCAP) != 0 {
		for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
			in, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0)
			if err != nil {
				break // beyond what this kernel knows
			}
			if in == 0 || keep&(1<<c) != 0 {
				continue
			}
			if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
				return fmt.Errorf("dropping capability %d from the bounding set: %w", c, err)
			}
		}
	}
	left := have.permitted & keep
	if err := capset(capSets{effective: left, permitted: left}); err != nil {
		return fmt.Errorf("dropping capabilities: %w", err)
	}
	return nil
}

type capSets struct{ effective, permitted, inheritable uint64 }

func capget() (capSets, error) {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return capSets{}, fmt.Errorf("reading capabilities: %w", err)
	}
	join := func(lo, hi uint32) uint64 { return uint64(lo) | uint64(hi)<<32 }
	return capSets{
		effective:   join(data[0].Effective, data[1].Effective),
		permitted:   join(data[0].Permitted, data[1].Permitted),
		inheritable: join(data[0].Inheritable, data[1].Inheritable),
	}, nil
}

func capset(s capSets) error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	data[0] = unix.CapUserData{Effective: uint32(s.effective), Permitted: uint32(s.permitted), Inheritable: uint32(s.inheritable)}
	data[1] = unix.CapUserData{Effective: uint32(s.effective >> 32), Permitted: uint32(s.permitted >> 32), Inheritable: uint32(s.inheritable >> 32)}
	_, _, errno := psx.Syscall3(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&hdr)), uintptr(unsafe.Pointer(&data[0])), 0)
	if errno != 0 {
		return errno
	}
	return nil
}
