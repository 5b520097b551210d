package pgtest

import (
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"strconv"
	"strings"
	"sync"
)

// identity is the user that servers run as: this one, or the user postgres when this one is root,
// which they refuse.
type identity struct{ uid, gid int }

func servant() (identity, error) {
	who := identity{os.Getuid(), os.Getgid()}
	if who.uid != 0 {
		return who, nil
	}
	found, err := user.Lookup("postgres")
	if err != nil {
		return who, err
	}
	who.uid, _ = strconv.Atoi(found.Uid) //nolint:errcheck // numbers on every system that PostgreSQL runs on
	who.gid, _ = strconv.Atoi(found.Gid) //nolint:errcheck // the same
	return who, nil
}

// serve makes a command one of that user's, in a folder.
func (who identity) serve(cmd *exec.Cmd, dir string) {
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LC_ALL=C.UTF-8"}
	tie(cmd, who.uid, who.gid)
}

// begin starts a command, on a thread that stays until it has ended: the signal that ties it to this process comes
// when the thread ends that started it, and a goroutine of a test that keeps a thread to itself takes it along.
func begin(cmd *exec.Cmd) (ended <-chan struct{}, err error) {
	started, done := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if started <- err; err == nil {
			_ = cmd.Wait() // whoever ends it knows how
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return done, nil
}

// log is what a server writes.
type log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
