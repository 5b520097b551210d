package shim

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// conceal keeps other processes of this user, and core dumps, from what is in memory. It is called once
// the init has been started: what writes the init's id maps must be dumpable.
func conceal() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("concealing the credentials: %w", err)
	}
	none := unix.Rlimit{}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &none); err != nil {
		return fmt.Errorf("concealing the credentials: %w", err)
	}
	return nil
}
