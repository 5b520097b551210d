package opensandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Position is how far a job's output was read. It may be stored, and given to [Execd.Follow] by
// another process.
type Position struct {
	// Cursor is the server's word for a place in the output, empty for the beginning. Only the server
	// knows what it means.
	Cursor string `json:"cursor,omitempty"`
	// Skip is how many bytes behind the cursor were read too.
	Skip int64 `json:"skip,omitempty"`
}

// Job is a command that runs apart from any connection. Its output, stdout and stderr in one, is
// kept in the sandbox, so that a reader who was cut off goes on where it was. Read and the methods
// about progress are for one goroutine; ID is for any.
type Job struct {
	execd *Execd
	ctx   context.Context //nolint:containedctx // an io.Reader has no other place for it
	id    string

	at     Position
	part   *logPart
	status *CommandStatus // once it ended
	err    error          // what Read returns from now on

	quiet   int       // polls without news, in a row
	silent  time.Time // since when no log could be read; zero when it could
	missing time.Time // since when the server doesn't know the command
}

const (
	firstPoll = 20 * time.Millisecond
	lastPoll  = time.Second
	// How long a command may take to be known by its id after the server named it.
	appeared = 2 * time.Second
)

// Start starts a command in the background and returns it as soon as it was launched. The command is
// sent once. ctx bounds the launch and all reading; when it ends, the command goes on: see
// [Execd.Interrupt].
//
//	job, err := client.Execd(box.ID).Start(ctx, opensandbox.RunRequest{Command: "make all"})
//	_, err = io.Copy(os.Stdout, job) // comes back when the command has ended
//	status := job.Status()
//
// An error that is ErrStreamLost means that the command may be running without anybody knowing its
// id, unless the *Job is not nil: then it has one, and can be followed.
func (e *Execd) Start(ctx context.Context, req RunRequest) (*Job, error) {
	stream, err := e.run(ctx, req, true)
	if err != nil {
		return nil, err
	}
	defer func() { _ = stream.Close() }() // always nil
	for {
		frame, err := stream.Next()
		switch {
		case errors.Is(err, io.EOF) && !errors.Is(err, ErrStreamLost):
			return e.Follow(ctx, stream.ID(), Position{}), nil
		case err == nil && frame.Error != nil:
			return nil, &Error{Op: stream.call.name(), Status: http.StatusOK, Message: "starting it: " + startFailure(frame.Error)}
		case err == nil:
			continue
		case stream.ID() != "" && errors.Is(err, ErrStreamLost) && ctx.Err() == nil:
			// The id is known, and the job itself tells whether the command was started.
			return e.Follow(ctx, stream.ID(), Position{}), nil
		case stream.ID() != "" && errors.Is(err, ErrStreamLost):
			return e.Follow(ctx, stream.ID(), Position{}), err
		}
		return nil, err
	}
}

func startFailure(e *FrameError) string {
	if len(e.Traceback) > 0 {
		return clip(e.Traceback[0])
	}
	return clip(e.Value)
}

// Follow returns a job that was started before, perhaps by another process, to be read from a
// position on. It does no I/O. ctx bounds all reading.
func (e *Execd) Follow(ctx context.Context, commandID string, from Position) *Job {
	return &Job{execd: e, ctx: ctx, id: commandID, at: from}
}

// ID returns the command's id in the sandbox.
func (j *Job) ID() string { return j.id }

// Position returns how far Read has come.
func (j *Job) Position() Position { return j.at }

// Status returns how the command ended, and nil as long as Read has not returned io.EOF. Its exit
// code may be nil: then the server doesn't know it, and it is no success.
func (j *Job) Status() *CommandStatus {
	if !errors.Is(j.err, io.EOF) {
		return nil
	}
	return j.status
}

// Read returns output as it comes. It returns io.EOF when the command has ended and all of its
// output was read. It bears with a server that is out of reach for as long as Options.Patience; an error that
// is ErrStreamLost means that the job is still at its Position and may be followed again. Where the
// server no longer knows the command, because execd was started anew, it is ErrNotFound as well.
func (j *Job) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for j.err == nil {
		n, err := j.step(p)
		if n > 0 {
			return n, nil
		}
		if err != nil {
			j.err = err
		}
	}
	return 0, j.err
}

// step reads what there is, or finds out whether there will be more, and waits.
func (j *Job) step(p []byte) (int, error) {
	if j.part == nil {
		// The status comes first: what was written before the end is read after it.
		if err := j.look(); err != nil {
			return 0, j.outage(err)
		}
		part, err := j.execd.openLog(j.ctx, j.id, j.at)
		if err != nil {
			return 0, j.outage(err)
		}
		j.part = part
	}
	n, err := j.part.Read(p)
	j.at.Skip += int64(n)
	if n > 0 {
		j.silent, j.quiet = time.Time{}, 0
		return n, nil
	}
	part := j.part
	if err == nil {
		return 0, nil
	}
	j.part = nil
	part.close()
	if !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, j.outage(err)
	}
	j.silent = time.Time{}
	grew := part.next != "" && part.next != j.at.Cursor
	if part.next != "" {
		j.at = Position{Cursor: part.next}
	}
	if j.status != nil {
		return 0, io.EOF
	}
	if !grew {
		j.quiet++
	}
	return 0, j.wait(min(firstPoll<<min(j.quiet, 10), lastPoll))
}

// look asks whether the command has ended.
func (j *Job) look() error {
	status, err := j.execd.status(j.ctx, j.id, true)
	if err != nil {
		return err
	}
	j.missing = time.Time{}
	if !status.Running {
		j.status = status
	}
	return nil
}

// outage decides whether a failed call is worth another try, and waits for it. It returns nil then.
func (j *Job) outage(err error) error {
	if j.ctx.Err() != nil {
		return j.lost(context.Cause(j.ctx))
	}
	since, patience := &j.silent, j.execd.c.opts.Patience
	if refused, ok := errors.AsType[*Error](err); ok {
		switch {
		case refused.Status == http.StatusNotFound:
			// Servers name a command before they know it.
			since, patience = &j.missing, appeared
		case refused.Status != http.StatusTooManyRequests && refused.Status < 500 || refused.Status == http.StatusNotImplemented:
			return j.lost(err)
		}
	}
	if endpointIsStale(err) {
		j.execd.c.forgetEndpoint(j.execd.sandboxID, PortExecd)
	}
	if since.IsZero() {
		*since = time.Now()
	}
	if time.Since(*since) > patience {
		if !j.execd.c.standsStill(j.ctx, j.execd.sandboxID) {
			return j.lost(err)
		}
		*since = time.Now()
	}
	j.quiet++
	pause := min(firstPoll<<min(j.quiet, 10), lastPoll)
	if refused, ok := errors.AsType[*Error](err); ok && refused.RetryAfter > pause {
		pause = min(refused.RetryAfter, maxRetryAfter)
	}
	return j.wait(pause)
}

func (j *Job) wait(pause time.Duration) error {
	if err := sleep(j.ctx, pause); err != nil {
		return j.lost(err)
	}
	return nil
}

func (j *Job) lost(err error) error {
	return fmt.Errorf("follow command %q: %w: %w", j.id, ErrStreamLost, err)
}

// Close lets go of the connection, if there is one. The command goes on. It is idempotent and
// returns nil.
func (j *Job) Close() error {
	if j.part != nil {
		j.part.close()
		j.part = nil
	}
	if j.err == nil {
		j.err = j.lost(errStreamClosed)
	}
	return nil
}
