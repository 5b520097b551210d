//go:build unix

package execd

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

// The kinds of output, which are the first bytes of frames as well.
const (
	kindInput  = 0 // from the client
	kindStdout = 1 // all that a terminal shows, or standard output
	kindStderr = 2
	kindReplay = 3
)

const (
	// maxLag is how far a viewer may be behind; then the process waits for it.
	maxLag = ringSize / 2
	// maxInput is how much input waits for a process that doesn't read.
	maxInput = 1 << 20
	// lastOutput is how long output is waited for after the process has ended.
	lastOutput = 500 * time.Millisecond
)

// terminal is a PTY of the wire: a shell (on a terminal, or on pipes) that
// starts when the first viewer comes, and what it has written. One viewer at
// a time sees it.
type terminal struct {
	id, dir, command string

	mu     sync.Mutex
	change *sync.Cond // anything below has changed
	out    ring
	run    *terminalRun
	left   []*Process // ended shells that somebody outlived
	viewer *viewer
	over   bool
}

// terminalRun is one life of a terminal's shell. Its terminal's mu guards it.
type terminalRun struct {
	proc  *Process
	tty   bool
	stdin *os.File // the terminal itself, or a pipe
	input []byte   // waits to be written
	ended bool
	code  int
}

func (r *terminalRun) mode() string {
	if r.tty {
		return "pty"
	}
	return "pipe"
}

func newTerminal(id, dir, command string) *terminal {
	t := &terminal{id: id, dir: dir, command: command}
	t.change = sync.NewCond(&t.mu)
	return t
}

// start starts the shell. The caller holds t.mu.
func (s *Server) startTerminal(t *terminal, tty bool) (err error) {
	shell := s.shell
	argv := []string{shellName(shell)}
	if shellName(shell) == "bash" {
		argv = append(argv, "--norc", "--noprofile")
	}
	if t.command != "" {
		argv = append(argv, "-c", t.command)
	}
	run := &terminalRun{tty: tty}
	var theirs, ours []*os.File // theirs: standard input, output and error
	defer func() {
		for _, f := range theirs {
			_ = f.Close()
		}
		if err != nil {
			for _, f := range ours {
				_ = f.Close()
			}
		}
	}()
	sys := &syscall.SysProcAttr{Setsid: true, Credential: s.credential(nil, nil)}
	if tty {
		master, slave, err := openTerminal()
		if err != nil {
			return err
		}
		ours, theirs, run.stdin = []*os.File{master}, []*os.File{slave}, master
		sys.Setctty = true // descriptor 0 of the child
		if u := s.opts.User; u != nil {
			if err := slave.Chown(int(u.UID), -1); err != nil {
				return fmt.Errorf("giving the terminal away: %w", err)
			}
		}
	} else {
		for i := range 3 {
			r, w, err := os.Pipe()
			if err != nil {
				return fmt.Errorf("making a pipe: %w", err)
			}
			if i == 0 { // they read the first and write the others
				r, w = w, r
			}
			ours, theirs = append(ours, r), append(theirs, w)
		}
		run.stdin = ours[0]
		ours = ours[1:]
	}
	files := make([]uintptr, 3)
	for i := range files {
		files[i] = theirs[min(i, len(theirs)-1)].Fd()
	}
	env := s.environ(nil)
	run.proc, err = s.opts.Table.Start(shell, argv, &syscall.ProcAttr{Dir: t.dir, Env: env, Files: files, Sys: sys})
	if err != nil {
		if !tty {
			_ = run.stdin.Close()
		}
		return err
	}
	t.run = run
	go t.follow(run, ours)
	go t.feed(run)
	return nil
}

// follow keeps the shell's output until it has ended, and then says so.
func (t *terminal) follow(run *terminalRun, outs []*os.File) {
	var pumps sync.WaitGroup
	for i, f := range outs {
		pumps.Go(func() { t.pump(f, byte(kindStdout+i)) })
	}
	<-run.proc.Done
	idle := make(chan struct{})
	go func() {
		pumps.Wait()
		close(idle)
	}()
	timer := time.NewTimer(lastOutput)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C: // somebody else has the other end too
		for _, f := range outs {
			_ = f.SetReadDeadline(time.Unix(1, 0))
		}
		<-idle
	}
	for _, f := range outs {
		_ = f.Close()
	}
	_ = run.stdin.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	run.ended = true
	run.code, _ = verdict(run.proc)
	if run.proc.release() {
		t.left = append(t.left, run.proc)
	}
	t.change.Broadcast()
}

// pump reads one stream to its end.
func (t *terminal) pump(f *os.File, kind byte) {
	buf := make([]byte, bufferSize/2)
	take := func(b []byte) { t.keep(b, kind) }
	for {
		n, err := f.Read(buf)
		if n > 0 {
			take(buf[:n])
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			drain(f, buf, take)
			return
		}
		if err != nil {
			return
		}
	}
}

// keep adds to the output. It waits for a viewer who is too far behind; one
// who doesn't read at all is cut off before long.
func (t *terminal) keep(b []byte, kind byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.viewer != nil && t.out.end-t.viewer.seen > maxLag {
		t.change.Wait()
	}
	t.out.write(b, kind)
	t.change.Broadcast()
}

// errFull: the shell doesn't read what it is given.
var errFull = errors.New("the process doesn't read its input, and too much of it waits")

// write gives the shell input. It doesn't wait for it to be read.
func (t *terminal) write(run *terminalRun, b []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if run.ended {
		return os.ErrClosed
	}
	if len(run.input)+len(b) > maxInput {
		return errFull
	}
	run.input = append(run.input, b...)
	t.change.Broadcast()
	return nil
}

// feed writes the input that comes.
func (t *terminal) feed(run *terminalRun) {
	var buf []byte
	for {
		t.mu.Lock()
		for len(run.input) == 0 && !run.ended {
			t.change.Wait()
		}
		if run.ended {
			t.mu.Unlock()
			return
		}
		buf, run.input = run.input, buf[:0]
		t.mu.Unlock()
		if _, err := run.stdin.Write(buf); err != nil {
			buf = nil // nobody reads any more; its end will come
		}
	}
}

// end ends the shell and whatever it has started. A viewer is told that the
// shell has ended.
func (t *terminal) end() {
	t.mu.Lock()
	t.over = true
	procs := t.left
	if t.run != nil && !t.run.ended {
		procs = append(procs, t.run.proc)
	}
	t.left = nil
	t.change.Broadcast()
	t.mu.Unlock()
	for _, p := range procs {
		p.endSession()
	}
}

// terminals are the sandbox's terminals. Safe for concurrent use.
type terminals struct {
	mu   sync.Mutex
	byID map[string]*terminal
}

func newTerminals() *terminals { return &terminals{byID: map[string]*terminal{}} }

func (x *terminals) get(id string) *terminal {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.byID[id]
}

func (x *terminals) add(t *terminal) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.byID[t.id] = t
}

func (x *terminals) remove(id string) bool {
	x.mu.Lock()
	t := x.byID[id]
	delete(x.byID, id)
	x.mu.Unlock()
	if t == nil {
		return false
	}
	t.end()
	return true
}
