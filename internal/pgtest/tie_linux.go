package pgtest

import (
	"os"
	"os/exec"
	"syscall"
)

// tie makes a command end with the process, and run as another user when this one is root.
func tie(cmd *exec.Cmd, uid, gid int) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGINT}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
}
