package durabletest

import (
	"context"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/alineo-labs/alineo-host/host/durable"
	"github.com/alineo-labs/alineo-host/host/store"
)

// beginCases are about the time between a run's start and the first step of its command.
func beginCases() []Case {
	const slow = "sleep 5\n" // longer than a silent command is left alone
	return []Case{
		{Name: "BG-late", Rule: "a command whose shell is slow to begin is not thought to have vanished", run: func(e *env) {
			r := e.host(func(o *durable.Options) {
				o.Machines, o.AttachWait = changedMachines{Machines: e.site.Machines, before: slow}, patience
			})
			e.start(r, "run-1", "thread", "echo one")
			out, _ := e.outputOf(r)
			e.wantText("the output", out, "one\n")
			e.wantStatus(e.ended("run-1"), store.RunCompleted)
		}},
		{Name: "BG-too-late", Rule: "a command that was given up before it began never begins", run: func(e *env) {
			r := e.host(func(o *durable.Options) {
				o.Machines, o.AttachWait = changedMachines{Machines: e.site.Machines, before: slow, after: "\ntouch /tmp/woken"}, 100*time.Millisecond
			})
			run := e.start(r, "run-1", "thread", "touch /tmp/begun")
			m := e.machineOf(run)
			run = e.ended("run-1")
			e.wantStatus(run, store.RunFailed)
			e.wantText("the error's code", run.Error.Code, durable.CodeNotStarted)
			e.eventually("the shell's time has come", func() bool { return !e.missing(m, "/tmp/woken") })
			if !e.missing(m, "/tmp/begun") {
				e.Errorf("the command was run behind the run's end")
			}
		}},
		{Name: "BG-refused", Rule: "a command that a sandbox refuses to start is told at once, and why", run: func(e *env) {
			r := e.host(func(o *durable.Options) { o.AttachWait = time.Hour })
			run, err := r.Start(e.ctx, durable.StartOptions{RunID: "run-1", ThreadID: "thread", Command: "true", Cwd: "/not/there", Spec: e.spec()})
			e.must(err)
			e.destroyLater(*run.SandboxKey)
			run = e.ended("run-1")
			e.wantStatus(run, store.RunFailed)
			if run.Error.Code != durable.CodeNotStarted || !strings.Contains(run.Error.Message, "/not/there") {
				e.Errorf("the error is %+v", run.Error)
			}
		}},
		{Name: "BG-canceled", Rule: "a run that is canceled between its sandbox and its command's journal is aborted like any other", Needs: []Need{NeedSecret}, run: func(e *env) {
			asked := &unanswered{asked: make(chan struct{})}
			r := e.host(func(o *durable.Options) {
				asked.Runs = o.Stores.Runs
				o.Stores.Runs = asked
			})
			e.start(r, "run-1", "thread", "echo one")
			select {
			case <-asked.asked:
			case <-e.within(patience).Done():
				e.fatalf("the driver never asked for the secret")
			}
			e.must(r.Cancel(e.ctx, "run-1"))
			run := e.ended("run-1")
			e.wantStatus(run, store.RunAborted)
			e.wantText("the error's code", run.Error.Code, durable.CodeCanceled)
		}},
		{Name: "BG-superseded", Rule: "a host that is stopped right before it starts the command, and superseded, doesn't start it", Needs: []Need{NeedFenced, NeedSecret, NeedSharing}, run: func(e *env) {
			for _, step := range [...]string{"the nonce", "the command"} {
				id := strings.ReplaceAll(step, " ", "-")
				gate := &gate{reached: make(chan struct{}), open: make(chan struct{})}
				first := e.host(func(o *durable.Options) {
					machines := changedMachines{Machines: e.site.Machines, after: "\ntouch /tmp/woken"}
					if step == "the nonce" {
						machines.write = gate
					} else {
						machines.spawn = gate
					}
					o.Machines = machines
				})
				run := e.start(first, id, id, "touch /tmp/begun")
				select {
				case <-gate.reached:
				case <-e.within(patience).Done():
					e.fatalf("the driver never came to %s", step)
				}
				m := e.machineOf(run)
				second := e.host(func(o *durable.Options) { o.AttachWait = 100 * time.Millisecond })
				e.must(second.TakeOver(e.ctx, id, true))
				run = e.ended(id)
				e.wantText("the error's code", run.Error.Code, durable.CodeNotStarted)
				e.must(second.AwaitRelease(e.ctx, id))
				close(gate.open)
				e.abandon(first)
				if step == "the command" {
					e.eventually("the shell has come and gone", func() bool { return !e.missing(m, "/tmp/woken") })
				}
				if !e.missing(m, "/tmp/begun") {
					e.Errorf("stopped before %s, the superseded host ran the command", step)
				}
			}
		}},
		{Name: "BG-environment", Rule: "a run's environment reaches its command as it is, and the nonce is not in it", Needs: []Need{NeedSecret}, run: func(e *env) {
			r := e.host()
			// Shells leave what is in their environment there when it gets another value.
			env := map[string]string{"n": "mine", "c": "mine", "alineo_nonce": "x", "alineo_code": "mine"}
			run, err := r.Start(e.ctx, durable.StartOptions{
				RunID: "run-1", ThreadID: "thread", Command: `echo $n $c $alineo_code; env | grep -c "^alineo_nonce="; exit 3`, Env: env, Spec: e.spec(),
			})
			e.must(err)
			e.destroyLater(*run.SandboxKey)
			out, _ := e.outputOf(r)
			e.wantText("the output", out, "mine mine mine\n0\n")
		}},
	}
}

// unanswered are runs whose secret is not told to whoever asks first, for as long as they wait.
type unanswered struct {
	store.Runs
	once  sync.Once
	asked chan struct{} // closed when somebody has
}

func (u *unanswered) Secret(ctx context.Context, id string) (secret store.RunSecret, found bool, err error) {
	first := false
	u.once.Do(func() { first = true })
	if !first {
		return u.Runs.Secret(ctx, id)
	}
	close(u.asked)
	<-ctx.Done()
	return nil, false, context.Cause(ctx)
}

// gate holds a caller until it is let through.
type gate struct {
	reached chan struct{} // closed when somebody waits
	open    chan struct{} // closed to let them through
}

func (g *gate) pass() {
	if g != nil {
		close(g.reached)
		<-g.open
	}
}

// changedMachines spawn commands with something around them, and hold their hosts at gates, behind which these go
// on as a process does that was stopped.
type changedMachines struct {
	durable.Machines
	before, after string
	write, spawn  *gate
}

func (c changedMachines) Open(ctx context.Context, id string) (durable.Machine, error) {
	m, err := c.Machines.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	return changedMachine{m, c}, nil
}

type changedMachine struct {
	durable.Machine
	how changedMachines
}

func (c changedMachine) WriteFile(ctx context.Context, path string, data []byte, perm fs.FileMode) error {
	c.how.write.pass()
	return c.Machine.WriteFile(context.WithoutCancel(ctx), path, data, perm)
}

func (c changedMachine) Spawn(ctx context.Context, command string, opts durable.SpawnOptions) error {
	c.how.spawn.pass()
	if c.how.after != "" {
		command = "(" + command + ")" + c.how.after
	}
	return c.Machine.Spawn(context.WithoutCancel(ctx), c.how.before+command, opts)
}
