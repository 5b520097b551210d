package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// LostError is a command whose output broke off, and what the sandbox then said about it. What it
// printed after the break is not known. It answers errors.Is for ErrStreamLost.
type LostError struct {
	CommandID string // in the sandbox
	// Asked: the sandbox knew about the command. Without it nothing is known about how it ended.
	Asked bool
	// Running: it had not ended when it was asked about. It is interrupted, because nobody hears of it
	// any more; see ExecOptions.Background for commands that must not be.
	Running bool
	// ExitCode is what it ended with, nil when it was running or that is not known; -1 is a signal.
	ExitCode *int
	Err      error // how the stream broke
}

// Error says what is known.
func (e *LostError) Error() string {
	known := "how the command ended is not known"
	switch {
	case e.Running:
		known = "the command was still running, and is interrupted"
	case e.ExitCode != nil:
		known = fmt.Sprintf("the command has ended with code %d, but its output is not complete", *e.ExitCode)
	}
	return fmt.Sprintf("%v; %s", e.Err, known)
}

// Unwrap returns how the stream broke.
func (e *LostError) Unwrap() error { return e.Err }

const (
	// askTimeout bounds asking about a command whose stream broke.
	askTimeout = 5 * time.Second
	// unknownFor is how long a sandbox may not know a command yet.
	unknownFor = 2 * time.Second
)

// ask finds out what became of a command whose stream broke.
func (x *Exec) ask(ctx context.Context, commandID string, lost error) error {
	found := &LostError{CommandID: commandID, Err: lost}
	if commandID == "" || ctx.Err() != nil {
		return found
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var status *opensandbox.CommandStatus
	err := poll(ctx, unknownFor, maxExecdWait, func() error { return opensandbox.ErrNotFound }, func() (bool, error) {
		var err error
		status, err = x.h.execd.Status(ctx, commandID)
		if errors.Is(err, opensandbox.ErrNotFound) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		x.h.log.Debug("a command whose output broke off can't be asked about", "seq", x.seq, "err", err)
		return found
	}
	found.Asked, found.Running, found.ExitCode = true, status.Running, status.ExitCode
	return found
}
