package shim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/alineo-labs/alineo-host/host/internal/engine/reexec"
	"github.com/alineo-labs/alineo-host/host/internal/engine/unixsock"
)

// EntryError tells that a sandbox's entry point could not be started.
type EntryError struct{ Message string }

func (e *EntryError) Error() string { return e.Message }

// Begun is a sandbox that has processes and namespaces, and nothing else yet: they wait until it is told
// what it shall be. Its methods are called one at a time.
type Begun struct {
	cmd    *exec.Cmd
	socket *net.UnixConn
	ended  chan struct{} // closed when the shim has ended
}

// Begin starts the shim of a new sandbox, which starts its init; both wait for Start. lock is the
// sandbox's locked lock file; the shim takes it over, and the caller closes its own descriptor
// afterwards. When this process ends before Start, they end too, and nothing is left of them.
func Begin(image *reexec.Image, lock *os.File, s Seed) (*Begun, error) {
	sockets, err := listen(s.Dir)
	if err != nil {
		return nil, fmt.Errorf("starting shim: %w", err)
	}
	defer closeAll(sockets)
	ours, theirs, err := socketpair()
	if err != nil {
		return nil, fmt.Errorf("starting shim: %w", err)
	}
	s.Program, s.Sealed = image.Path(), image.Sealed
	cmd := image.Command(reexec.Shim, s.ID, append([]*os.File{theirs, lock}, sockets...)...)
	cmd.Dir = "/"
	cmd.Env = []string{"GOMAXPROCS=1"} // it hardly ever does anything
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	b := &Begun{cmd: cmd, socket: ours, ended: make(chan struct{})}
	err = startReaped(cmd, b.ended) // if it ends before we do
	_ = theirs.Close()
	if err != nil {
		_ = ours.Close()
		return nil, fmt.Errorf("starting shim: %w", err)
	}
	if err := json.NewEncoder(ours).Encode(s); err != nil {
		b.Discard()
		return nil, fmt.Errorf("configuring shim: %w", err)
	}
	return b, nil
}

// listen makes the sockets of a sandbox: the shim's and execd's. They stay what they are when their
// directory gets another name.
func listen(dir string) (_ []*os.File, err error) {
	var files []*os.File
	defer func() {
		if err != nil {
			closeAll(files)
		}
	}()
	for _, name := range []string{SocketFile, ExecdSocket} {
		l, err := unixsock.Listen(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		f, err := l.File()
		_ = l.Close()
		if err != nil {
			return nil, fmt.Errorf("sharing a socket: %w", err)
		}
		files = append(files, f)
	}
	return files, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// Ended tells that the shim has ended, and so can't be started any more.
func (b *Begun) Ended() bool {
	select {
	case <-b.ended:
		return true
	default:
		return b.hungUp()
	}
}

// hungUp says whether the other end of the socket is gone, which is so before its end was waited for. The
// shim says nothing before it is told to start.
func (b *Begun) hungUp() bool {
	conn, err := b.socket.SyscallConn()
	if err != nil {
		return true
	}
	gone := false
	err = conn.Control(func(fd uintptr) {
		n, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
		gone = err == nil && n == 0 || err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR)
	})
	return gone || err != nil
}

// Discard ends it and returns when nothing is left of it.
func (b *Begun) Discard() {
	_ = b.socket.Close()
	select {
	case <-b.ended:
	case <-time.After(10 * time.Second):
		_ = b.cmd.Process.Kill()
		<-b.ended
	}
}

// ErrLost tells that a shim ended by itself, or was killed, before it had said anything.
var ErrLost = errors.New("the shim has ended")

// lost is what a fault of the socket to the shim means.
func lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}
	return fmt.Errorf("%w: %w", ErrLost, err)
}

// Start makes the sandbox and returns when it is ready or has failed. When it fails nothing of the
// sandbox is left but its directory. Its error is ErrLost when the shim had gone, perhaps before.
func (b *Begun) Start(ctx context.Context, c Config) error {
	defer func() { _ = b.socket.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = b.socket.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := json.NewEncoder(b.socket).Encode(c); err != nil {
		_ = b.cmd.Process.Kill()
		return fmt.Errorf("configuring shim: %w", lost(ctx, err))
	}
	var r reply
	if err := json.NewDecoder(b.socket).Decode(&r); err != nil {
		_ = b.cmd.Process.Kill()
		return fmt.Errorf("waiting for the sandbox: %w", lost(ctx, err))
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
