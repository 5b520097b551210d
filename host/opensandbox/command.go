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
	Command string
	Cwd     string            // must exist; empty is execd's own
	Env     map[string]string // on top of the sandbox's environment
	// Timeout is after how long execd kills the command's process group; 0 never. It is rounded up
	// to milliseconds.
	Timeout time.Duration
}

// Run starts a command and returns its events. The command is sent once.
//
// When ctx ends, the command is interrupted in the sandbox (SIGTERM, SIGKILL 3 s later) and the
// stream goes on for some seconds at most, so that it can tell how the command ended: call Next
// until it returns an error, then Close. Without ctx ending, closing the stream leaves the command
// running.
func (e *Execd) Run(ctx context.Context, req RunRequest) (*Stream, error) {
	call := call{
		op: "run command", subject: e.sandboxID, to: e.target(), method: http.MethodPost, path: "/command",
	}
	var err error
	call.body, err = json.Marshal(struct {
		Command string            `json:"command"`
		Cwd     string            `json:"cwd,omitempty"`
		Timeout int64             `json:"timeout,omitempty"`
		Env     map[string]string `json:"envs,omitempty"`
	}{req.Command, req.Cwd, milliseconds(req.Timeout), req.Env})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", call.name(), err)
	}
	if req.Command == "" {
		return nil, fmt.Errorf("%s: %w: the command is empty", call.name(), ErrInvalid)
	}
	if err := checkPath(req.Cwd); err != nil {
		return nil, fmt.Errorf("%s: %w", call.name(), err)
	}
	var stream *Stream
	err = e.c.retry(ctx, call, func() error {
		var err error
		stream, err = e.openEvents(ctx, call)
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
	ExitCode   *int   `json:"exit_code,omitempty"` // nil while running; -1 for signals
	Error      string `json:"error,omitempty"`
	StartedAt  Time   `json:"started_at"`
	FinishedAt *Time  `json:"finished_at,omitempty"`
}

// Status asks what became of a command, by the id of its stream. It works after the stream was
// lost, for as long as execd lives.
func (e *Execd) Status(ctx context.Context, commandID string) (*CommandStatus, error) {
	var status CommandStatus
	err := e.c.do(ctx, call{
		op: "get command status", subject: commandID, to: e.target(), method: http.MethodGet,
		path: "/command/status/" + url.PathEscape(commandID), idempotent: true,
	}, &status)
	if err != nil {
		return nil, err
	}
	return &status, nil
}

// Interrupt ends a command: SIGTERM to its process group, SIGKILL after 3 s; the call waits for
// that. A command that is not running any more is a success.
func (e *Execd) Interrupt(ctx context.Context, commandID string) error {
	err := e.c.do(ctx, call{
		op: "interrupt command", subject: commandID, to: e.target(), method: http.MethodDelete, path: "/command",
		query: url.Values{"id": {commandID}}, idempotent: true,
	}, nil)
	// execd answers 500 for a command that ended or that it never knew.
	var refused *Error
	if errors.As(err, &refused) && (refused.Status == http.StatusInternalServerError || refused.Status == http.StatusNotFound) {
		return nil
	}
	return err
}
