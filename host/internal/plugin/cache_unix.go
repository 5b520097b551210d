//go:build unix

package plugin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// private refuses a directory in which somebody else could leave machine code for us.
func private(info fs.FileInfo) error {
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("others may write to it (mode %#o); chmod 700 makes it usable", mode)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Geteuid() {
		return errors.New("it belongs to another user")
	}
	return nil
}
