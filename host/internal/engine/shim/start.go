package shim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/alineo-labs/alineo-host/host/internal/engine/reexec"
)

// EntryError tells that a sandbox's entry point could not be started.
type EntryError struct{ Message string }

func (e *EntryError) Error() string { return e.Message }

// Start starts the shim of a new sandbox and returns when the sandbox is
// ready or has failed. lock is the sandbox's locked lock file; the shim takes
// it over, and the caller closes its own descriptor afterwards. When Start
// fails nothing of the sandbox is left but its directory.
func Start(ctx context.Context, image *reexec.Image, lock *os.File, c Config) error {
	ours, theirs, err := socketpair()
	if err != nil {
		return fmt.Errorf("starting shim: %w", err)
	}
	defer func() { _ = ours.Close() }()
	c.Program, c.Sealed = image.Path(), image.Sealed
	cmd := image.Command(reexec.Shim, filepath.Base(c.Dir), theirs, lock)
	cmd.Dir = "/"
	cmd.Env = []string{"GOMAXPROCS=1"} // it hardly ever does anything
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = startReaped(cmd) // if it ends before we do
	_ = theirs.Close()
	if err != nil {
		return fmt.Errorf("starting shim: %w", err)
	}

	stop := context.AfterFunc(ctx, func() { _ = ours.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := json.NewEncoder(ours).Encode(c); err != nil {
		_ = cmd.Process.Kill()
		return fmt.Errorf("configuring shim: %w", err)
	}
	var r reply
	if err := json.NewDecoder(ours).Decode(&r); err != nil {
		_ = cmd.Process.Kill()
		return fmt.Errorf("waiting for the sandbox: %w", errors.Join(err, ctx.Err()))
	}
	switch {
	case r.Entry:
		return &EntryError{r.Error}
	case r.Error != "":
		return fmt.Errorf("making the sandbox: %s", r.Error)
	}
	return nil
}

// socketpair makes two connected sockets: one for this process, one to pass.
func socketpair() (ours *net.UnixConn, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("making a socket pair: %w", err)
	}
	f := os.NewFile(uintptr(fds[0]), "socketpair")
	defer func() { _ = f.Close() }()
	theirs = os.NewFile(uintptr(fds[1]), "socketpair")
	c, err := net.FileConn(f)
	if err != nil {
		_ = theirs.Close()
		return nil, nil, fmt.Errorf("making a socket pair: %w", err)
	}
	return c.(*net.UnixConn), theirs, nil //nolint:errcheck,forcetypeassert // it is what was made
}
