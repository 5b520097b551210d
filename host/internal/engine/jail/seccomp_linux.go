package jail

import (
	"fmt"
	"slices"
	"unsafe"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// filterPolicy is what varies between filters.
type filterPolicy struct {
	// noNetwork leaves only unix sockets. Sandboxes with a network namespace
	// don't need it.
	noNetwork bool
}

// namespaceFlags are the flags of clone that make namespaces.
const namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
	unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWCGROUP

// buildFilters makes the two programs that stand in a row: a call passes if
// both let it.
//
// The first goes by name alone. Allowed calls pass; calls that are known and
// not allowed fail with EPERM; calls that this table has never heard of, and
// those of another architecture, fail with ENOSYS, so that a newer C library
// falls back.
//
// The second looks at arguments. It is written out here because the library's
// assembler goes on comparing an argument as if it were the call's number
// once a condition has failed.
func buildFilters(p filterPolicy) ([][]bpf.Instruction, error) {
	info, err := arch.GetInfo("")
	if err != nil {
		return nil, fmt.Errorf("building the system call filter: %w", err)
	}
	known := func(names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(n string) bool { _, ok := info.SyscallNames[n]; return !ok })
	}
	allowed, absent := known(append(allowedCalls(), "clone", "socket", "personality")), known(absentCalls())
	var denied []string
	for name := range info.SyscallNames {
		if !slices.Contains(allowed, name) && !slices.Contains(absent, name) {
			denied = append(denied, name)
		}
	}
	slices.Sort(denied)
	policy := seccomp.Policy{
		DefaultAction: seccomp.ActionErrno,
		Syscalls: []seccomp.SyscallGroup{
			{Action: seccomp.ActionAllow, Names: allowed},
			{Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS), Names: absent},
			{Action: seccomp.ActionErrno, Names: denied},
		},
	}
	names, err := policy.Assemble()
	if err != nil {
		return nil, fmt.Errorf("building the system call filter: %w", err)
	}
	names[len(names)-1] = bpf.RetConstant{Val: uint32(seccomp.ActionErrno) | uint32(unix.ENOSYS)}
	return [][]bpf.Instruction{names, arguments(info, p)}, nil
}

// Where the kernel's seccomp_data has what.
const (
	offNumber = 0
	offArch   = 4
	offArg0   = 16 // the lower half of the first argument, little-endian
)

// arguments is the program that looks at the first argument of three calls.
// All three take an int there: the kernel ignores the upper half of it (for
// clone, no flag is in it).
func arguments(info *arch.Info, p filterPolicy) []bpf.Instruction {
	const (
		allow = uint32(seccomp.ActionAllow)
		deny  = uint32(seccomp.ActionErrno) | uint32(unix.EPERM)
	)
	load := func(off uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: off, Size: 4} }
	number := func(name string) uint32 { return uint32(info.SyscallNames[name] | info.SeccompMask) }
	// oneOf lets a call pass whose first argument is among values.
	oneOf := func(call string, values []uint32) []bpf.Instruction {
		out := []bpf.Instruction{load(offArg0)}
		for _, v := range values {
			out = append(out, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: v, SkipTrue: 1}, bpf.RetConstant{Val: allow})
		}
		out = append(out, bpf.RetConstant{Val: deny})
		return append([]bpf.Instruction{
			load(offNumber),
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number(call), SkipTrue: uint8(len(out))},
		}, out...)
	}
	families := []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK, unix.AF_PACKET}
	if p.noNetwork {
		families = []uint32{unix.AF_UNIX}
	}
	prog := []bpf.Instruction{
		load(offArch),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(info.ID), SkipTrue: 1},
		bpf.RetConstant{Val: deny},
		load(offNumber),
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number("clone"), SkipTrue: 4},
		load(offArg0),
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: namespaceFlags, SkipFalse: 1},
		bpf.RetConstant{Val: deny},
		bpf.RetConstant{Val: allow},
	}
	prog = append(prog, oneOf("personality", []uint32{0, 0x8, 0x20000, 0x20008, 0xffffffff})...)
	prog = append(prog, oneOf("socket", families)...)
	return append(prog, bpf.RetConstant{Val: allow})
}

// loadFilter installs the filters on all threads.
func loadFilter(p filterPolicy) error {
	progs, err := buildFilters(p)
	if err != nil {
		return err
	}
	for _, prog := range progs {
		raw, err := bpf.Assemble(prog)
		if err != nil {
			return fmt.Errorf("building the system call filter: %w", err)
		}
		filter := make([]unix.SockFilter, len(raw))
		for i, ins := range raw {
			filter[i] = unix.SockFilter{Code: ins.Op, Jt: ins.Jt, Jf: ins.Jf, K: ins.K}
		}
		fprog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
		_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&fprog)))
		if errno != 0 {
			return fmt.Errorf("installing the system call filter: %w", errno)
		}
	}
	return nil
}
