package shim

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/engine/cgroup"
	"github.com/alineo-labs/alineo-host/host/internal/engine/jail"
)

// TestEndWhileFrozen freezes a sandbox that has begun to end, as an engine does that is asked to pause it, or copies
// it, just then: what is frozen can't die, and the sandbox ends all the same.
func TestEndWhileFrozen(t *testing.T) {
	t.Parallel()
	p, missing := cgroup.Find()
	if !p.Has(cgroup.Freezer) {
		t.Skipf("LEFT OUT: nothing can be frozen here: %v", missing)
	}
	g, err := p.Create("ending-" + strconv.Itoa(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs, err := socketpair()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = theirs.Close()
		_ = cmd.Process.Kill()
		_ = g.Thaw(time.Minute)
		_ = g.Remove(context.WithoutCancel(t.Context()))
	})
	if err := g.Add(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	// Without namespaces an init is given some time, between being thawed and being killed.
	s := &keeper{ended: make(chan struct{}), seed: Seed{Group: g}}
	s.init = &initProcess{pid: cmd.Process.Pid, cmd: cmd, level: jail.Reduced, control: ours}
	go func() { _ = cmd.Wait(); close(s.ended) }()

	over := make(chan struct{})
	go func() { s.end(); close(over) }()
	if _, err := ours.Read(make([]byte, 1)); err == nil {
		t.Fatal("the init's socket was not closed")
	}
	if err := g.Freeze(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-over:
	case <-time.After(patience + 20*time.Second):
		t.Fatal("it doesn't end")
	}
	if s.failure != nil {
		t.Error(s.failure)
	}
}
