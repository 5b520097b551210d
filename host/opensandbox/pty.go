package opensandbox

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"
)

// PTYRequest is a terminal session.
type PTYRequest struct {
	Cwd string // is made when it is missing; empty is execd's own
	// Command is what runs in the session; empty is an interactive bash. It runs once: the server
	// would run it again for everybody who connects after it ended, and it then exits with
	// PTYRepeated instead.
	Command string
	// Mark is the path of a folder that is made in the sandbox when the command begins, by which it is
	// known that it has. It must be another one for each session, and may be removed when the session
	// is deleted. Empty: one in /tmp, which stays.
	Mark string
}

// PTYRepeated is the exit code of a command that had ended before it was connected to.
const PTYRepeated = 254

// CreatePTY makes a terminal session and returns its id. Nothing runs until [Execd.AttachPTY] starts
// it. It is sent once.
func (e *Execd) CreatePTY(ctx context.Context, req PTYRequest) (string, error) {
	command := req.Command
	if len(command) > MaxInlineCommand {
		return "", fmt.Errorf("create pty %q: %w: a command of %d bytes, and %d fit; upload it as a file and run that",
			e.sandboxID, ErrInvalid, len(command), MaxInlineCommand)
	}
	if command != "" {
		command = runOnce(command, req.Mark)
	}
	return e.createIn(ctx, "create pty", "/pty", struct {
		Cwd     string `json:"cwd,omitempty"`
		Command string `json:"command,omitempty"`
	}{req.Cwd, command}, req.Cwd)
}

// runOnce puts a guard before a command: a folder that only the first one can make. Where folders
// can't be made at all, the command runs without.
func runOnce(command, mark string) string {
	if mark == "" {
		mark = "/tmp/.alineo-pty-" + uuid.NewString()
	}
	mark = "'" + strings.ReplaceAll(mark, "'", `'\''`) + "'"
	return fmt.Sprintf("mkdir %[1]s 2>/dev/null || { [ -d %[1]s ] && exit %[2]d; }\n%[3]s", mark, PTYRepeated, command)
}

// PTYStatus is what a server says about a session.
type PTYStatus struct {
	ID      string `json:"session_id"`
	Running bool   `json:"running"`
	// OutputOffset is how many bytes the session has printed so far.
	OutputOffset int64 `json:"output_offset"`
}

// PTYStatus describes a session.
func (e *Execd) PTYStatus(ctx context.Context, id string) (*PTYStatus, error) {
	var status PTYStatus
	err := e.c.do(ctx, call{
		op: "get pty", subject: id, to: e.target(), method: http.MethodGet, path: "/pty/" + url.PathEscape(id), idempotent: true,
	}, &status)
	if err != nil {
		return nil, err
	}
	return &status, nil
}

// DeletePTY ends a session and what runs in it. One that is gone already is a success.
func (e *Execd) DeletePTY(ctx context.Context, id string) error {
	return e.deleteByID(ctx, "delete pty", "/pty/", id)
}

// PTYSignals are what [PTY.Signal] can send.
const (
	SignalInterrupt = "SIGINT"
	SignalTerminate = "SIGTERM"
	SignalKill      = "SIGKILL"
	SignalQuit      = "SIGQUIT"
	SignalHangup    = "SIGHUP"
)

func isPTYSignal(name string) bool {
	switch name {
	case SignalInterrupt, SignalTerminate, SignalKill, SignalQuit, SignalHangup:
		return true
	}
	return false
}

// ptyPath is where a session's WebSocket is.
func ptyPath(id string) string { return "/pty/" + url.PathEscape(id) + "/ws" }
