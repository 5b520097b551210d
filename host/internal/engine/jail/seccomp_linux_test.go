package jail

import (
	"encoding/binary"
	"testing"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

const (
	allow  = int(seccomp.ActionAllow)
	denied = int(seccomp.ActionErrno) | int(unix.EPERM)
	absent = int(seccomp.ActionErrno) | int(unix.ENOSYS)
)

// verdict runs the filters as the kernel does: the strictest answer counts,
// and allowing is the largest number.
func verdict(t testing.TB, progs [][]bpf.Instruction, archID, nr uint32, arg uint64) int {
	t.Helper()
	in := make([]byte, 64)
	for off, v := range map[int]uint32{offNumber: nr, offArch: archID, offArg0: uint32(arg), offArg0 + 4: uint32(arg >> 32)} {
		binary.BigEndian.PutUint32(in[off:], v) // this machine loads network order
	}
	out := allow
	for _, p := range progs {
		vm, err := bpf.NewVM(p)
		if err != nil {
			t.Fatal(err)
		}
		n, err := vm.Run(in)
		if err != nil {
			t.Fatal(err)
		}
		if n != allow && (out == allow || n < out) {
			out = n
		}
	}
	return out
}

func TestFilter(t *testing.T) {
	t.Parallel()
	info, err := arch.GetInfo("")
	if err != nil {
		t.Fatal(err)
	}
	for _, noNetwork := range []bool{false, true} {
		progs, err := buildFilters(filterPolicy{noNetwork: noNetwork})
		if err != nil {
			t.Fatal(err)
		}
		inet := allow
		if noNetwork {
			inet = denied
		}
		for _, c := range []struct {
			call string
			arg  uint64
			want int
		}{
			{"read", 0, allow},
			{"execve", 0, allow},
			{"ptrace", 0, allow},
			{"mount", 0, denied},
			{"umount2", 0, denied},
			{"unshare", 0, denied},
			{"setns", 0, denied},
			{"pivot_root", 0, denied},
			{"bpf", 0, denied},
			{"keyctl", 0, denied},
			{"add_key", 0, denied},
			{"perf_event_open", 0, denied},
			{"open_by_handle_at", 0, denied},
			{"init_module", 0, denied},
			{"kexec_load", 0, denied},
			{"reboot", 0, denied},
			{"fsopen", 0, denied},
			{"move_mount", 0, denied},
			{"userfaultfd", 0, denied},
			{"process_vm_readv", 0, allow},
			{"clone3", 0, absent},
			{"io_uring_setup", 0, absent},
			{"clone", uint64(unix.SIGCHLD), allow},
			{"clone", unix.CLONE_NEWUSER, denied},
			{"clone", unix.CLONE_VM | unix.CLONE_NEWNS, denied},
			{"clone", unix.CLONE_NEWCGROUP, denied},
			{"clone", unix.CLONE_NEWPID | uint64(unix.SIGCHLD), denied},
			{"socket", unix.AF_UNIX, allow},
			{"socket", unix.AF_INET, inet},
			{"socket", unix.AF_INET6, inet},
			{"socket", unix.AF_NETLINK, inet},
			{"socket", unix.AF_VSOCK, denied},
			{"socket", unix.AF_ALG, denied},
			{"socket", 1<<32 | unix.AF_VSOCK, denied},
			{"personality", 0, allow},
			{"personality", 0xffffffff, allow},
			{"personality", 0x0400000, denied},
			// An argument that is a call's number is not that call.
			{"personality", uint64(info.SyscallNames["socket"]), denied},
			{"socket", uint64(info.SyscallNames["read"]), denied},
		} {
			nr, ok := info.SyscallNames[c.call]
			if !ok {
				continue
			}
			if got := verdict(t, progs, uint32(info.ID), uint32(nr|info.SeccompMask), c.arg); got != c.want {
				t.Errorf("%s(%#x), network %v: %#x, want %#x", c.call, c.arg, !noNetwork, got, c.want)
			}
		}
		if got := verdict(t, progs, uint32(info.ID), 9999, 0); got != absent {
			t.Errorf("a call of the future: %#x", got)
		}
		if got := verdict(t, progs, uint32(info.ID)+1, 0, 0); got == allow {
			t.Errorf("another architecture: %#x", got)
		}
		if got := verdict(t, progs, uint32(info.ID), 0x40000000, 0); info.ID == arch.X86_64.ID && got == allow {
			t.Errorf("x32: %#x", got)
		}
	}
}

// FuzzFilter checks that nothing but what is listed passes.
func FuzzFilter(f *testing.F) {
	info, err := arch.GetInfo("")
	if err != nil {
		f.Fatal(err)
	}
	progs, err := buildFilters(filterPolicy{})
	if err != nil {
		f.Fatal(err)
	}
	may := map[uint32]bool{}
	for _, name := range append(allowedCalls(), "clone", "socket", "personality") {
		if nr, ok := info.SyscallNames[name]; ok {
			may[uint32(nr|info.SeccompMask)] = true
		}
	}
	f.Add(uint32(info.ID), uint32(0), uint64(0))
	f.Fuzz(func(t *testing.T, archID, nr uint32, arg uint64) {
		if verdict(t, progs, archID, nr, arg) == allow && (archID != uint32(info.ID) || !may[nr]) {
			t.Errorf("arch %#x, call %d(%#x) passes", archID, nr, arg)
		}
	})
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/etc/shadow": true, "/etc/ssh/ssh_host_rsa_key": true, "/etc/nginx/tls.key": true, "/etc/krb5.keytab": true, "/etc/machine-id": true,
		"/etc/passwd": false, "/etc/ssh/ssh_config": false, "/usr/share/x.key": false, "/etc/keys": false,
	} {
		if IsSecret(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
}
