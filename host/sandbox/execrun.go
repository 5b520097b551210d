package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

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
	err      error // why it is not known
}

// run is the life of a command that has its place in the ledger.
func (x *Exec) run(ctx context.Context, start *ledger.Ticket, line string) {
	end, err := x.stream(ctx, start, line)
	if err == nil {
		err = end.err
	}
	if err != nil {
		err = x.fail(err)
	}
	x.stdout.end(err)
	x.stderr.end(err)
	if err != nil || !end.known {
		x.err = err
		return
	}
	result := x.newResult(end.exitCode, end.signal)
	result.TimedOut, result.Canceled = end.timedOut, end.canceled
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

// stream sends the command and carries its output into the ledger and on to its readers. The error
// is the ledger's, or that of not getting to a stream at all.
func (x *Exec) stream(ctx context.Context, start *ledger.Ticket, line string) (ending, error) {
	if start != nil {
		if err := x.h.noted(start.Wait(ctx)); err != nil {
			return ending{}, err
		}
	}
	if err := guard("ExecStart", func() { x.h.hooks.execStart(x.h.id, x.seq, x.command) }); err != nil {
		return ending{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if x.opts.Timeout > 0 {
		late := time.AfterFunc(x.opts.Timeout+lateKill, func() { cancel(errExecTimeout) })
		defer late.Stop()
	}
	// Whoever no longer waits for the command need not be waited for either.
	defer context.AfterFunc(ctx, func() { x.stdout.rush(); x.stderr.rush() })()

	sent := time.Now()
	stream, err := x.h.execd.Run(ctx, opensandbox.RunRequest{
		Command: line, Cwd: x.opts.Cwd, Env: x.opts.Env, Timeout: x.opts.Timeout,
	})
	if err != nil {
		return ending{}, err
	}
	pipe := x.newPipeline(ctx, cancel)
	end := x.follow(ctx, stream, pipe, sent)
	if errors.Is(end.err, ErrStreamLost) {
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
			return end
		}
		if err != nil {
			return ending{err: err}
		}
		// After the ledger has failed the stream is only read so that it tells the command's end.
		pipe.push(frame)
		if frame.Terminal() {
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
			return ending{err: &StartError{Message: startMessage(frame.Error)}}
		}
		end.exitCode, end.signal = code, signalOf(frame.Error.Traceback)
	}
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errExecTimeout):
		end.timedOut = true
	case cause != nil:
		end.canceled = true
	case x.opts.Timeout > 0 && took >= x.opts.Timeout && end.exitCode == -1:
		// execd tells a timeout like any SIGKILL; that the time was over is for us to remember.
		end.timedOut = true
	}
	return end
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
