package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// TerminalOptions says how to run a program on a terminal.
type TerminalOptions struct {
	Cwd string
	// Env is set on top of the sandbox's; values are not recorded. Where neither has a TERM, or only dumb,
	// it is xterm-256color, which dumb in Env prevents.
	Env map[string]string
	// Columns and Rows are the terminal's size at first; 0: the server's own.
	Columns, Rows int
	// TakeOver is the id of a terminal session that runs already, see [Terminal.ID]: instead of starting
	// the command, it is connected to, and whoever was connected is not any more. Its output up to now
	// comes first, as far as the sandbox keeps it.
	TakeOver    string
	Strict      bool // as in ExecOptions
	Events      bool
	ResultBytes int
}

// Terminal is a program on a terminal in a sandbox. What it prints is Stdout, as it comes, with the
// terminal's own line ends. What is written to it and what it prints is recorded, in order.
//
// The value of a credential is taken out of both, also one that is typed in several sittings, before and
// after [Exec.Detach], if the processes of all of them know it. Then the bytes of it that were typed before
// are recorded as a value even when others follow. A session that somebody else takes over with TakeOver
// is another exec, where what was typed before is not known: the rest of a value is recorded there.
type Terminal struct {
	*Exec

	opts   TerminalOptions
	resume *ledger.Exec  // what was typed before, when it goes on where a checkpoint was
	ready  chan struct{} // closed when the caller's input may go out

	mark  string // the folder in the sandbox that says that the command has begun, and how it ended
	since int64  // bytes of output that are known already
	over  *int   // the exit code of a program that ended while nobody was connected

	writing sync.Mutex // orders input
	input   wholeRunes
	typed   *credential.Flow[struct{}] // when there is something to redact
	sitting sitting                    // the one before
	// unsettled: something was typed, of which nobody knows whether it has arrived.
	unsettled bool

	sizing sync.Mutex // orders what is told of the size, so that the last is the one that was asked for last

	mu   sync.Mutex
	pty  *opensandbox.PTY // nil while there is none
	id   string           // of the sandbox's terminal session
	size [2]int           // columns and rows that were asked for last
}

// Interactive starts a program on a terminal and returns at once; an empty command is the sandbox's
// interactive shell. It runs until it ends by itself, [Terminal.Close] is called, or ctx ends.
//
// In a resumed sandbox, a program that had ended by the checkpoint is answered from the ledger, and
// what is written to it is dropped. One that was still running is started anew, and what had been
// written to it is written again before anything else; its output from before is at the beginning of
// Stdout. It is never run again because a connection was lost.
func (h *Handle) Interactive(ctx context.Context, command string, opts TerminalOptions) (*Terminal, error) {
	if err := opts.check(); err != nil {
		return nil, h.fail(opExec, err)
	}
	t := newTerminal(opts)
	if command == "" {
		command = h.shell + " -i"
	}
	more := struct {
		Interactive bool   `json:"interactive"`
		Cwd         string `json:"cwd,omitempty"`
	}{true, opts.Cwd}
	spec := ledger.ExecSpec{Kind: ledger.KindInteractive, Command: command, Cwd: opts.Cwd, Env: opts.Env}
	x, err := h.begin(ctx, ExecOptions{
		Cwd: opts.Cwd, Env: opts.Env, Strict: opts.Strict, Events: opts.Events, ResultBytes: opts.ResultBytes,
	}, work{
		spec: spec,
		started: func(seq int64, digest string) ([]byte, error) {
			return startedPayload("cmd", command, seq, more, digest)
		},
		before: func(x *Exec) (err error) {
			t.Exec = x
			t.resume, err = h.replay.unfinished(h, x.seq, spec)
			return err
		},
		stream: t.run, detachable: true,
	})
	if err != nil {
		return nil, err
	}
	if t.Exec == nil {
		t.Exec = x // the ledger answers
	}
	return t, nil
}

func newTerminal(opts TerminalOptions) *Terminal {
	return &Terminal{opts: opts, ready: make(chan struct{}), size: [2]int{opts.Columns, opts.Rows}}
}

func (o *TerminalOptions) check() error {
	if o.Columns < 0 || o.Rows < 0 || (o.Columns == 0) != (o.Rows == 0) {
		return fmt.Errorf("%w: a terminal of %d columns and %d rows", ErrInvalid, o.Columns, o.Rows)
	}
	return nil
}

// firstOutput is how long a program that goes on may take to print something, before what had been
// typed is typed again: one that is not there yet might throw it away.
const firstOutput = 3 * time.Second

// betweenInputs lets a program take what was typed before the next comes, as people do.
const betweenInputs = 50 * time.Millisecond

// run is the life of the program.
func (t *Terminal) run(ctx context.Context, x *Exec) (ending, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	id, how := t.opts.TakeOver, opensandbox.PTYAttach{TakeOver: true, Since: t.replayFrom()}
	if id == "" {
		how = opensandbox.PTYAttach{Start: true}
		t.mark = "/tmp/.alineo-pty-" + uuid.NewString()
		var err error
		id, err = x.h.execd.CreatePTY(ctx, opensandbox.PTYRequest{
			Cwd: t.opts.Cwd, Command: t.sized() + terminalKind + withEnv(x.command, t.opts.Env), Mark: t.mark,
		})
		if err != nil {
			return ending{}, err
		}
	}
	// The connection outlives ctx by the time that an orderly end takes.
	connected, disconnect := context.WithCancelCause(context.WithoutCancel(ctx))
	defer disconnect(nil)
	left := false // to somebody else, who goes on with it
	defer func() {
		if !left {
			t.remove(connected, id)
		}
	}()
	defer context.AfterFunc(ctx, func() {
		if detaching(ctx) {
			t.settle(connected)
			disconnect(errDetaching)
			return
		}
		time.AfterFunc(execGrace, func() { disconnect(context.Cause(ctx)) })
		t.remove(connected, id)
	})()
	pty, err := t.connect(connected, id, how)
	switch {
	case t.over != nil && err != nil:
		t.stdout.miss()
		return ending{known: true, exitCode: *t.over}, nil
	case errors.Is(err, opensandbox.ErrPTYEnded):
		return ending{}, fmt.Errorf("%w: %w", ErrStreamLost, err)
	case err != nil:
		return ending{}, err
	}
	t.use(id, pty)
	pipe := x.newPipeline(ctx, cancel)
	if t.resume != nil {
		x.stdout.write([]byte(t.resume.Stdout))
	}
	end := t.follow(ctx, connected, pipe)
	left = errors.Is(end.err, opensandbox.ErrTakenOver) || end.detached != nil
	t.use("", nil)
	if err := pipe.close(); err != nil {
		return ending{}, err
	}
	begun, err := t.flushTyped(context.WithoutCancel(ctx), left)
	if err != nil {
		return ending{}, err
	}
	if end.detached != nil {
		end.detached.Begun = begun
	}
	return end, nil
}

// ID returns the sandbox's id of the terminal session, empty until there is one.
func (t *Terminal) ID() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.id
}

// sized sets the terminal's size before the program looks at it: the message that does comes behind its
// start. A sandbox without stty has that.
func (t *Terminal) sized() string {
	if t.opts.Columns == 0 {
		return ""
	}
	return fmt.Sprintf("stty columns %d rows %d 2>/dev/null\n", t.opts.Columns, t.opts.Rows)
}

// terminalKind names a kind of terminal that most programs know, where the sandbox names none: servers
// don't, and a shell then calls it dumb.
const terminalKind = "case ${TERM:-dumb} in dumb|unknown) export TERM=xterm-256color;; esac\n"

// withEnv puts variables before a command: terminals of the protocol have none.
func withEnv(command string, env map[string]string) string {
	var b strings.Builder
	for _, name := range names(env) {
		fmt.Fprintf(&b, "export %s=%s\n", name, quote(env[name]))
	}
	return b.String() + command
}

// remove ends the session in the sandbox, which may have ended.
func (t *Terminal) remove(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), execGrace)
	defer cancel()
	if err := t.h.execd.DeletePTY(ctx, id); err != nil && !errors.Is(err, opensandbox.ErrNotFound) {
		t.h.log.Debug("a terminal session could not be deleted", "seq", t.seq, "err", err)
		return // it could be connected to, and must not run the command again
	}
	if t.mark == "" {
		return
	}
	if err := t.h.execd.RemoveDirectories(ctx, t.mark); err != nil && !errors.Is(err, opensandbox.ErrNotFound) {
		t.h.log.Debug("a terminal's mark is left in the sandbox", "seq", t.seq, "path", t.mark, "err", err)
	}
}

// use makes a connection the one that input goes to, and closes the one before.
func (t *Terminal) use(id string, pty *opensandbox.PTY) {
	t.mu.Lock()
	before := t.pty
	t.pty = pty
	if id != "" {
		t.id = id
	}
	t.mu.Unlock()
	if before != nil {
		_ = before.Close() // always nil
	}
	if err := t.tellSize(); err != nil {
		t.h.log.Debug("the terminal's size could not be set", "seq", t.seq, "err", err)
	}
}

// follow reads the terminal to the program's end, over as many connections as it takes.
func (t *Terminal) follow(ctx, connected context.Context, pipe *pipeline) ending {
	var output wholeRunes
	defer func() { pipe.screen(output.rest()) }()
	began := make(chan struct{})
	begin := sync.OnceFunc(func() { close(began) })
	var typing sync.WaitGroup
	defer typing.Wait()
	defer begin()
	typing.Go(func() { t.typeAgain(ctx, began) })
	first := sync.OnceFunc(func() { close(t.begun) }) // before that, who comes next might be overtaken
	for {
		event, err := t.pty.Next()
		if err == nil {
			first()
		}
		if err != nil && detaching(ctx) {
			// The beginning of a character that is not recorded comes again, and so does that of a value.
			at := max(t.since, t.pty.Offset()-int64(len(output.part)))
			output.part = nil
			if back, ok := pipe.withdraw(); ok {
				at = back.offset
			}
			return ending{detached: &detachedPayload{PTY: t.id, Offset: at, Mark: t.mark}}
		}
		if err != nil {
			if end, lost := t.reconnect(ctx, connected, err); lost {
				return end
			}
			continue
		}
		if event.Lost > 0 && (event.Kind != opensandbox.PTYReplay || event.Offset > t.since) {
			t.stdout.miss()
		}
		switch event.Kind { //nolint:exhaustive // the others say nothing here
		case opensandbox.PTYOutput, opensandbox.PTYStderr, opensandbox.PTYReplay:
			if data := t.fresh(&event, pipe, len(output.part)); len(data) > 0 {
				pipe.screen(output.add(data))
			}
			begin()
		case opensandbox.PTYConnected:
			if t.resume == nil {
				begin()
			}
		case opensandbox.PTYProblem:
			t.h.log.Warn("the terminal could not do what was asked", "seq", t.seq, "err", event.Problem)
		case opensandbox.PTYExit:
			end := ending{known: true, exitCode: event.ExitCode}
			if t.over != nil {
				end.exitCode = *t.over
			}
			end.blame(ctx)
			return end
		}
	}
}

// connect connects with the session. When its program has ended meanwhile, t.over says how, and what
// there is to be read is what it printed: what runs a session again is kept from running the command.
func (t *Terminal) connect(ctx context.Context, id string, how opensandbox.PTYAttach) (*opensandbox.PTY, error) {
	pty, err := t.h.execd.AttachPTY(ctx, id, how)
	if !errors.Is(err, opensandbox.ErrPTYEnded) || t.mark == "" {
		return pty, err
	}
	code, codeErr := t.h.execd.PTYExitCode(ctx, t.mark)
	if codeErr != nil {
		if !errors.Is(codeErr, opensandbox.ErrNotFound) {
			t.h.log.Debug("how a terminal's program ended can't be asked", "seq", t.seq, "err", codeErr)
		}
		return nil, err
	}
	t.over, how.Start = &code, true
	return t.h.execd.AttachPTY(ctx, id, how)
}

// reconnect makes a new connection after one was lost. It reports that there is none to be made.
func (t *Terminal) reconnect(ctx, connected context.Context, lost error) (ending, bool) {
	if ctx.Err() != nil && connected.Err() != nil || errors.Is(lost, opensandbox.ErrTakenOver) {
		return ending{err: lost}, true
	}
	since, id := t.pty.Offset(), t.id
	var pty *opensandbox.PTY
	late := func() error { return lost }
	const patience = 30 * time.Second
	err := poll(connected, patience, maxExecdWait, late, func() (bool, error) {
		var err error
		pty, err = t.connect(connected, id, opensandbox.PTYAttach{Since: since, TakeOver: true})
		if errors.Is(err, opensandbox.ErrPTYEnded) || errors.Is(err, opensandbox.ErrNotFound) {
			return false, err
		}
		return err == nil, nil
	})
	switch {
	case err != nil && t.over != nil:
		t.stdout.miss()
		return ending{known: true, exitCode: *t.over}, true
	case err != nil && !errors.Is(err, ErrStreamLost):
		return ending{err: fmt.Errorf("%w: %w", ErrStreamLost, err)}, true
	case err != nil:
		return ending{err: err}, true
	}
	t.use(id, pty)
	return ending{}, false
}

// typeAgain waits for the program and types what had been typed before; then the caller may.
func (t *Terminal) typeAgain(ctx context.Context, began <-chan struct{}) {
	defer close(t.ready)
	if t.resume == nil {
		<-began
		return
	}
	timer := time.NewTimer(firstOutput)
	defer timer.Stop()
	select {
	case <-began:
	case <-timer.C:
	case <-ctx.Done():
		return
	}
	for _, text := range t.resume.Stdin {
		if err := t.send(ctx, []byte(text)); err != nil {
			t.h.log.Warn("what was typed before the checkpoint could not be typed again", "seq", t.seq, "err", err)
			return
		}
		timer.Reset(betweenInputs)
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
	}
}

// screen takes output of a terminal.
func (p *pipeline) screen(text string) {
	if text != "" {
		p.text(opensandbox.TypeStdout, text, []byte(text))
	}
}
