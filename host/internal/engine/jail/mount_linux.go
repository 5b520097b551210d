package jail

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// buildRoot mounts the sandbox's root at spec.Root and makes it the root of
// this mount namespace. Afterwards nothing of the host's tree is reachable by
// a path.
func buildRoot(spec *Spec) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	volumes, err := openVolumes(spec)
	if err != nil {
		return err
	}
	if err := os.Chdir(spec.DataDir); err != nil {
		return fmt.Errorf("entering the data directory: %w", err)
	}
	if err := mountOverlay(spec, RootLayer, spec.Root); err != nil {
		return err
	}
	for _, top := range spec.Tops {
		if err := mountOverlay(spec, top, filepath.Join(spec.Root, top)); err != nil {
			return err
		}
	}
	if err := mountKernel(spec.Root); err != nil {
		return err
	}
	if err := mountDevices(spec); err != nil {
		return err
	}
	if err := pivot(spec.Root); err != nil {
		return err
	}
	return placeVolumes(volumes)
}

// mountOverlay mounts one directory of the layers. All but the root layer and
// those that were copied have the host's directory of that name at the bottom.
func mountOverlay(spec *Spec, name, at string) error {
	lowers := make([]string, 0, len(spec.Lowers)+1)
	for _, l := range spec.Lowers {
		dir := filepath.Join(l, name)
		if st, err := os.Lstat(dir); err == nil && st.IsDir() {
			lowers = append(lowers, dir)
		}
	}
	switch {
	case name != RootLayer && !slices.Contains(spec.Copied, name):
		lowers = append(lowers, "/"+name)
	case name == RootLayer && spec.Bottom != "":
		lowers = append(lowers, spec.Bottom)
	}
	opts := "lowerdir=" + strings.Join(lowers, ":") +
		",upperdir=" + filepath.Join(spec.Upper, name) +
		",workdir=" + filepath.Join(spec.Work, name) +
		",userxattr"
	if spec.Volatile {
		opts += ",volatile" // no sync of the upper layer when it is unmounted
	}
	if len(opts) >= os.Getpagesize() {
		return fmt.Errorf("mounting overlay on /%s: %d layers don't fit into the mount options", name, len(lowers))
	}
	if err := unix.Mount("overlay", at, "overlay", unix.MS_NODEV|unix.MS_NOSUID, opts); err != nil {
		return fmt.Errorf("mounting overlay on %q (%s): %w", at, opts, err)
	}
	return nil
}

type mount struct {
	source, target, fstype string
	flags                  uintptr
	data                   string
}

func (m mount) do(root string) error {
	at := filepath.Join(root, m.target)
	if err := unix.Mount(m.source, at, m.fstype, m.flags, m.data); err != nil {
		return fmt.Errorf("mounting %s on %q: %w", m.fstype+m.source, at, err)
	}
	return nil
}

const noExecDevSuid = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC

// mountKernel mounts the file systems that the kernel fills.
func mountKernel(root string) error {
	for _, m := range []mount{
		{"proc", "proc", "proc", noExecDevSuid, ""},
		{"sysfs", "sys", "sysfs", noExecDevSuid | unix.MS_RDONLY, ""},
		{"tmpfs", "run", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=755,size=64m,nr_inodes=10k"},
		{"tmpfs", "dev", "tmpfs", unix.MS_NOSUID, "mode=755,size=64k,nr_inodes=1k"},
	} {
		if err := m.do(root); err != nil {
			return err
		}
	}
	return nil
}

// mountDevices fills /dev: six nodes of the host's (a user namespace can't
// make any), terminals of its own and shared memory.
func mountDevices(spec *Spec) error {
	root := spec.Root
	dev := filepath.Join(root, "dev")
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		at := filepath.Join(dev, name)
		if err := os.WriteFile(at, nil, 0o666); err != nil {
			return fmt.Errorf("making /dev/%s: %w", name, err)
		}
		if err := bindDevice("/dev/"+name, at); err != nil {
			return fmt.Errorf("binding /dev/%s: %w", name, err)
		}
	}
	for _, d := range []string{"pts", "shm"} {
		if err := os.Mkdir(filepath.Join(dev, d), 0o755); err != nil {
			return fmt.Errorf("making /dev/%s: %w", d, err)
		}
	}
	for link, target := range map[string]string{
		"ptmx": "pts/ptmx", "fd": "/proc/self/fd",
		"stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
	} {
		if err := os.Symlink(target, filepath.Join(dev, link)); err != nil {
			return fmt.Errorf("making /dev/%s: %w", link, err)
		}
	}
	if err := (mount{"devpts", "dev/pts", "devpts", unix.MS_NOSUID | unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620,max=256"}).do(root); err != nil {
		return err
	}
	// Files in memory are memory that no rlimit counts. Half of what there is, as the kernel has it.
	size := "50%"
	if spec.Memory > 0 {
		size = strconv.FormatUint(spec.Memory/2, 10)
	}
	return mount{"tmpfs", "dev/shm", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=1777,nr_inodes=100k,size=" + size}.do(root)
}

// pivot makes root the root and lets go of the old one.
func pivot(root string) error {
	if err := os.Chdir(root); err != nil {
		return fmt.Errorf("entering the new root: %w", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("changing the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leaving the old root: %w", err)
	}
	return os.Chdir("/")
}

// maskKernel hides what /proc and /sys show of the machine and makes the rest
// of what can be written there read-only. Root of a namespace that maps the
// machine's root owns those files.
func maskKernel() error {
	for _, p := range []string{
		"/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/kmsg",
		"/proc/latency_stats", "/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats",
		"/proc/kpagecgroup", "/proc/kpagecount", "/proc/kpageflags", "/proc/vmallocinfo", "/proc/slabinfo",
		"/sys/firmware", "/sys/devices/virtual/powercap", "/sys/kernel/debug", "/sys/kernel/security", "/sys/fs/bpf",
	} {
		if err := hide(p); err != nil {
			return fmt.Errorf("hiding %s: %w", p, err)
		}
	}
	for _, p := range []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger", "/proc/mtrr"} {
		if err := freeze(p); err != nil {
			return fmt.Errorf("making %s read-only: %w", p, err)
		}
	}
	return nil
}

func hide(path string) error {
	st, err := os.Lstat(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if st.IsDir() {
		return unix.Mount("tmpfs", path, "tmpfs", noExecDevSuid|unix.MS_RDONLY, "size=0,mode=555")
	}
	return bindDevice("/dev/null", path)
}

// bindDevice shows one of the machine's device nodes at a path. The mount is read-only: that is no
// hindrance to writing to the device, but without it the machine's root in here, who owns the node,
// could change its mode for everybody.
func bindDevice(node, at string) error {
	if err := unix.Mount(node, at, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	return unix.Mount("", at, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NOEXEC, "")
}

func freeze(path string) error {
	if _, err := os.Lstat(path); os.IsNotExist(err) {
		return nil
	}
	if err := unix.Mount(path, path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	return unix.Mount("", path, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|noExecDevSuid, "")
}

// loopbackUp brings up the only device of the network namespace.
func loopbackUp() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("bringing up loopback: %w", err)
	}
	defer func() { _ = unix.Close(s) }()
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("bringing up loopback: %w", err)
	}
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, ifr); err != nil {
		return fmt.Errorf("bringing up loopback: %w", err)
	}
	return nil
}
