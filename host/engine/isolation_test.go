package engine_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/alineo-labs/alineo-host/host/engine"
)

// TestWalls tries to get out, or to see out.
func TestWalls(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)

	home := t.TempDir()
	secret := filepath.Join(home, "secret")
	if err := os.WriteFile(secret, []byte("canary"), 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	abstract, err := net.Listen("unix", "@alineo-host-test-"+filepath.Base(filepath.Dir(home)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = abstract.Close() }()

	for _, c := range []struct{ name, command string }{
		{"password hashes", "cat /etc/shadow /etc/gshadow /etc/shadow- 2>/dev/null"},
		{"host keys", "ls /etc/ssh/ssh_host_* 2>/dev/null"},
		{"private keys", "ls -A /etc/ssl/private 2>/dev/null"},
		{"sudo's rules", "cat /etc/sudoers 2>/dev/null"},
		{"files only root may read", "find /etc /var /opt /srv -xdev ! -perm -o=r ! -type l -type f 2>/dev/null | head"},
		{"the engine's home", "ls -A /root /home"},
		{"the host's /tmp", "ls -A /tmp /var/tmp; cat " + secret + " 2>/dev/null"},
		{"the data directory", "ls " + e.dir + " 2>/dev/null"},
		{"other processes", `for p in /proc/[0-9]*; do tr '\0' ' ' < $p/cmdline 2>/dev/null; done | grep -v -e tail -e init -e bash -e tr`},
		{"mounting", "mount -t tmpfs none /mnt 2>/dev/null && echo mounted"},
		{"remounting /proc/sys", "mount -o remount,rw /proc/sys 2>/dev/null && echo mounted"},
		{"unmounting a mask", "umount /proc/keys 2>/dev/null && echo unmounted"},
		{"writing sysctls", "echo 1 2>/dev/null > /proc/sys/kernel/core_pattern && echo written"},
		{"writing sysrq", "echo h 2>/dev/null > /proc/sysrq-trigger && echo written"},
		{"writing sysfs", "echo x 2>/dev/null > /sys/kernel/uevent_helper && echo written"},
		{"new namespaces", "unshare -U true 2>/dev/null && echo unshared; unshare -n true 2>/dev/null && echo unshared"},
		{"the init's program", "cat /proc/1/exe 2>/dev/null | head -c 4"},
		{"the init's memory", "head -c 1 /proc/1/mem 2>/dev/null; cat /proc/1/maps 2>/dev/null; cat /proc/1/environ 2>/dev/null"},
		{"the init's descriptors", "readlink /proc/1/fd/* 2>/dev/null; cat /proc/1/fd/* 2>/dev/null; ls /proc/1/root/ 2>/dev/null; ls /proc/1/cwd/ 2>/dev/null"},
		{"tracing the init", "command -v gdb >/dev/null && gdb -p 1 -batch 2>&1 | grep -c 'Attaching.*success'; command -v strace >/dev/null && timeout 1 strace -p 1 2>&1 | grep attached"},
		{"descriptors from outside", "ls -l /proc/self/fd | grep -v -e pipe: -e null -e /proc/ -e total"},
		{"devices", "ls -A /dev | grep -v -x -e null -e zero -e full -e random -e urandom -e tty -e pts -e ptmx -e shm -e fd -e stdin -e stdout -e stderr"},
		{"making devices", "mknod /tmp/vda b 254 0 2>/dev/null && cat /tmp/vda"},
		{"interfaces", "tail -n +3 /proc/net/dev | grep -v lo:"},
		{"the host's loopback", "bash -c '(exec 3<>/dev/tcp/127.0.0.1/" + port + ") 2>/dev/null && echo connected'"},
		{"anything beyond", "bash -c '(exec 3<>/dev/tcp/10.255.255.254/80 && echo hello >&3 && cat <&3) 2>/dev/null && echo answered'"},
		{"the host's abstract sockets", "grep alineo-host-test /proc/net/unix"},
		{"setuid programs", "cp /usr/bin/id /tmp/id && chmod u+s /tmp/id; grep NoNewPrivs /proc/self/status | grep -v 1$"},
		{"capabilities", "grep CapBnd /proc/self/status | grep -v 00000000a80425fb; grep CapEff /proc/self/status | grep -v 00000000a80425fb"},
		{"the kernel's log", "dmesg 2>/dev/null | head -1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := (&testBox{e: &testEngine{t, e.Engine, e.dir}, ID: box.ID}).run(c.command)
			out := strings.TrimSpace(r.Stdout)
			for _, empty := range []string{"/home:\n\n/root:", "/root:\n\n/home:", "/tmp:\n\n/var/tmp:"} {
				if out == empty {
					out = ""
				}
			}
			if out != "" && out != "0" {
				t.Errorf("%s: %s", c.command, out)
			}
		})
	}
	// None of that has hurt the init.
	if got := box.must("kill -KILL 1; kill -TERM 1; kill -SEGV 1; kill -INT 1; kill -STOP 1; echo $$ > /dev/null; echo alive"); got != "alive\n" {
		t.Errorf("after signals to the init: %q", got)
	}
	if got := box.must("hostname; cat /etc/hostname"); got != "sandbox\nsandbox\n" {
		t.Errorf("host name: %q", got)
	}
}

// TestWithoutUserNamespace runs root's sandboxes without one.
func TestWithoutUserNamespace(t *testing.T) {
	t.Parallel()
	if ordinaryUser() {
		t.Skip("only root can do without")
	}
	e := openEngine(t, engine.Options{DataDir: t.TempDir(), NoUserNamespace: true})
	box := e.create(nil)
	for command, want := range map[string]string{
		"cut -c1-10 /proc/self/uid_map | tr -d ' \\n'":                           "0",
		"cat /etc/shadow 2>&1 | grep -c No":                                      "1",
		"grep CapEff /proc/self/status | cut -f2":                                "00000000a80425fb",
		"mknod /tmp/vda b 254 0 && cat /tmp/vda 2>&1 | grep -c denied":           "1",
		"mount -t tmpfs none /mnt 2>&1 | grep -c -i 'permi\\|denied'":            "1",
		"rm -rf /usr/share/doc; mkdir /usr/share/doc; ls /usr/share/doc | wc -l": "0",
	} {
		if got := strings.TrimSpace(box.run(command).Stdout); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
	box.delete()
	assertGone(t, e, box.ID)
}

// TestPtraceOfInit asks the kernel itself, without a tracer program.
func TestPtraceOfInit(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	if r := box.run("command -v python3"); r.Code != "0" {
		t.Skip("no python3 to call ptrace with")
	}
	got := box.run(`python3 -c '
import ctypes, os
c = ctypes.CDLL(None, use_errno=True)
print(c.ptrace(16, 1, 0, 0), ctypes.get_errno())        # PTRACE_ATTACH
class iov(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]
buf = ctypes.create_string_buffer(8)
here, there = iov(ctypes.cast(buf, ctypes.c_void_p), 8), iov(0x400000, 8)
print(c.syscall(310, 1, ctypes.byref(here), 1, ctypes.byref(there), 1, 0), ctypes.get_errno())   # process_vm_readv
for n in (165, 155, 272, 308, 321, 298, 425, 246):        # mount pivot_root unshare setns bpf perf_event_open io_uring_setup kexec_load
    print(n, c.syscall(n, 0, 0, 0, 0, 0), end=" ")
'`)
	if runtime.GOARCH != "amd64" {
		t.Skip("the numbers are amd64's")
	}
	want := "-1 1\n-1 1\n165 -1 155 -1 272 -1 308 -1 321 -1 298 -1 425 -1 246 -1 \n"
	if got.Stdout != want {
		t.Errorf("got %q %q, want %q", got.Stdout, got.Stderr, want)
	}
}

// TestSandboxesApart checks that one doesn't see the other.
func TestSandboxesApart(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	a, b := e.create(nil), e.create(nil)
	a.must("echo a > /workspace/a; echo a > /etc/a; echo a > /dev/shm/a; (sleep 100 &)")
	got := b.run("ls /workspace /dev/shm; cat /etc/a; pgrep sleep")
	if strings.Contains(got.Stdout, "a\n") && !strings.HasPrefix(got.Stdout, "/dev/shm:\n\n/workspace:\n") || got.Code == "0" {
		t.Errorf("b sees %q, %s", got.Stdout, got.Code)
	}
}

// TestLimits checks the limits that this machine can set.
func TestLimits(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(map[string]any{"resourceLimits": map[string]string{"memory": "128Mi", "cpu": "500m"}})
	if r := box.run("command -v python3"); r.Code != "0" {
		t.Skip("no python3 to use memory with")
	}
	// A limit without control groups is set when a process has begun, and goes on to those that it starts.
	if r := box.run(`sleep 1; python3 -c 'x = bytearray(300 << 20); print(len(x))'`); r.Code == "0" {
		t.Errorf("300 MiB fitted into 128: %q", r.Stdout)
	}
	if got := box.must("echo alive"); got != "alive\n" {
		t.Errorf("afterwards: %q", got)
	}
}

// TestInheritedDescriptors checks that what this process's parent forgot to
// keep to itself goes no further.
func TestInheritedDescriptors(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	var p [2]int
	if err := syscall.Pipe(p[:]); err != nil { // without close-on-exec
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(p[0]); _ = syscall.Close(p[1]) }()
	var st syscall.Stat_t
	if err := syscall.Fstat(p[1], &st); err != nil {
		t.Fatal(err)
	}
	box := e.create(nil)
	pipe := fmt.Sprintf("pipe:[%d]", st.Ino)
	for _, proc := range processesOf(t, box.ID) {
		links, _ := filepath.Glob(filepath.Join(filepath.Dir(proc), "fd", "*"))
		for _, l := range links {
			if target, err := os.Readlink(l); err == nil && target == pipe {
				t.Errorf("%s has it", l)
			}
		}
	}
}
