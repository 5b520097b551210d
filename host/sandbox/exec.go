package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/alineo-labs/alineo-host/host/internal/span"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
)

const opExec = "exec"

// Reasons in exec.completed, for commands that did not end by themselves.
const (
	reasonCanceled = "canceled"
	reasonTimeout  = "timeout"
)

var (
	errHandleClosed = fmt.Errorf("the handle was %w", ErrClosed)
	errExecTimeout  = errors.New("the command ran out of time")
)

// Result is how a command ended and what it wrote.
type Result struct {
	Seq       int64
	Stdout    string // lines, each with its end; whether the last one had one can't be known
	Stderr    string
	ExitCode  int    // -1 when a signal or the timeout ended it; on a terminal 128 and the signal's number
	Signal    string // such as "killed"; empty when it exited by itself
	TimedOut  bool
	Canceled  bool // the context ended, or the handle was closed, before the command
	Truncated bool // Stdout or Stderr was longer than what is kept
	Replayed  bool // from the ledger: nothing ran
	// Exception is what code ended with; ExitCode is 1 then.
	Exception *Exception
}

// Exec is a command in a sandbox, running or ended. It is safe for concurrent use.
type Exec struct {
	h       *Handle
	seq     int64
	command string // or code
	opts    ExecOptions
	work    work

	stdout, stderr *spool
	events         chan *Event // nil unless the caller asked for them
	left           chan struct{}
	begun          chan struct{} // closed when it runs where it can be found again
	leave          func()        // closes left
	cancel         context.CancelCauseFunc
	done           chan struct{}
	result         *Result // set when done is closed, as err is
	err            error
	span           *span.Span // nil when nobody wants it
}

// work is what is peculiar to one kind of exec.
type work struct {
	spec ledger.ExecSpec
	// started returns exec.started's payload.
	started func(seq int64, digest string) ([]byte, error)
	// stream does it, from the time when exec.started is in the ledger. The error is the ledger's, or that
	// of not getting to a stream at all.
	stream func(ctx context.Context, x *Exec) (ending, error)
	live   bool // it is never answered from the ledger
	// detachable: it may be left running. rejoined: it was, and is recorded as started.
	detachable, rejoined bool
	// before, when it is set, has a look at an exec that is about to start.
	before func(x *Exec) error
}

// Exec starts a command and returns at once; Wait waits for it. The calls' order is their position
// in the ledger, by which a resumed sandbox answers them.
//
// When ctx ends, the command is interrupted in the sandbox, and Wait returns some seconds later at
// most with ctx's error, and with the result if the sandbox told how it ended.
//
// An error of Exec itself means that the command was not sent: the handle is closed, the sandbox is
// paused, the ledger does not take the start, the options are wrong, or, with a *DivergenceError, this
// is not what the ledger has at this position; that position is then still to be taken.
func (h *Handle) Exec(ctx context.Context, command string, opts ExecOptions) (*Exec, error) {
	if opts.Shell == "" {
		opts.Shell = h.shell
	}
	w := work{
		spec: ledger.ExecSpec{Kind: ledger.KindExec, Command: command, Cwd: opts.Cwd, Env: opts.Env, Shell: opts.Shell},
		started: func(seq int64, digest string) ([]byte, error) {
			return startedPayload("cmd", command, seq, nil, digest)
		},
		stream: runCommand,
	}
	if opts.Background {
		w.stream, w.detachable = runJob, true
	}
	return h.begin(ctx, opts, w)
}

// begin gives an exec its position, and answers it from the ledger or starts it.
func (h *Handle) begin(ctx context.Context, opts ExecOptions, w work) (*Exec, error) {
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return nil, h.fail(opExec, context.Cause(ctx))
	}
	if err := h.drives(); err != nil {
		return nil, h.fail(opExec, err)
	}
	seq := h.seq + 1
	var recorded *ledger.Exec
	if !w.live {
		var err error
		if recorded, err = h.replay.take(h, seq, w.spec); err != nil {
			return nil, err
		}
	}
	exec := h.newExec(seq, opts, w)
	if recorded == nil && w.before != nil {
		if err := w.before(exec); err != nil {
			return nil, err
		}
	}
	h.seq = seq
	if recorded != nil {
		exec.replayed(recorded)
		return exec, nil
	}
	if err := h.ready(); err != nil { // the position is taken all the same, as the reference has it
		return nil, exec.fail(err)
	}
	if err := exec.start(ctx); err != nil {
		return nil, exec.fail(err)
	}
	return exec, nil
}

func (h *Handle) newExec(seq int64, opts ExecOptions, w work) *Exec {
	if opts.ResultBytes <= 0 {
		opts.ResultBytes = h.c.opts.ResultBytes
	}
	x := &Exec{
		h: h, seq: seq, command: w.spec.Command, opts: opts, work: w, done: make(chan struct{}),
		stdout: newSpool(opts.ResultBytes), stderr: newSpool(opts.ResultBytes), left: make(chan struct{}), begun: make(chan struct{}),
	}
	x.leave = sync.OnceFunc(func() { close(x.left) })
	if opts.Events {
		x.events = make(chan *Event, maxEvents)
	}
	return x
}

// describe says in the exec's span what it is.
func (x *Exec) describe() {
	x.span.Text(span.Kind, string(x.work.spec.Kind))
	x.span.Number(span.Seq, x.seq)
}

// Run is Exec and Wait.
func (h *Handle) Run(ctx context.Context, command string, opts ExecOptions) (*Result, error) {
	exec, err := h.Exec(ctx, command, opts)
	if err != nil {
		return nil, err
	}
	return exec.Wait()
}

// start puts exec.started on its way into the ledger and the rest behind it.
func (x *Exec) start(ctx context.Context) error {
	if err := x.opts.check(&x.work.spec); err != nil {
		return err
	}
	payload, err := x.work.started(x.seq, x.h.c.opts.DigestKey.Digest(x.work.spec))
	if err != nil {
		return err
	}
	h := x.h
	ctx, x.span = h.startSpan(ctx, "sandbox.exec")
	x.describe()
	if err := x.launch(ctx, payload); err != nil {
		x.span.End(failureWord(err))
		return err
	}
	return nil
}

func (x *Exec) launch(ctx context.Context, payload []byte) error {
	h := x.h
	event := ledger.Event{Step: x.seq, Name: store.EventExecStarted, Payload: payload}
	ticket, err := h.stream.Enqueue(ctx, event)
	if err != nil {
		// After a failure it takes an Append to find out whether the ledger answers again.
		if err := h.append(ctx, event); err != nil {
			return err
		}
	}
	return x.enter(ctx, ticket)
}

// enter lets the exec run on its own. ticket is of its start, nil when that is committed.
func (x *Exec) enter(ctx context.Context, ticket *ledger.Ticket) error {
	h := x.h
	h.mu.Lock()
	defer h.mu.Unlock()
	for other := range h.running {
		if other.seq == x.seq {
			return fmt.Errorf("%w: this handle is attached to it already", ErrInvalid)
		}
	}
	if h.closing {
		return errHandleClosed
	}
	runCtx, cancel := context.WithCancelCause(ctx)
	x.cancel = cancel
	h.running[x] = struct{}{}
	ended := h.working()
	h.execs.Go(func() {
		x.run(runCtx, ticket)
		cancel(nil)
		x.span.End(failureWord(x.err))
		ended()
		h.mu.Lock()
		delete(h.running, x)
		h.mu.Unlock()
		close(x.done)
	})
	return nil
}

// check refuses what could not be run, or not as it is meant.
func (o *ExecOptions) check(spec *ledger.ExecSpec) error {
	switch {
	case strings.TrimSpace(spec.Command) == "":
		return fmt.Errorf("%w: the command is empty", ErrInvalid)
	case strings.ContainsRune(spec.Command, 0) || strings.ContainsRune(spec.Shell, 0):
		return fmt.Errorf("%w: the command has a zero byte", ErrInvalid)
	case !utf8.ValidString(spec.Command) || !utf8.ValidString(spec.Shell):
		return fmt.Errorf("%w: the command is not UTF-8, and would be changed on its way", ErrInvalid)
	case o.Timeout < 0:
		return fmt.Errorf("%w: the timeout %s is negative", ErrInvalid, o.Timeout)
	case o.GID != nil && o.UID == nil:
		return fmt.Errorf("%w: a group needs a user", ErrInvalid)
	}
	return nil
}

// commandLine makes one line for the shell that execd runs, which becomes the wanted shell. The
// command's standard input stays what it is.
func commandLine(shell, command string) string {
	option := " -c "
	if command[0] == '-' || command[0] == '+' {
		option = " -c -- " // else it would be taken for options
	}
	return "exec " + quote(shell) + option + quote(command)
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// replayed fills the exec from the ledger.
func (x *Exec) replayed(recorded *ledger.Exec) {
	x.cancel = func(error) {}
	for _, out := range [...]struct {
		spool *spool
		text  string
	}{{x.stdout, recorded.Stdout}, {x.stderr, recorded.Stderr}} {
		out.spool.write([]byte(out.text))
		if recorded.Truncated {
			out.spool.cut, out.spool.gap = true, true
		}
		out.spool.end(nil)
	}
	x.replayedEvents(recorded)
	x.result = x.newResult(recorded.ExitCode, "")
	x.result.Replayed = true
	x.result.Exception = recordedException(recorded)
	x.result.TimedOut = recorded.Reason == reasonTimeout
	x.result.Canceled = recorded.Reason == reasonCanceled
	x.err = x.verdict()
	close(x.done)
}

func (x *Exec) newResult(exitCode int, signal string) *Result {
	r := &Result{Seq: x.seq, ExitCode: exitCode, Signal: signal}
	var cutOut, cutErr bool
	r.Stdout, cutOut = x.stdout.text()
	r.Stderr, cutErr = x.stderr.text()
	r.Truncated = cutOut || cutErr
	return r
}

// verdict returns the CommandError that Strict asks for.
func (x *Exec) verdict() error {
	if !x.opts.Strict || x.result.ExitCode == 0 {
		return nil
	}
	return &CommandError{
		SandboxID: x.h.id, Seq: x.seq, Command: x.h.redacted(x.command),
		ExitCode: x.result.ExitCode, Signal: x.result.Signal, TimedOut: x.result.TimedOut,
	}
}

func (x *Exec) fail(err error) error {
	return &Error{Op: opExec, SandboxID: x.h.id, Seq: x.seq, Err: x.h.c.redactor().Error(err)}
}

// Pipe writes what the command prints to its standard output to w, as it comes, and returns when
// there is no more of it: nil when the command has ended, whatever its exit code.
func (x *Exec) Pipe(w io.Writer) error {
	out := x.Stdout()
	defer func() { _ = out.Close() }() // always nil
	_, err := io.Copy(w, out)
	return err
}

// Seq returns the exec's position, from 1.
func (x *Exec) Seq() int64 { return x.seq }

// Done is closed when Wait won't wait.
func (x *Exec) Done() <-chan struct{} { return x.done }

// Wait waits until the command has ended and the ledger has all of it. The result is nil when it is
// not known how the command ended; with a CommandError, or when the context ended it, there are both
// an error and a result.
func (x *Exec) Wait() (*Result, error) {
	<-x.done
	return x.result, x.err
}

// Stdout returns the reader of what the command writes to its standard output, from the beginning
// and as it comes, each piece once the ledger has it. There is one; reading is for one goroutine at a
// time. It ends with io.EOF, whatever the exit code, or with the error of the exec.
//
// A reader that is taken and then not read holds the command up once its output is beyond what the
// result keeps: read it, or close it. It is no longer waited for when ctx has ended or the command's
// time is over. A reader that is taken when the result has overflowed already ends in ErrTruncated.
func (x *Exec) Stdout() io.ReadCloser { return x.stdout.reader() }

// Stderr is Stdout for the standard error. The order between the two is not kept.
func (x *Exec) Stderr() io.ReadCloser { return x.stderr.reader() }
