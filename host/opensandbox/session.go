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

// CreateSession makes a bash session and returns its id. cwd is made when it is missing; empty is
// execd's own. It is sent once.
//
// A session is no long-lived shell: each run is a bash of its own, and what is carried from one to
// the next is the working directory and exported variables (up to 8 KiB each, no line feeds).
// Functions, aliases, options, other variables and background jobs are not.
func (e *Execd) CreateSession(ctx context.Context, cwd string) (string, error) {
	return e.createIn(ctx, "create session", "/session", struct {
		Cwd string `json:"cwd,omitempty"`
	}{cwd}, cwd)
}

// createIn makes something that has a session id.
func (e *Execd) createIn(ctx context.Context, op, path string, body any, cwd string) (string, error) {
	call := call{op: op, subject: e.sandboxID, to: e.target(), method: http.MethodPost, path: path}
	if err := checkPath(cwd); err != nil {
		return "", fmt.Errorf("%s: %w", call.name(), err)
	}
	var err error
	if call.body, err = json.Marshal(body); err != nil {
		return "", fmt.Errorf("%s: %w", call.name(), err)
	}
	var made struct {
		ID string `json:"session_id"`
	}
	if err := e.c.do(ctx, call, &made); err != nil {
		return "", err
	}
	if made.ID == "" {
		return "", fmt.Errorf("%s: the reply names no id", call.name())
	}
	return made.ID, nil
}

// SessionRun is a command for a session.
type SessionRun struct {
	Command string
	Cwd     string // becomes the session's own
	// Timeout is after how long execd kills the shell; 0 is a day. The stream ends with an *Error
	// then, and only when the shell's children have ended too.
	Timeout time.Duration
}

// RunInSession runs a command in a session and returns its events. It is sent once. stderr comes as
// stdout, and empty lines don't come at all.
//
// Runs have no ids of their own: [Stream.ID] is the session's, and when ctx ends, the session ends
// with the command. Runs at the same time are not kept apart.
func (e *Execd) RunInSession(ctx context.Context, sessionID string, run SessionRun) (*Stream, error) {
	call := call{
		op: "run in session", subject: sessionID, to: e.target(), method: http.MethodPost,
		path: "/session/" + url.PathEscape(sessionID) + "/run",
	}
	if run.Command == "" || run.Timeout < 0 {
		return nil, fmt.Errorf("%s: %w: want a command, and no negative timeout", call.name(), ErrInvalid)
	}
	if err := checkPath(run.Cwd); err != nil {
		return nil, fmt.Errorf("%s: %w", call.name(), err)
	}
	var err error
	call.body, err = json.Marshal(struct {
		Command string `json:"command"`
		Cwd     string `json:"cwd,omitempty"`
		Timeout int64  `json:"timeout,omitempty"`
	}{run.Command, run.Cwd, milliseconds(run.Timeout)})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", call.name(), err)
	}
	return e.openStreamOf(ctx, call, endsAtTerminal)
}

// DeleteSession ends a session. One that is gone already is a success.
func (e *Execd) DeleteSession(ctx context.Context, sessionID string) error {
	return e.deleteByID(ctx, "delete session", "/session/", sessionID)
}

func (e *Execd) deleteByID(ctx context.Context, op, path, id string) error {
	err := e.c.do(ctx, call{
		op: op, subject: id, to: e.target(), method: http.MethodDelete, path: path + url.PathEscape(id), idempotent: true,
	}, nil)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
