//go:build unix

package shim

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/engine/cgroup"
	"github.com/alineo-labs/alineo-host/host/internal/engine/egress"
	"github.com/alineo-labs/alineo-host/host/internal/engine/guest"
	"github.com/alineo-labs/alineo-host/host/internal/engine/jail"
	"github.com/alineo-labs/alineo-host/host/internal/engine/reexec"
)

// initProcess is the sandbox's first process.
type initProcess struct {
	pid     int
	cmd     *exec.Cmd
	level   jail.Level
	control *net.UnixConn
	sockets *egress.Sockets // until somebody serves them; nil without a way out
	moved   chan error      // tells that it is in its control group
	sealed  bool            // it runs a sealed copy of the program
	log     *journal
	in      *json.Decoder
	out     *json.Encoder
	mu      sync.Mutex // one operation at a time
}

// startInit starts the init in its namespaces. It waits there for its
// configuration. Call it on the main thread: when the thread that starts a
// process ends, the process's death signal fires.
func startInit(s Seed, program *reexec.Image, execd *os.File) (*initProcess, error) {
	ours, theirs, err := socketpair()
	if err != nil {
		return nil, err
	}
	defer func() { _ = theirs.Close() }()
	// A pipe and not a file: what is written is bounded, and nobody can reach
	// anything of the machine's through it.
	output, log, err := os.Pipe()
	if err != nil {
		_ = ours.Close()
		return nil, err
	}
	defer func() { _ = log.Close() }()
	start := func(into cgroup.Group) (*exec.Cmd, error) {
		cmd := program.Command(reexec.Init, s.ID, theirs, execd)
		cmd.Stdout, cmd.Stderr = log, log
		cmd.Dir = "/"
		cmd.Env = []string{"GOMAXPROCS=2"} // plenty for what it does, and a quicker start
		attr, err := namespaces(s)
		if err != nil {
			return nil, err
		}
		done, err := into.Spawn(attr)
		if err != nil {
			return nil, err
		}
		cmd.SysProcAttr = attr
		err = cmd.Start()
		if derr := done(); derr != nil {
			if err == nil {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			}
			err = errors.Join(err, derr)
		}
		return cmd, err
	}
	cmd, err := start(s.Group)
	born := err == nil
	if err != nil && s.Group.Version != 0 && !errors.Is(err, cgroup.ErrStuck) {
		// Some containers have no clone3, which this takes; some users may not write to the group around
		// theirs: move it then.
		cmd, err = start(cgroup.Group{})
	}
	if err != nil {
		_ = ours.Close()
		_ = output.Close()
		return nil, fmt.Errorf("starting the sandbox's init: %w", err)
	}
	lines := &journal{}
	go lines.follow(output) // ends with the last process that has the other end
	p := &initProcess{
		log: lines, pid: cmd.Process.Pid, cmd: cmd, level: s.Level, sealed: s.Sealed, control: ours, moved: make(chan error, 1),
		in: json.NewDecoder(ours), out: json.NewEncoder(ours),
	}
	if born {
		p.moved <- nil
	} else {
		go func() { p.moved <- s.Group.Add(p.pid) }() // the kernel takes its time over that
	}
	return p, nil
}

// configure sends the configuration and waits until the init has done it.
func (p *initProcess) configure(c Config) (guest.Reply, error) {
	c.Guest.Program, c.Guest.Egress = p.sealed, c.Network != nil
	var r guest.Reply
	err := p.out.Encode(c.Guest)
	var nerr error
	if err == nil && c.Guest.Egress {
		p.sockets, nerr = egress.Receive(p.control)
	}
	if err == nil {
		err = p.in.Decode(&r)
	}
	merr := <-p.moved
	switch {
	case r.Error != "":
		return r, errors.New(r.Error)
	case err != nil:
		return r, fmt.Errorf("the sandbox's init ended while it started: %w", err)
	}
	return r, errors.Join(merr, nerr)
}

// wait returns the init's exit code: 128 and the signal when it was killed.
func (p *initProcess) wait() int {
	_ = p.cmd.Wait() // the state says it all
	ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return p.cmd.ProcessState.ExitCode()
}

// patience is how long an init without a process namespace has to take its
// processes down by itself.
const patience = 2 * time.Second

// kill ends the init. ended is closed when it has been waited for.
func (p *initProcess) kill(ended <-chan struct{}) {
	_ = p.control.Close() // an init takes that as the end
	if p.level != jail.Namespaces {
		t := time.NewTimer(patience)
		defer t.Stop()
		select {
		case <-ended:
			return
		case <-t.C:
		}
	}
	_ = p.cmd.Process.Kill() // and with it, by the kernel, all in its namespace
	<-ended
}

func (p *initProcess) stop() error   { return p.operate(guest.Stop) }
func (p *initProcess) resume() error { return p.operate(guest.Continue) }

func (p *initProcess) operate(op string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.out.Encode(guest.Operation{Op: op}); err != nil {
		return fmt.Errorf("asking the init to %s: %w", op, err)
	}
	var r guest.Reply
	if err := p.in.Decode(&r); err != nil {
		return fmt.Errorf("asking the init to %s: %w", op, err)
	}
	if r.Error != "" {
		return fmt.Errorf("asking the init to %s: %s", op, r.Error)
	}
	return nil
}
