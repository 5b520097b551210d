package copier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/alineo-labs/alineo-host/host/internal/engine/layer"
	"github.com/alineo-labs/alineo-host/host/internal/engine/reexec"
)

// order is what the process is to do. It travels as JSON.
type order struct{ Dst, Src string }

type answer struct{ Error string }

// Apply is layer.Apply, as root of a new user namespace.
func Apply(ctx context.Context, image *reexec.Image, dst, src string) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("copying layer %q: %w", src, err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "copier"), os.NewFile(uintptr(fds[1]), "copier")
	defer func() { _ = ours.Close() }()
	cmd := image.Command(reexec.Copy, "layer", theirs)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
	err = cmd.Start()
	_ = theirs.Close()
	if err != nil {
		return fmt.Errorf("copying layer %q: starting the copier: %w", src, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	var a answer
	if err = json.NewEncoder(ours).Encode(order{dst, src}); err == nil {
		err = json.NewDecoder(ours).Decode(&a)
	}
	werr := cmd.Wait()
	switch {
	case a.Error != "":
		return errors.New(a.Error)
	case err != nil:
		return fmt.Errorf("copying layer %q: %w", src, errors.Join(err, werr, ctx.Err()))
	}
	return nil
}

// Main copies and never returns. main calls it first thing.
func Main() {
	reexec.CloseInherited(reexec.ControlFD)
	control := os.NewFile(reexec.ControlFD, "control")
	unix.Umask(0)
	var o order
	if err := json.NewDecoder(control).Decode(&o); err != nil {
		os.Exit(1)
	}
	var a answer
	if err := layer.Apply(context.Background(), o.Dst, o.Src); err != nil {
		a.Error = err.Error()
	}
	if err := json.NewEncoder(control).Encode(a); err != nil || a.Error != "" {
		os.Exit(1)
	}
	os.Exit(0)
}
