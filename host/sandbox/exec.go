package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
)

const opExec = "exec"

// maxCommand is the size in bytes of the longest command line that is sent: Linux takes 128 KiB in
// one argument, and it is passed on once with quotes.
const maxCommand = 100 << 10

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
	ExitCode  int    // -1 when a signal or the timeout ended it
	Signal    string // such as "killed"; empty when it exited by itself
	TimedOut  bool
	Canceled  bool // the context ended, or the handle was closed, before the command
	Truncated bool // Stdout or Stderr was longer than what is kept
	Replayed  bool // from the ledger: nothing ran
}

// Exec is a command in a sandbox, running or ended. It is safe for concurrent use.
type Exec struct {
	h       *Handle
	seq     int64
	command string
	opts    ExecOptions

	stdout, stderr *spool
	cancel         context.CancelCauseFunc
	done           chan struct{}
	result         *Result // set when done is closed, as err is
	err            error
}

// Exec starts a command and returns at once; Wait waits for it. The calls' order is their position
// in the ledger, by which a resumed sandbox answers them.
//
// When ctx ends, the command is interrupted in the sandbox, and Wait returns some seconds later at
// most with ctx's error, and with the result if the sandbox told how it ended.
//
// An error of Exec itself means that the command was not sent: the handle is closed, the ledger does
// not take the start, the options are wrong, or, with a *DivergenceError, this is not what the
// ledger has at this position; that position is then still to be taken.
func (h *Handle) Exec(ctx context.Context, command string, opts ExecOptions) (*Exec, error) {
	if opts.Shell == "" {
		opts.Shell = h.shell
	}
	if opts.ResultBytes <= 0 {
		opts.ResultBytes = h.c.opts.ResultBytes
	}
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return nil, h.fail(opExec, context.Cause(ctx))
	}
	if err := h.open(); err != nil {
		return nil, h.fail(opExec, err)
	}
	seq := h.seq + 1
	spec := ledger.ExecSpec{Kind: ledger.KindExec, Command: command, Cwd: opts.Cwd, Env: opts.Env, Shell: opts.Shell}
	recorded, err := h.replay.take(h, seq, spec)
	if err != nil {
		return nil, err
	}
	h.seq = seq
	exec := &Exec{
		h: h, seq: seq, command: command, opts: opts, done: make(chan struct{}),
		stdout: newSpool(opts.ResultBytes), stderr: newSpool(opts.ResultBytes),
	}
	if recorded != nil {
		exec.replayed(recorded)
		return exec, nil
	}
	if err := exec.start(ctx, spec); err != nil {
		return nil, exec.fail(err)
	}
	return exec, nil
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
func (x *Exec) start(ctx context.Context, spec ledger.ExecSpec) error {
	line, err := commandLine(x.opts.Shell, x.command)
	if err != nil {
		return err
	}
	if x.opts.Timeout < 0 {
		return fmt.Errorf("%w: the timeout %s is negative", ErrInvalid, x.opts.Timeout)
	}
	payload, err := startedPayload(x.command, x.seq, x.h.c.opts.DigestKey.Digest(spec))
	if err != nil {
		return err
	}
	h := x.h
	event := ledger.Event{Step: x.seq, Name: store.EventExecStarted, Payload: payload}
	ticket, err := h.stream.Enqueue(ctx, event)
	if err != nil {
		// After a failure it takes an Append to find out whether the ledger answers again.
		if err := h.append(ctx, event); err != nil {
			return err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return errHandleClosed
	}
	runCtx, cancel := context.WithCancelCause(ctx)
	x.cancel = cancel
	h.running[x] = struct{}{}
	h.execs.Go(func() {
		x.run(runCtx, ticket, line)
		cancel(nil)
		h.mu.Lock()
		delete(h.running, x)
		h.mu.Unlock()
		close(x.done)
	})
	return nil
}

// commandLine makes one line for the shell that execd runs, which becomes the wanted shell. The
// command's standard input stays what it is.
func commandLine(shell, command string) (string, error) {
	switch {
	case strings.TrimSpace(command) == "":
		return "", fmt.Errorf("%w: the command is empty", ErrInvalid)
	case strings.ContainsRune(command, 0) || strings.ContainsRune(shell, 0):
		return "", fmt.Errorf("%w: the command has a zero byte", ErrInvalid)
	case !utf8.ValidString(command) || !utf8.ValidString(shell):
		return "", fmt.Errorf("%w: the command is not UTF-8, and would be changed on its way", ErrInvalid)
	}
	option := " -c "
	if command[0] == '-' || command[0] == '+' {
		option = " -c -- " // else it would be taken for options
	}
	line := "exec " + quote(shell) + option + quote(command)
	if len(line) > maxCommand {
		return "", fmt.Errorf("%w: %d bytes with its quotes, and %d fit; write it to a file and run that", ErrCommandTooLong, len(line), maxCommand)
	}
	return line, nil
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
	x.result = x.newResult(recorded.ExitCode, "")
	x.result.Replayed = true
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
		SandboxID: x.h.id, Seq: x.seq, Command: x.command,
		ExitCode: x.result.ExitCode, Signal: x.result.Signal, TimedOut: x.result.TimedOut,
	}
}

func (x *Exec) fail(err error) error {
	return &Error{Op: opExec, SandboxID: x.h.id, Seq: x.seq, Err: err}
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
