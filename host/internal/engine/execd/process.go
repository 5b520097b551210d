//go:build unix

package execd

import (
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Table starts processes and reaps every child of this process, also those it
// didn't start: it is the wait loop of a sandbox's first process. A program
// may have one. Safe for concurrent use.
type Table struct {
	mu      sync.Mutex // held from fork to registration
	running map[int]*Process
	// orphaned are sessions that outlived their leader.
	orphaned map[int]*Process
	spawn    func(func())
	started  func(pid int)
	signals  chan os.Signal
	stop     chan struct{}
	done     chan struct{}
}

// Process is a child that was started by a Table.
type Process struct {
	// Pid is also the id of its process group.
	Pid int
	// Done is closed when the process has ended.
	Done   chan struct{}
	status syscall.WaitStatus
	ended  bool // guarded by the table's mu
	table  *Table
}

// NewTable starts reaping. Each process is started inside a call of spawn,
// which runs a function on a thread of the caller's choice: a child has that
// thread's capabilities. started is told of each at once.
func NewTable(spawn func(func()), started func(pid int)) *Table {
	t := &Table{
		running: map[int]*Process{}, orphaned: map[int]*Process{},
		spawn:   spawn,
		started: started,
		signals: make(chan os.Signal, 1),
		stop:    make(chan struct{}),
		done:    make(chan struct{}),
	}
	signal.Notify(t.signals, syscall.SIGCHLD)
	go t.loop()
	return t
}

// Close stops reaping.
func (t *Table) Close() {
	signal.Stop(t.signals)
	close(t.stop)
	<-t.done
}

func (t *Table) loop() {
	defer close(t.done)
	for {
		t.reap()
		select {
		case <-t.signals:
		case <-t.stop:
			return
		}
	}
}

func (t *Table) reap() {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		t.mu.Lock()
		if p := t.running[pid]; p != nil {
			delete(t.running, pid)
			p.status, p.ended = ws, true
			close(p.Done)
		}
		t.mu.Unlock()
	}
}

// give makes the files that a process inherits its user's, where they are nobody else's: programs open
// them again by the names /dev/stdout and /proc/self/fd/1.
func give(files []uintptr, c *syscall.Credential) {
	for _, fd := range files {
		var st syscall.Stat_t
		if syscall.Fstat(int(fd), &st) != nil {
			continue
		}
		kind := st.Mode & syscall.S_IFMT
		if kind == syscall.S_IFIFO || kind == syscall.S_IFREG && st.Nlink == 0 {
			_ = syscall.Fchown(int(fd), int(c.Uid), int(c.Gid)) // else they can't be opened again
		}
	}
}

// Start runs path with argv, in a process group of its own, and in a session
// of its own if attr says so.
func (t *Table) Start(path string, argv []string, attr *syscall.ProcAttr) (*Process, error) {
	if attr.Sys == nil {
		attr.Sys = &syscall.SysProcAttr{}
	}
	if c := attr.Sys.Credential; c != nil {
		give(attr.Files, c)
	}
	attr.Sys.Setpgid = !attr.Sys.Setsid // a new session's leader leads a group already
	t.mu.Lock()
	defer t.mu.Unlock()
	var pid int
	var err error
	t.spawn(func() { pid, err = syscall.ForkExec(path, argv, attr) })
	if err != nil {
		return nil, &os.PathError{Op: "fork/exec", Path: path, Err: err}
	}
	t.started(pid)
	delete(t.orphaned, pid) // the number is another's now
	p := &Process{Pid: pid, Done: make(chan struct{}), table: t}
	t.running[pid] = p
	return p, nil
}

// Signal sends sig to the process group while its leader has not been reaped;
// afterwards the group's id may be another's.
func (p *Process) Signal(sig syscall.Signal) error {
	p.table.mu.Lock()
	defer p.table.mu.Unlock()
	if p.ended {
		return os.ErrProcessDone
	}
	return syscall.Kill(-p.Pid, sig)
}

// Status is how the process ended; valid once Done is closed.
func (p *Process) Status() syscall.WaitStatus { return p.status }

// Groups are the process groups whose leaders are running.
func (t *Table) Groups() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	ids := make([]int, 0, len(t.running))
	for pid := range t.running {
		ids = append(ids, pid)
	}
	return ids
}
