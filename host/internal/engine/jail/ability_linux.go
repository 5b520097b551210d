package jail

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// MinLandlock is the version of landlock's interface that reduced isolation
// needs: earlier ones can't allow renaming between directories.
const MinLandlock = 2

// LandlockVersion is the version of the kernel's landlock interface, 0 when it
// has none or has it turned off.
func LandlockVersion() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// SeccompFilters tells whether the kernel has them.
func SeccompFilters() bool {
	action := uint32(unix.SECCOMP_RET_ERRNO)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0
}
