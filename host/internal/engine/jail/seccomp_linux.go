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

// buildFilter makes the program. Allowed calls pass; calls that are known and
// not allowed fail with EPERM; calls that this table has never heard of fail
// with ENOSYS, so that a newer C library falls back.
func buildFilter(p filterPolicy) ([]bpf.Instruction, error) {
	info, err := arch.GetInfo("")
	if err != nil {
		return nil, fmt.Errorf("building the system call filter: %w", err)
	}
	known := func(names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(n string) bool { _, ok := info.SyscallNames[n]; return !ok })
	}
	allowed, absent := known(allowedCalls()), known(absentCalls())
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
			{Action: seccomp.ActionAllow, Names: allowed, NamesWithCondtions: conditional(p)},
			{Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS), Names: absent},
			{Action: seccomp.ActionErrno, Names: denied},
		},
	}
	policy.Syscalls[2].Names = slices.DeleteFunc(policy.Syscalls[2].Names, isConditional)
	policy.Syscalls = append(policy.Syscalls, seccomp.SyscallGroup{Action: seccomp.ActionErrno, Names: known([]string{"clone", "socket", "personality"})})
	prog, err := policy.Assemble()
	if err != nil {
		return nil, fmt.Errorf("building the system call filter: %w", err)
	}
	prog[len(prog)-1] = bpf.RetConstant{Val: uint32(seccomp.ActionErrno) | uint32(unix.ENOSYS)}
	return prog, nil
}

func isConditional(name string) bool {
	return name == "clone" || name == "socket" || name == "personality"
}

// conditional are calls that are allowed with some arguments.
func conditional(p filterPolicy) []seccomp.NameWithConditions {
	when := func(name string, arg uint32, op seccomp.Operation, v uint64) seccomp.NameWithConditions {
		return seccomp.NameWithConditions{Name: name, Conditions: seccomp.ArgumentConditions{{Argument: arg, Operation: op, Value: v}}}
	}
	rules := []seccomp.NameWithConditions{when("clone", 0, seccomp.BitsNotSet, namespaceFlags)}
	for _, persona := range []uint64{0, 0x8, 0x20000, 0x20008, 0xffffffff} {
		rules = append(rules, when("personality", 0, seccomp.Equal, persona))
	}
	families := []uint64{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK, unix.AF_PACKET}
	if p.noNetwork {
		families = []uint64{unix.AF_UNIX}
	}
	for _, f := range families {
		rules = append(rules, when("socket", 0, seccomp.Equal, f))
	}
	return rules
}

// loadFilter installs the filter on all threads.
func loadFilter(p filterPolicy) error {
	prog, err := buildFilter(p)
	if err != nil {
		return err
	}
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
	return nil
}
