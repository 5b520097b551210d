package opensandbox

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// PTYRequest is a terminal session.
type PTYRequest struct {
	Cwd string // is made when it is missing; empty is execd's own
	// Command is what runs in the session; empty is an interactive bash. It runs once: the server
	// would run it again for everybody who connects after it ended, and it then exits with
	// PTYRepeated instead. When a signal ends it, its exit code is 128 and the signal's number.
	Command string
	// Mark is the path of a folder that is made in the sandbox when the command begins, by which it is
	// known that it has, and which then has its exit code, see [Execd.PTYExitCode]. It must be another one
	// for each session, and may be removed when the session is deleted. Empty: one in /tmp, which stays.
	Mark string
}

// PTYRepeated is the exit code of a command that had ended before it was connected to.
const PTYRepeated = 254

// CreatePTY makes a terminal session and returns its id. Nothing runs until [Execd.AttachPTY] starts
// it. It is sent once.
func (e *Execd) CreatePTY(ctx context.Context, req PTYRequest) (string, error) {
	command := req.Command
	if command != "" {
		command = runOnce(command, req.Mark)
	}
	if len(command) > MaxInlineCommand {
		return "", fmt.Errorf("create pty %q: %w: a command of %d bytes is too long; upload it as a file and run that",
			e.sandboxID, ErrInvalid, len(req.Command))
	}
	return e.createIn(ctx, "create pty", "/pty", struct {
		Cwd     string `json:"cwd,omitempty"`
		Command string `json:"command,omitempty"`
	}{req.Cwd, command}, req.Cwd)
}

// runOnce puts a guard before a command: a folder that only the first one can make. Where folders
// can't be made at all, the command runs without. Behind it comes the keeping of its exit code, which
// servers tell only to whoever is connected. The command has a shell of its own for that, so that it can
// replace it; the other one says nothing about its end, and bears with signals, which are for both.
func runOnce(command, mark string) string {
	if mark == "" {
		mark = "/tmp/.alineo-pty-" + uuid.NewString()
	}
	return fmt.Sprintf(`mkdir %[1]s 2>/dev/null || { [ -d %[1]s ] && exit %[2]d; }
trap : HUP INT QUIT TERM
{ "${BASH:-/bin/sh}" ${BASH:+--norc --noprofile} -c %[3]s 2>&3 3>&-; } 3>&2 2>/dev/null
set -- $?
echo $1 2>/dev/null >%[1]s/%[4]s
exit $1`, shellQuote(mark), PTYRepeated, shellQuote(command), exitCodeFile)
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// exitCodeFile is in a session's Mark.
const exitCodeFile = "code"

// PTYExitCode returns how the command of a session with this Mark ended; a signal is 128 and its number.
// It is ErrNotFound while the command runs, and when that can't be known: the session was ended from
// outside, or with everything that the shell was waiting for.
func (e *Execd) PTYExitCode(ctx context.Context, mark string) (int, error) {
	const op, enough = "get exit code of pty", 16
	file, err := e.Download(ctx, path.Join(mark, exitCodeFile))
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(file, enough))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", op, err)
	}
	code, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || code < 0 {
		return 0, fmt.Errorf("%s: %w: %q is none", op, ErrNotFound, text)
	}
	return code, nil
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
