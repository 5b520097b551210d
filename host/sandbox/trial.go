package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// maxTrial is how much of each of stdout and stderr of a trial is kept.
const maxTrial = 1 << 20

// TryCredential runs a command that makes a request to url, to see what a credential does. The driver records
// that as credential.tested before the command is sent. It is sent from here, beside what the driver runs, and
// has no position among its commands: a program that is resumed later would not know of it. What it prints is
// recorded nowhere. A timeout of 0 is none.
func (o *Operator) TryCredential(ctx context.Context, name, url, command string, timeout time.Duration) (*Result, error) {
	failed := func(err error) error {
		return o.c.redactor().Error(o.fail(fmt.Sprintf("trying credential %q", name), err))
	}
	if command == "" || url == "" || timeout < 0 {
		return nil, failed(fmt.Errorf("%w: there is no command, no address, or less than no time", ErrInvalid))
	}
	found, err := o.c.readControls(ctx, o.key)
	if err != nil {
		return nil, failed(err)
	}
	var known bindings
	known.learnVariables(o.c, found.credentials)
	defer known.end()
	url = o.c.redactor().Text(url) // the driver may know of other values only
	if err := o.changeCredential(ctx, CredentialChange{Name: name, Try: url}); err != nil {
		return nil, err
	}
	result, err := o.runBeside(ctx, command, timeout)
	if err != nil {
		return nil, failed(err)
	}
	return result, nil
}

// runBeside runs a command of which the ledger knows nothing.
func (o *Operator) runBeside(ctx context.Context, command string, timeout time.Duration) (*Result, error) {
	if timeout > 0 {
		late, cancel := context.WithTimeoutCause(ctx, timeout+lateKill, errExecTimeout)
		defer cancel()
		ctx = late
	}
	sent := time.Now()
	stream, err := o.c.wire.Execd(o.key.SandboxID).Run(ctx, opensandbox.RunRequest{
		Command: commandLine(cmp.Or(o.opts.Shell, DefaultShell), command), Timeout: timeout,
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = stream.Close() }() // always nil
	result, ended := &Result{}, false
	var stdout, stderr strings.Builder
	for {
		frame, err := stream.Next()
		if errors.Is(err, io.EOF) && !errors.Is(err, ErrStreamLost) {
			break
		}
		if err != nil {
			return nil, err
		}
		switch {
		case frame.Type == opensandbox.TypeStdout:
			result.keep(&stdout, frame)
		case frame.Type == opensandbox.TypeStderr:
			result.keep(&stderr, frame)
		case frame.Error != nil:
			code, ok := frame.Error.ExitCode()
			if !ok {
				return nil, &StartError{Message: startMessage(frame.Error)}
			}
			result.ExitCode, result.Signal = code, signalOf(frame.Error.Traceback)
			result.TimedOut = code == -1 && timeout > 0 && time.Since(sent) >= timeout
		}
		ended = ended || frame.Terminal()
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errExecTimeout):
		result.TimedOut = true
	case cause != nil: // it was interrupted
		return nil, cause
	case !ended:
		return nil, fmt.Errorf("%w: it ended without the command's end", ErrStreamLost)
	}
	result.Stdout, result.Stderr = o.c.redactor().Text(stdout.String()), o.c.redactor().Text(stderr.String())
	return result, nil
}

// keep adds a line of output to what a trial's result has of it.
func (r *Result) keep(text *strings.Builder, frame *opensandbox.Frame) {
	line := frame.Text() + "\n"
	if text.Len()+len(line) > maxTrial {
		r.Truncated = true
		return
	}
	text.WriteString(line)
}

// tried records that somebody is about to see what a credential does.
func (c *Credentials) tried(ctx context.Context, name, url string) error {
	return c.change(ctx, "trying credential", name, func(state *bindings) error {
		if err := credential.ValidateName(name); err != nil {
			return err
		}
		return c.h.record(ctx, state, store.EventCredentialTested, testedPayload{name, url})
	})
}

type testedPayload struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}
