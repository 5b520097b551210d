package opensandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// RunRequest is a command for the sandbox's shell.
type RunRequest struct {
	// Command may be longer than what a server can pass to a shell: above [MaxInlineCommand] bytes it
	// is uploaded, and read from there. [CommandStatus.Content] is then what reads it.
	Command string
	Cwd     string            // must exist; empty is execd's own
	Env     map[string]string // on top of the sandbox's environment
	// Timeout is after how long execd kills the command's process group; 0 never. It is rounded up
	// to milliseconds.
	Timeout time.Duration
	// UID and GID are whom the command runs as; nil is execd's own user. GID needs UID.
	UID, GID *uint32
}

// encode checks a request and writes it as the server wants it.
func (r *RunRequest) encode(background bool) ([]byte, error) {
	if r.Command == "" {
		return nil, fmt.Errorf("%w: the command is empty", ErrInvalid)
	}
	if r.Timeout < 0 {
		return nil, fmt.Errorf("%w: a timeout of %s", ErrInvalid, r.Timeout)
	}
	if r.GID != nil && r.UID == nil {
		return nil, fmt.Errorf("%w: a group without a user", ErrInvalid)
	}
	if err := checkPath(r.Cwd); err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		Command    string            `json:"command"`
		Cwd        string            `json:"cwd,omitempty"`
		Background bool              `json:"background,omitempty"`
		Timeout    int64             `json:"timeout,omitempty"`
		UID        *uint32           `json:"uid,omitempty"`
		GID        *uint32           `json:"gid,omitempty"`
		Env        map[string]string `json:"envs,omitempty"`
	}{r.Command, r.Cwd, background, milliseconds(r.Timeout), r.UID, r.GID, r.Env})
}

// Run starts a command and returns its events. The command is sent once.
//
// When ctx ends, the command is interrupted in the sandbox (SIGTERM, SIGKILL 3 s later) and the
// stream goes on for some seconds at most, so that it can tell how the command ended: call Next
// until it returns an error, then Close. Without ctx ending, closing the stream leaves the command
// running.
//
// A stream that is cut loses the output from there on. Use [Execd.Start] for what must not be lost.
func (e *Execd) Run(ctx context.Context, req RunRequest) (*Stream, error) {
	return e.run(ctx, req, false)
}

func (e *Execd) run(ctx context.Context, req RunRequest, background bool) (*Stream, error) {
	call := call{
		op: "run command", subject: e.sandboxID, to: e.target(), method: http.MethodPost, path: "/command",
	}
	var err error
	if call.body, err = req.encode(background); err != nil {
		return nil, fmt.Errorf("%s: %w", call.name(), err)
	}
	if len(req.Command) <= MaxInlineCommand {
		return e.openStreamOf(ctx, call, endsAtTerminal)
	}
	script, err := e.storeScript(ctx, req.Command)
	if err != nil {
		return nil, fmt.Errorf("%s: uploading a command of %d bytes: %w", call.name(), len(req.Command), err)
	}
	req.Command = script.command()
	if call.body, err = req.encode(background); err != nil {
		return nil, fmt.Errorf("%s: %w", call.name(), err)
	}
	stream, err := e.openStreamOf(ctx, call, endsAtTerminal)
	if err != nil {
		return nil, errors.Join(err, script.remove(ctx))
	}
	return stream, nil
}

// openStreamOf sends a request that is answered by events, again while nobody takes the connection.
func (e *Execd) openStreamOf(ctx context.Context, call call, ends streamEnd) (*Stream, error) {
	var stream *Stream
	err := e.c.retry(ctx, call, func() error {
		var err error
		stream, err = e.openEvents(ctx, call, ends)
		return err
	})
	if err != nil {
		return nil, err
	}
	return stream, nil
}

func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// CommandStatus is what execd remembers of a command.
type CommandStatus struct {
	ID         string `json:"id"`
	Content    string `json:"content"` // the command's text
	Running    bool   `json:"running"`
	ExitCode   *int   `json:"exit_code,omitempty"` // nil while running, and when it isn't known; -1 for signals
	Error      string `json:"error,omitempty"`
	StartedAt  Time   `json:"started_at"`
	FinishedAt *Time  `json:"finished_at,omitempty"`
}

// Status asks what became of a command, by the id of its stream. It works after the stream was
// lost, for as long as execd lives. In the first second after the id came it may be ErrNotFound.
func (e *Execd) Status(ctx context.Context, commandID string) (*CommandStatus, error) {
	return e.status(ctx, commandID, false)
}

func (e *Execd) status(ctx context.Context, commandID string, single bool) (*CommandStatus, error) {
	var status CommandStatus
	err := e.c.do(ctx, call{
		op: "get command status", subject: commandID, to: e.target(), method: http.MethodGet,
		path: "/command/status/" + url.PathEscape(commandID), idempotent: true, single: single,
	}, &status)
	if err != nil {
		return nil, err
	}
	return &status, nil
}

// Interrupt ends a command: SIGTERM to its process group, SIGKILL after 3 s; the call waits for
// that. A command that is not running any more is a success.
func (e *Execd) Interrupt(ctx context.Context, commandID string) error {
	return e.interrupt(ctx, "interrupt command", "/command", commandID)
}

func (e *Execd) interrupt(ctx context.Context, op, path, id string) error {
	err := e.c.do(ctx, call{
		op: op, subject: id, to: e.target(), method: http.MethodDelete, path: path,
		query: url.Values{"id": {id}}, idempotent: true,
	}, nil)
	// execd answers 500 for a command that ended or that it never knew.
	var refused *Error
	if errors.As(err, &refused) && (refused.Status == http.StatusInternalServerError || refused.Status == http.StatusNotFound) {
		return nil
	}
	return err
}
