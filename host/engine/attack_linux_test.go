package engine_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

// attempt is one try to get out; nil means that it succeeded.
type attempt struct {
	name string
	try  func() error
}

// attack makes every attempt and says what came of each, one a line.
func attack() int {
	for _, list := range [][]attempt{mountAttempts(), processAttempts(), kernelAttempts(), fileAttempts(), networkAttempts()} {
		for _, a := range list {
			if err := a.try(); err != nil {
				fmt.Printf("refused\t%s\t%v\n", a.name, err)
				continue
			}
			fmt.Printf("OPEN\t%s\n", a.name)
		}
	}
	fmt.Println("done")
	return 0
}

// call makes a system call by number, with harmless arguments.
func call(name string, number uintptr, args ...uintptr) attempt {
	return attempt{name, func() error {
		var a [6]uintptr
		copy(a[:], args)
		r, _, errno := unix.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
		if errno == 0 {
			_ = unix.Close(int(r)) // most make a descriptor
			return nil
		}
		if errno != unix.EPERM && errno != unix.ENOSYS && errno != unix.EACCES {
			// It got further than the filter, which says nothing about what it would do with better
			// arguments.
			fmt.Printf("OPEN\t%s\tlet through: %v\n", name, errno)
		}
		return errno
	}}
}

func text(s string) uintptr {
	b := append([]byte(s), 0)
	return uintptr(unsafe.Pointer(&b[0])) //nolint:gosec // stays reachable long enough for a raw call
}

func mountAttempts() []attempt {
	remount := func(path string) attempt {
		return attempt{"writable again: " + path, func() error { return unix.Mount("", path, "", unix.MS_REMOUNT|unix.MS_BIND, "") }}
	}
	return []attempt{
		{"mount tmpfs", func() error { return unix.Mount("none", "/mnt", "tmpfs", 0, "") }},
		{"mount proc", func() error { return unix.Mount("none", "/mnt", "proc", 0, "") }},
		{"bind /", func() error { return unix.Mount("/", "/mnt", "", unix.MS_BIND, "") }},
		{"unmount a mask", func() error { return unix.Unmount("/proc/keys", unix.MNT_DETACH) }},
		{"unmount /proc/sys", func() error { return unix.Unmount("/proc/sys", unix.MNT_DETACH) }},
		{"unmount /", func() error { return unix.Unmount("/", unix.MNT_DETACH) }},
		remount("/proc/sys"), remount("/sys"), remount("/"),
		call("pivot_root", unix.SYS_PIVOT_ROOT, text("/"), text("/")),
		call("open_tree", unix.SYS_OPEN_TREE, ^uintptr(99), text("/"), 1),
		call("move_mount", unix.SYS_MOVE_MOUNT, 0, text(""), 0, text("/mnt"), 4),
		call("fsopen", unix.SYS_FSOPEN, text("tmpfs"), 0),
		call("fspick", unix.SYS_FSPICK, ^uintptr(99), text("/"), 0),
		call("mount_setattr", unix.SYS_MOUNT_SETATTR, ^uintptr(99), text("/"), 0, 0, 0),
	}
}

func processAttempts() []attempt {
	all := []attempt{
		{"ptrace attach init", func() error { return unix.PtraceAttach(1) }},
		{"ptrace seize init", func() error { return unix.PtraceSeize(1) }},
		{"read init's memory", func() error { return readOne("/proc/1/mem") }},
		{"init's program", func() error { return readOne("/proc/1/exe") }},
		{"init's maps", func() error { return readOne("/proc/1/maps") }},
		{"init's environment", func() error { return readOne("/proc/1/environ") }},
		{"init's stack", func() error { return readOne("/proc/1/stack") }},
		{"init's root", func() error { _, err := os.ReadDir("/proc/1/root/"); return err }},
		{"init's directory", func() error { _, err := os.ReadDir("/proc/1/cwd/"); return err }},
		{"init's descriptors", func() error {
			// That they are there can be seen; what they are must not.
			all, err := os.ReadDir("/proc/1/fd")
			for _, e := range all {
				if _, err = os.Readlink("/proc/1/fd/" + e.Name()); err == nil {
					return nil
				}
			}
			return err
		}},
		{"process_vm_readv of init", func() error {
			b := make([]byte, 8)
			_, err := unix.ProcessVMReadv(1, []unix.Iovec{{Base: &b[0], Len: 8}}, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
			return err
		}},
		{"process_vm_writev of init", func() error {
			b := make([]byte, 8)
			_, err := unix.ProcessVMWritev(1, []unix.Iovec{{Base: &b[0], Len: 8}}, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
			return err
		}},
		{"take init's descriptor", func() error {
			p, err := unix.PidfdOpen(1, 0)
			if err != nil {
				return err
			}
			_, err = unix.PidfdGetfd(p, 0, 0)
			return err
		}},
		call("kcmp", unix.SYS_KCMP, 1, 1, 0, 0, 0),
		call("setns", unix.SYS_SETNS, 0, 0),
		call("clone3 with a user namespace", unix.SYS_CLONE3, 0, 0),
		{"capabilities regained", func() error {
			h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
			d := [2]unix.CapUserData{{Effective: 1 << unix.CAP_SYS_ADMIN, Permitted: 1 << unix.CAP_SYS_ADMIN}}
			return unix.Capset(&h, &d[0])
		}},
		{"no_new_privs undone", func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) }},
		{"real-time priority", func() error {
			return unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0)
		}},
		{"a better priority", func() error { return unix.Setpriority(unix.PRIO_PROCESS, 0, -5) }},
		{"a better place before the OOM killer", func() error { return os.WriteFile("/proc/self/oom_score_adj", []byte("-1000"), 0) }},
		{"signal to a process of the machine's", func() error { return unix.Kill(hostPid(), 0) }},
	}
	for name, flag := range map[string]int{
		"user": unix.CLONE_NEWUSER, "mnt": unix.CLONE_NEWNS, "pid": unix.CLONE_NEWPID, "net": unix.CLONE_NEWNET,
		"uts": unix.CLONE_NEWUTS, "ipc": unix.CLONE_NEWIPC, "cgroup": unix.CLONE_NEWCGROUP, "time": unix.CLONE_NEWTIME,
	} {
		all = append(all, attempt{"unshare " + name, func() error { return unix.Unshare(flag) }}, attempt{"enter init's " + name, func() error {
			f, err := os.Open("/proc/1/ns/" + name)
			if err != nil {
				return err
			}
			return unix.Setns(int(f.Fd()), flag)
		}}, attempt{"the machine's own " + name, func() error { return sameNamespace(name) }})
		if flag == unix.CLONE_NEWTIME {
			continue // no flag of clone
		}
		all = append(all, attempt{"clone with " + name, func() error {
			p, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{Sys: &syscall.SysProcAttr{Cloneflags: uintptr(flag)}})
			if err == nil {
				_, _ = p.Wait()
			}
			return err
		}})
	}
	return all
}

// hostPid is a process of the machine's, by the number that it has there.
func hostPid() int {
	var pid int
	_, _ = fmt.Sscan(os.Getenv("ATTACK_PID"), &pid)
	return max(pid, 2)
}

// sameNamespace compares ours with the machine's, whose is in the environment.
func sameNamespace(name string) error {
	own, err := os.Readlink("/proc/self/ns/" + name)
	if err != nil {
		return err
	}
	if name == "time" || !strings.Contains(os.Getenv("ATTACK_NAMESPACES"), own) {
		return errors.New("it is another") // or, for time, no wall
	}
	return nil
}

func kernelAttempts() []attempt {
	all := []attempt{
		call("kexec_load", unix.SYS_KEXEC_LOAD), call("init_module", unix.SYS_INIT_MODULE), call("finit_module", unix.SYS_FINIT_MODULE),
		call("delete_module", unix.SYS_DELETE_MODULE, text("none"), 0), call("bpf", unix.SYS_BPF, 5, 0, 0),
		call("perf_event_open", unix.SYS_PERF_EVENT_OPEN, 0, 0, ^uintptr(0), ^uintptr(0), 0), call("userfaultfd", unix.SYS_USERFAULTFD, 0),
		call("userfaultfd for user mode", unix.SYS_USERFAULTFD, 1), call("io_uring_setup", unix.SYS_IO_URING_SETUP, 8, 0),
		call("keyctl", unix.SYS_KEYCTL, 0, ^uintptr(2), 1), call("add_key", unix.SYS_ADD_KEY, text("user"), text("x"), text("x"), 1, ^uintptr(2)),
		call("request_key", unix.SYS_REQUEST_KEY, text("user"), text("x"), 0, 0), call("open_by_handle_at", unix.SYS_OPEN_BY_HANDLE_AT, 0, 0, 0),
		call("fanotify_init", unix.SYS_FANOTIFY_INIT, 0, 0), call("quotactl", unix.SYS_QUOTACTL), call("swapon", unix.SYS_SWAPON, text("/x"), 0),
		call("acct", unix.SYS_ACCT, text("/x")), call("syslog", unix.SYS_SYSLOG, 3, text("xxxxxxxx"), 8), call("vhangup", unix.SYS_VHANGUP),
		call("sethostname", unix.SYS_SETHOSTNAME, text("x"), 1), call("setdomainname", unix.SYS_SETDOMAINNAME, text("x"), 1),
		// With a wrong magic number it would do nothing if it were let through.
		call("reboot", unix.SYS_REBOOT, 0, 0, 0), call("lsm_set_self_attr", 460),
		{"set the clock", func() error { return unix.ClockSettime(unix.CLOCK_REALTIME, &unix.Timespec{Sec: -1}) }},
		{"steer the clock", func() error {
			_, err := unix.ClockAdjtime(unix.CLOCK_REALTIME, &unix.Timex{Modes: unix.ADJ_TICK, Tick: 10000})
			return err
		}},
	}
	for _, p := range []string{
		"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/vm/drop_caches", "/proc/sys/net/ipv4/ip_forward", "/proc/sysrq-trigger",
		"/proc/dynamic_debug/control", "/proc/irq/default_smp_affinity", "/proc/latency_stats", "/proc/mtrr", "/sys/kernel/uevent_helper", "/sys/power/state",
		"/sys/kernel/mm/transparent_hugepage/enabled", "/sys/block", "/sys/module/kernel/parameters/panic",
	} {
		all = append(all, attempt{"open to write " + p, func() error {
			f, err := os.OpenFile(p, os.O_WRONLY, 0)
			if err == nil {
				_ = f.Close()
			}
			return err
		}})
	}
	return all
}

func readOne(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	n, err := f.Read(make([]byte, 1))
	if n == 0 && err == nil {
		err = errors.New("it is empty")
	}
	return err
}

func fileAttempts() []attempt {
	var all []attempt
	// Nodes of the machine's: changing one here would change it there. Nothing is changed, in case
	// that it is let through.
	nodes := []string{"/proc/keys", "/proc/kcore", "/proc/timer_list"}
	for _, n := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		nodes = append(nodes, "/dev/"+n)
	}
	for _, n := range nodes {
		st, err := os.Stat(n)
		if err != nil {
			continue
		}
		all = append(all,
			attempt{"mode of " + n, func() error { return unix.Chmod(n, uint32(st.Mode().Perm())) }},
			attempt{"times of " + n, func() error { return os.Chtimes(n, time.Time{}, st.ModTime()) }},
			attempt{"attribute of " + n, func() error { return unix.Setxattr(n, "user.x", nil, 0) }})
	}
	// A file of the kernel's that its owner may write to, whoever that is here.
	for _, root := range []string{"/proc", "/sys"} {
		_ = filepath.WalkDir(root, func(p string, e os.DirEntry, err error) error {
			first, _, _ := strings.Cut(strings.TrimPrefix(p, "/proc/"), "/")
			switch {
			case err != nil || strings.Count(p, "/") > 6:
				return filepath.SkipDir
			case root == "/proc" && e.IsDir() && (strings.Trim(first, "0123456789") == "" || first == "self" || first == "thread-self"):
				return filepath.SkipDir
			case strings.HasPrefix(p, "/proc/pressure/"), !e.Type().IsRegular():
				return nil // everybody may ask to be told of pressure
			case unix.Access(p, unix.W_OK) == nil:
				all = append(all, attempt{"write to " + p, func() error { return nil }})
			}
			return nil
		})
	}
	device := func(name string, mode uint32, major, minor uint32) attempt {
		return attempt{name, func() error {
			at := "/workspace/node"
			defer func() { _ = os.Remove(at) }()
			if err := unix.Mknod(at, mode|0o666, int(unix.Mkdev(major, minor))); err != nil {
				return err
			}
			return readOne(at)
		}}
	}
	link := func(name, target string) attempt {
		return attempt{name, func() error {
			at := "/workspace/link"
			defer func() { _ = os.Remove(at) }()
			if err := os.Symlink(target, at); err != nil {
				return err
			}
			return readOne(at)
		}}
	}
	secret := os.Getenv("ATTACK_FILE")
	return append(all,
		device("a disk", unix.S_IFBLK, 254, 0), device("another disk", unix.S_IFBLK, 8, 0), device("memory", unix.S_IFCHR, 1, 1),
		device("kmsg", unix.S_IFCHR, 1, 11), device("fuse", unix.S_IFCHR, 10, 229),
		link("the machine's file by a link", secret), link("by links of /proc", "/proc/self/root/../../.."+secret),
		link("by the init's root", "/proc/1/root"+secret), link("by dots", strings.Repeat("../", 40)+secret),
		link("the engine's socket", os.Getenv("ATTACK_ENGINE")),
		attempt{"out of a second chroot", func() error { return chrootOut(secret) }},
		attempt{"immutable", func() error {
			f, err := os.Create("/workspace/immutable")
			if err != nil {
				return err
			}
			defer func() { _ = f.Close() }()
			return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, 0x10)
		}},
		attempt{"trusted attributes", func() error { return unix.Setxattr("/workspace", "trusted.overlay.opaque", []byte("y"), 0) }},
		attempt{"hashes of passwords", func() error { return readOne("/etc/shadow") }},
	)
}

// chrootOut is the old trick: a directory that stays open outside of the new root.
func chrootOut(secret string) error {
	if err := os.MkdirAll("/workspace/jail", 0o755); err != nil {
		return err
	}
	root, err := unix.Open("/", unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	if err := unix.Chroot("/workspace/jail"); err != nil {
		return err
	}
	if err := unix.Fchdir(root); err != nil {
		return err
	}
	for range 64 {
		if err := unix.Chdir(".."); err != nil {
			return err
		}
	}
	if err := unix.Chroot("."); err != nil {
		return err
	}
	return readOne(secret)
}

// exchange sends a packet and judges what comes back.
func exchange(network, to string, packet []byte, judge func([]byte) error) error {
	c, err := net.DialTimeout(network, to, 5*time.Second)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(time.Second)) // most never answer
	if network == "tcp" {
		_ = c.SetDeadline(time.Now().Add(5 * time.Second))
		packet = append(binary.BigEndian.AppendUint16(nil, uint16(len(packet))), packet...)
	}
	if _, err := c.Write(packet); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, err := c.Read(answer)
	if err != nil {
		return err
	}
	if network == "tcp" {
		if n == 2 {
			m, _ := c.Read(answer[n:])
			n += m
		}
		return judge(answer[min(n, 2):n])
	}
	return judge(answer[:n])
}

// askName asks a name server for the address of a name that leads to what no sandbox may reach.
func askName(network, server, name string) error {
	n, err := dnsmessage.NewName(name)
	if err != nil {
		return err
	}
	q := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 7, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: n, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}},
	}
	packet, err := q.Pack()
	if err != nil {
		return err
	}
	return exchange(network, server, packet, func(answer []byte) error {
		var m dnsmessage.Message
		if err := m.Unpack(answer); err != nil {
			return err
		}
		if len(m.Answers) == 0 {
			return fmt.Errorf("no address: %v", m.RCode)
		}
		return nil
	})
}

func networkAttempts() []attempt {
	var all []attempt
	for name, family := range map[string]int{
		"vsock": unix.AF_VSOCK, "alg": unix.AF_ALG, "key": unix.AF_KEY, "xdp": unix.AF_XDP, "bluetooth": unix.AF_BLUETOOTH, "can": unix.AF_CAN,
		"tipc": unix.AF_TIPC, "rds": unix.AF_RDS, "qipcrtr": unix.AF_QIPCRTR, "rxrpc": unix.AF_RXRPC, "smc": unix.AF_SMC, "ax25": unix.AF_AX25,
	} {
		all = append(all, attempt{"socket of family " + name, func() error {
			fd, err := unix.Socket(family, unix.SOCK_DGRAM, 0)
			if err == nil {
				_ = unix.Close(fd)
			}
			return err
		}})
	}
	for a := range strings.FieldsSeq(os.Getenv("ATTACK_TCP")) {
		all = append(all, attempt{"TCP to " + a, func() error {
			c, err := net.DialTimeout("tcp", a, 10*time.Second)
			if err != nil {
				return err
			}
			defer func() { _ = c.Close() }()
			_ = c.SetDeadline(time.Now().Add(10 * time.Second))
			if _, err := c.Write([]byte("GET / HTTP/1.0\r\n\r\n")); err != nil {
				return err
			}
			_, err = c.Read(make([]byte, 1))
			return err // an answer is what counts: the way out takes connections before it judges them
		}})
	}
	for a := range strings.FieldsSeq(os.Getenv("ATTACK_UNIX")) {
		all = append(all, attempt{"unix socket " + a, func() error {
			c, err := net.Dial("unix", a)
			if err == nil {
				_ = c.Close()
			}
			return err
		}})
	}
	for a := range strings.FieldsSeq(os.Getenv("ATTACK_UDP")) {
		all = append(all, attempt{"UDP to " + a, func() error { return exchange("udp", a, []byte("hello"), func([]byte) error { return nil }) }})
	}
	for _, server := range []string{"198.18.0.1:53", "8.8.8.8:53", "127.0.0.1:53", "127.0.0.53:53", "169.254.169.253:53", "192.168.0.1:53"} {
		for name := range strings.FieldsSeq(os.Getenv("ATTACK_NAMES")) {
			for _, by := range []string{"udp", "tcp"} {
				all = append(all, attempt{fmt.Sprintf("%s by %s from %s", name, by, server), func() error { return askName(by, server, name) }})
			}
		}
	}
	return append(all,
		attempt{"a device", func() error { return netlink.LinkAdd(&netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Name: "x"}}) }},
		attempt{"an address", func() error {
			lo, err := netlink.LinkByName("lo")
			if err != nil {
				return err
			}
			return netlink.AddrAdd(lo, &netlink.Addr{IPNet: &net.IPNet{IP: net.IPv4(10, 9, 9, 9), Mask: net.CIDRMask(32, 32)}})
		}},
		attempt{"a tunnel", func() error {
			return netlink.LinkAdd(&netlink.Tuntap{LinkAttrs: netlink.LinkAttrs{Name: "t"}, Mode: netlink.TUNTAP_MODE_TUN})
		}},
		attempt{"a device beside loopback", func() error {
			all, err := net.Interfaces()
			if err == nil && len(all) < 2 {
				err = errors.New("there is none")
			}
			return err
		}},
	)
}
