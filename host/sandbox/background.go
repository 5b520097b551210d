package sandbox

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// jobEnd is how long the log of a job that was interrupted may take to its end.
const jobEnd = 15 * time.Second

// maxJobLine is the size in bytes of the longest line of a job's output. A longer one becomes several.
const maxJobLine = 16 << 20

// runJob runs a command apart from its connection. What it prints is recorded as if it had come in
// events, so that it can be replayed like any.
func runJob(ctx context.Context, x *Exec) (ending, error) {
	request, clean, err := x.request(ctx)
	if err != nil {
		return ending{}, err
	}
	job, err := x.h.execd.Start(context.WithoutCancel(ctx), request)
	if job == nil {
		clean()
		return ending{}, err
	}
	_ = job.Close() // always nil; it was only started
	end, err := followFrom(ctx, x, job.ID(), trail{})
	if end.detached == nil {
		clean() // else the shell may still be reading it
	}
	return end, err
}

// followFrom follows a background command from where a trail of its output ends.
func followFrom(ctx context.Context, x *Exec, id string, from trail) (ending, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// The job's context bounds its reading, which goes on while it is interrupted.
	reading, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	sent := time.Now()
	job := x.h.execd.Follow(reading, id, from.start())
	defer func() { _ = job.Close() }() // always nil
	close(x.begun)
	defer context.AfterFunc(ctx, func() {
		if detaching(ctx) {
			stop(errDetaching)
			return
		}
		time.AfterFunc(jobEnd, func() { stop(context.Cause(ctx)) })
		ctx, cancel := context.WithTimeout(reading, jobEnd)
		defer cancel()
		if err := x.h.execd.Interrupt(ctx, job.ID()); err != nil {
			x.h.log.Warn("a command that nobody waits for could not be interrupted", "seq", x.seq, "err", err)
		}
	})()
	pipe := x.newPipeline(ctx, cancel)
	end := x.followJob(ctx, job, pipe, sent, from)
	if err := pipe.close(); err != nil {
		return ending{}, err
	}
	return end, nil
}

func (x *Exec) followJob(ctx context.Context, job *opensandbox.Job, pipe *pipeline, sent time.Time, from trail) ending {
	const buffer = 64 << 10
	lines := bufio.NewReaderSize(job, buffer)
	var line []byte
	at, known := from.at, from.known() // behind the last line that was taken
	for known > 0 {
		n := min(known, buffer)
		piece, err := lines.Peek(int(n))
		if len(piece) == 0 && err != nil {
			break // it is said again below
		}
		_, _ = lines.Discard(len(piece)) // they are there
		pipe.precede(piece)
		known -= int64(len(piece))
	}
	for {
		piece, err := lines.ReadSlice('\n')
		if err != nil && detaching(ctx) {
			if back, ok := pipe.withdraw(); ok {
				from = back.job
			}
			return ending{detached: from.payload(job.ID())}
		}
		line = append(line, piece...)
		if len(line) > 0 && (!errors.Is(err, bufio.ErrBufferFull) || len(line) >= maxJobLine) {
			pipe.place.job = from
			pipe.line(string(line))
			// What is read and not taken lies behind another place that the server knows, maybe.
			if at.Skip += int64(len(line)); lines.Buffered() == 0 {
				at = job.Position()
			}
			from.advance(at, int64(len(line)))
			line = line[:0]
		}
		if errors.Is(err, io.EOF) && !errors.Is(err, ErrStreamLost) {
			break
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return ending{err: err}
		}
	}
	status := job.Status()
	if status == nil || status.ExitCode == nil {
		return ending{err: fmt.Errorf("%w: the sandbox does not know how the command ended", ErrStreamLost)}
	}
	end := ending{known: true, exitCode: *status.ExitCode, signal: strings.TrimPrefix(status.Error, "signal: ")}
	if end.signal == status.Error {
		end.signal = "" // it is no signal
	}
	end.blame(ctx)
	took := time.Since(sent)
	if !end.canceled && x.opts.Timeout > 0 && took >= x.opts.Timeout && end.exitCode == -1 {
		end.timedOut = true
	}
	pipe.terminal(end.exitCode, status.Error, took)
	return end
}

// line takes one line of a job's output, with its end if it has one.
func (p *pipeline) line(line string) {
	line = strings.ToValidUTF8(line, "\ufffd")
	text := strings.TrimSuffix(line, "\n")
	recorded := text
	if text == "" {
		recorded = "\n" // so an empty line comes in events
	}
	p.text(opensandbox.TypeStdout, recorded, []byte(text+"\n"))
}

// terminal takes the end of a job as the event that a stream would have had.
func (p *pipeline) terminal(exitCode int, message string, took time.Duration) {
	if p.failure() != nil {
		return
	}
	var frame any = struct {
		Type          string `json:"type"`
		ExecutionTime int64  `json:"execution_time"`
		Timestamp     int64  `json:"timestamp"`
	}{opensandbox.TypeExecutionComplete, took.Milliseconds(), time.Now().UnixMilli()}
	if exitCode != 0 {
		if message == "" {
			message = "exit status " + strconv.Itoa(exitCode)
		}
		frame = struct {
			Type      string                  `json:"type"`
			Timestamp int64                   `json:"timestamp"`
			Error     *opensandbox.FrameError `json:"error"`
		}{opensandbox.TypeError, time.Now().UnixMilli(), &opensandbox.FrameError{
			Name: "CommandExecError", Value: strconv.Itoa(exitCode), Traceback: []string{message},
		}}
	}
	raw, err := encode(frame)
	if err != nil {
		p.fail(err)
		return
	}
	c := chunk{}
	if p.x.events != nil {
		c.event = &Event{Type: opensandbox.TypeExecutionComplete, Raw: json.RawMessage(raw)}
		if exitCode != 0 {
			c.event.Type = opensandbox.TypeError
		}
	}
	payload := framePayload(p.x.seq, raw)
	p.put(c, payload, int64(len(payload)))
}
