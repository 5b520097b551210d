package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// lateKill is how long after its timeout a command is ended from here, when the sandbox has not done
// it.
const lateKill = 3 * time.Second

// ending is what a stream told about the command.
type ending struct {
	known    bool
	exitCode int
	signal   string
	timedOut bool
	canceled bool
	failure  *Exception       // of code
	err      error            // why it is not known
	detached *detachedPayload // it was left running, there
}

// run is the life of a command that has its place in the ledger.
func (x *Exec) run(ctx context.Context, start *ledger.Ticket) {
	end, err := x.carry(ctx, start)
	if err == nil {
		err = end.err
	}
	if err == nil && end.detached != nil {
		err = x.detach(ctx, end.detached)
	}
	if err != nil {
		err = x.fail(err)
	}
	x.stdout.end(err)
	x.stderr.end(err)
	if x.events != nil {
		close(x.events)
	}
	if err != nil || !end.known {
		x.err = err
		return
	}
	result := x.newResult(end.exitCode, end.signal)
	result.TimedOut, result.Canceled, result.Exception = end.timedOut, end.canceled, end.failure
	reason := ""
	switch {
	case end.timedOut:
		reason = reasonTimeout
	case end.canceled:
		reason = reasonCanceled
	}
	// The command has ended, and that is to be recorded whether or not its caller still waits.
	err = x.h.append(context.WithoutCancel(ctx), ledger.Event{
		Step: x.seq, Name: store.EventExecCompleted, Payload: completedPayload(end.exitCode, x.seq, reason),
	})
	if err != nil {
		x.err = x.fail(err)
		return
	}
	x.result = result
	if err := guard("ExecComplete", func() { x.h.hooks.execComplete(x.h.id, x.seq, result) }); err != nil {
		x.err = x.fail(err)
		return
	}
	if end.canceled {
		x.err = x.fail(context.Cause(ctx))
		return
	}
	x.err = x.verdict()
}

// carry does the work and carries its output into the ledger and on to its readers. The error is the
// ledger's, or that of not getting to a stream at all.
func (x *Exec) carry(ctx context.Context, start *ledger.Ticket) (ending, error) {
	if start != nil {
		if err := x.h.noted(start.Wait(ctx)); err != nil {
			return ending{}, err
		}
	}
	if !x.work.rejoined {
		if err := guard("ExecStart", func() { x.h.hooks.execStart(x.h.id, x.seq, x.h.redacted(x.command)) }); err != nil {
			return ending{}, err
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if x.opts.Timeout > 0 {
		late := time.AfterFunc(x.opts.Timeout+lateKill, func() { cancel(errExecTimeout) })
		defer late.Stop()
	}
	// Whoever no longer waits for the command need not be waited for either.
	defer context.AfterFunc(ctx, func() { x.stdout.rush(); x.stderr.rush(); x.leave() })()
	return x.work.stream(ctx, x)
}

// runCommand runs a command on one connection.
func runCommand(ctx context.Context, x *Exec) (ending, error) {
	request, clean, err := x.request(ctx)
	if err != nil {
		return ending{}, err
	}
	defer clean()
	return x.readStream(ctx, func(ctx context.Context) (*opensandbox.Stream, error) { return x.h.execd.Run(ctx, request) })
}

// request returns what is sent for a command, and what cleans up after it. A command that is longer
// than what a program can get as an argument becomes a file.
func (x *Exec) request(ctx context.Context) (opensandbox.RunRequest, func(), error) {
	request := opensandbox.RunRequest{
		Command: commandLine(x.opts.Shell, x.command), Cwd: x.opts.Cwd, Env: x.opts.Env, Timeout: x.opts.Timeout,
		UID: x.opts.UID, GID: x.opts.GID,
	}
	if len(request.Command) <= opensandbox.MaxInlineCommand {
		return request, func() {}, nil
	}
	path := "/tmp/.alineo-command-" + uuid.NewString()
	err := x.h.execd.Upload(ctx, opensandbox.Upload{Path: path, Content: strings.NewReader(x.command)})
	if err != nil {
		return request, nil, fmt.Errorf("uploading a command of %d bytes: %w", len(x.command), err)
	}
	request.Command = "exec " + quote(x.opts.Shell) + " " + path
	return request, func() { x.h.tidy(ctx, path) }, nil
}

// tidy removes what was put into the sandbox on the way.
func (h *Handle) tidy(ctx context.Context, path string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), execGrace)
	defer cancel()
	if err := h.execd.RemoveFiles(ctx, path); err != nil {
		h.log.Debug("a temporary file is left in the sandbox", "path", path, "err", err)
	}
}

// readStream opens a stream of events and reads it to its end.
func (x *Exec) readStream(ctx context.Context, open func(context.Context) (*opensandbox.Stream, error)) (ending, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sent := time.Now()
	stream, err := open(ctx)
	if err != nil {
		return ending{}, err
	}
	pipe := x.newPipeline(ctx, cancel)
	end := x.follow(ctx, stream, pipe, sent)
	if errors.Is(end.err, ErrStreamLost) {
		if x.work.spec.Kind == ledger.KindExec {
			end.err = x.ask(ctx, stream.ID(), end.err)
		}
		// Nobody hears of it any more: Close ends it, as far as the sandbox can be reached.
		cancel(end.err)
	}
	_ = stream.Close() // always nil
	if err := pipe.close(); err != nil {
		return ending{}, err
	}
	return end, nil
}

// follow reads a stream to its end.
func (x *Exec) follow(ctx context.Context, stream *opensandbox.Stream, pipe *pipeline, sent time.Time) ending {
	var end ending
	for {
		frame, err := stream.Next()
		if errors.Is(err, io.EOF) && !errors.Is(err, ErrStreamLost) {
			if !end.known && end.err == nil {
				end.err = fmt.Errorf("%w: it ended without the command's end", ErrStreamLost)
			}
			return end
		}
		if err != nil {
			return ending{err: err}
		}
		// After the ledger has failed the stream is only read so that it tells the command's end.
		pipe.push(frame)
		switch {
		case x.work.spec.Kind == ledger.KindCode:
			x.codeEnding(ctx, frame, &end)
		case frame.Terminal():
			end = x.ending(ctx, frame, time.Since(sent))
		}
	}
}

// ending reads the terminal event.
func (x *Exec) ending(ctx context.Context, frame *opensandbox.Frame, took time.Duration) ending {
	end := ending{known: true}
	if frame.Error != nil {
		code, ok := frame.Error.ExitCode()
		if !ok {
			return ending{err: &StartError{Message: x.h.redacted(startMessage(frame.Error))}}
		}
		end.exitCode, end.signal = code, signalOf(frame.Error.Traceback)
	}
	end.blame(ctx)
	if !end.canceled && x.opts.Timeout > 0 && took >= x.opts.Timeout && end.exitCode == -1 {
		// execd tells a timeout like any SIGKILL; that the time was over is for us to remember.
		end.timedOut = true
	}
	return end
}

// blame remembers what ended the command from here.
func (e *ending) blame(ctx context.Context) {
	switch cause := context.Cause(ctx); {
	case cause == nil, errors.Is(cause, errDetaching):
	case errors.Is(cause, errExecTimeout):
		e.timedOut = true
	default:
		e.canceled = true
	}
}

func startMessage(e *opensandbox.FrameError) string {
	if e.Value == "" {
		return fmt.Sprintf("%s %q", e.Name, e.Traceback)
	}
	return e.Value
}

func signalOf(traceback []string) string {
	for _, line := range traceback {
		if signal, ok := strings.CutPrefix(line, "signal: "); ok {
			return signal
		}
	}
	return ""
}
