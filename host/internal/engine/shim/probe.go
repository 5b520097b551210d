//go:build unix

package shim

import (
	"context"
	"runtime"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/engine/reexec"
)

// Try makes a sandbox's first process, lets it enter its jail and ends it:
// nil if the machine allows that, else the first thing that it refused. The
// directories that c names must be there.
func Try(ctx context.Context, image *reexec.Image, s Seed, c Config) error {
	runtime.LockOSThread() // see startInit
	defer runtime.UnlockOSThread()
	c.Guest.Probe, s.Sealed = true, image.Sealed
	l, theirs, err := socketpair() // stands in for the execd socket
	if err != nil {
		return err
	}
	defer func() { _ = l.Close(); _ = theirs.Close() }()
	p, err := startInit(s, image, theirs)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = p.control.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	_, err = p.configure(c)
	if p.sockets != nil {
		p.sockets.Close()
	}
	_ = p.control.Close()
	_ = p.cmd.Process.Kill()
	p.wait()
	return err
}
