//go:build unix

package execd

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
)

const (
	writeWithin  = 10 * time.Second // a viewer who reads nothing for so long is cut off
	viewerPing   = 30 * time.Second
	maxFrame     = 4 << 20  // of a client
	outputFrame  = 32 << 10 // of ours, but for replays
	closeTaken   = websocket.StatusCode(4001)
	takenOver    = "TAKEN_OVER"
	startFailed  = "START_FAILED"
	invalidFrame = "INVALID_FRAME"
	stdinFailed  = "STDIN_WRITE_FAILED"
	connected    = "ALREADY_CONNECTED"
	sessionGone  = "SESSION_GONE"
)

// CreatePTYRequest is the body of POST /pty, which may be empty.
type CreatePTYRequest struct {
	Cwd     string `json:"cwd,omitempty"`
	Command string `json:"command,omitempty"`
}

// viewer is a client that is connected to a terminal.
type viewer struct {
	t    *terminal
	run  *terminalRun
	conn *websocket.Conn
	seen int64 // output up to here has been sent; guarded by t.mu
	// taken is set when another viewer has taken over; guarded by t.mu.
	taken bool
}

// serverFrame is a text frame of ours.
type serverFrame struct {
	Type      string `json:"type"`
	SessionID string `json:"session_id,omitempty"`
	Mode      string `json:"mode,omitempty"`
	ExitCode  *int   `json:"exit_code,omitempty"`
	Error     string `json:"error,omitempty"`
	Code      string `json:"code,omitempty"`
}

// clientFrame is a text frame of a client's.
type clientFrame struct {
	Type   string `json:"type"`
	Data   string `json:"data"`
	Cols   uint16 `json:"cols"`
	Rows   uint16 `json:"rows"`
	Signal string `json:"signal"`
}

func (s *Server) removeTerminal(w http.ResponseWriter, id string) {
	if !s.terminals.remove(id) {
		noTerminal(w, id)
		return
	}
	w.WriteHeader(http.StatusOK)
}

func noTerminal(w http.ResponseWriter, id string) {
	writeError(w, http.StatusNotFound, codeContextNotFound, "pty session "+id+" not found")
}

func (s *Server) createTerminal(w http.ResponseWriter, r *http.Request) {
	var q CreatePTYRequest
	if !decodeOptional(w, r, &q) {
		return
	}
	dir, err := s.makeDir(q.Cwd)
	if err != nil {
		writeError(w, http.StatusInternalServerError, codeRuntime, "error creating pty session. "+err.Error())
		return
	}
	t := newTerminal(uuid.NewString(), dir, q.Command)
	s.terminals.add(t)
	writeJSON(w, http.StatusCreated, map[string]string{"session_id": t.id})
}

func (s *Server) terminalStatus(w http.ResponseWriter, id string) {
	t := s.terminals.get(id)
	if t == nil {
		noTerminal(w, id)
		return
	}
	t.mu.Lock()
	st := struct {
		ID      string `json:"session_id"`
		Running bool   `json:"running"`
		Offset  int64  `json:"output_offset"`
	}{t.id, t.run != nil && !t.run.ended, t.out.end}
	t.mu.Unlock()
	writeJSON(w, http.StatusOK, st)
}

func (s *Server) viewTerminal(w http.ResponseWriter, r *http.Request, id string) {
	t := s.terminals.get(id)
	if t == nil {
		noTerminal(w, id)
		return
	}
	q := r.URL.Query()
	takeover := q.Get("takeover") == "1"
	since, err := strconv.ParseInt(q.Get("since"), 10, 64)
	if err != nil {
		since = 0
	}
	busy := "another client is already connected to pty session " + id
	t.mu.Lock()
	held := t.viewer != nil
	t.mu.Unlock()
	if held && !takeover {
		writeError(w, http.StatusConflict, connected, busy)
		return
	}
	// Who may come here at all is decided by the token, not by the page that asks.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return // it has been answered
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(maxFrame)
	v := &viewer{t: t, conn: conn}
	replay, from, err := s.attach(v, since, takeover, q.Get("pty") != "0")
	switch {
	case errors.Is(err, errConnected):
		v.refuse(connected, busy, websocket.StatusPolicyViolation)
		return
	case errors.Is(err, errGone):
		v.refuse(sessionGone, err.Error(), websocket.StatusInternalError)
		return
	case err != nil:
		v.refuse(startFailed, err.Error(), websocket.StatusInternalError)
		return
	}
	defer v.detach()
	v.serve(replay, from)
}

var (
	errConnected = errors.New("another client is connected")
	errGone      = errors.New("the pty session was deleted")
)

// attach makes v the terminal's viewer and starts the shell if it doesn't
// run. It returns the output that v hasn't seen, and where that begins.
func (s *Server) attach(v *viewer, since int64, takeover, tty bool) (replay []byte, from int64, err error) {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return nil, 0, errGone
	}
	if old := t.viewer; old != nil {
		if !takeover {
			return nil, 0, errConnected
		}
		old.taken = true
		t.viewer = nil
	}
	v.seen = t.out.end
	from = max(since, t.out.start)
	replay = t.out.after(nil, from)
	if t.run == nil || t.run.ended {
		if err := s.startTerminal(t, tty); err != nil {
			t.change.Broadcast()
			return nil, 0, err
		}
	}
	v.run, t.viewer = t.run, v
	t.change.Broadcast()
	return replay, from, nil
}

func (v *viewer) detach() {
	v.t.mu.Lock()
	defer v.t.mu.Unlock()
	if v.t.viewer == v {
		v.t.viewer = nil
	}
	v.t.change.Broadcast()
}

// refuse says why there will be nothing to see.
func (v *viewer) refuse(code, message string, status websocket.StatusCode) {
	ctx, cancel := context.WithTimeout(context.Background(), writeWithin)
	defer cancel()
	_ = v.say(ctx, serverFrame{Type: "error", Error: message, Code: code})
	_ = v.conn.Close(status, code)
}

// serve shows the terminal until its shell has ended, another viewer has
// taken over, or this one has gone.
func (v *viewer) serve(replay []byte, from int64) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	// Whatever ends the connection wakes who waits for output.
	stop := context.AfterFunc(ctx, func() {
		v.t.mu.Lock()
		defer v.t.mu.Unlock()
		v.t.change.Broadcast()
	})
	defer stop()
	if len(replay) > 0 {
		head := binary.BigEndian.AppendUint64([]byte{kindReplay}, uint64(from)) //nolint:gosec // it is not negative
		if v.frame(ctx, append(head, replay...)) != nil {
			return
		}
	}
	if v.say(ctx, serverFrame{Type: "connected", SessionID: v.t.id, Mode: v.run.mode()}) != nil {
		return
	}
	go func() {
		defer cancel()
		v.listen(ctx)
	}()
	go func() {
		defer cancel()
		v.ping(ctx)
	}()
	v.show(ctx)
}

// show sends output as it comes.
func (v *viewer) show(ctx context.Context) {
	t := v.t
	buf := make([]byte, 0, outputFrame+1)
	for {
		t.mu.Lock()
		for v.seen == t.out.end && !v.run.ended && !v.taken && ctx.Err() == nil {
			t.change.Wait()
		}
		// Who reads slowly and has been waited for can't have missed anything.
		at := v.seen
		out, kind := t.out.next(buf[:1], at, outputFrame)
		taken, ended, code := v.taken, v.run.ended, v.run.code
		t.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return
		case taken:
			_ = v.conn.Close(closeTaken, takenOver)
			return
		case len(out) > 1:
			out[0] = kind
			if v.frame(ctx, out) != nil {
				return
			}
			t.mu.Lock()
			v.seen = at + int64(len(out)-1)
			t.change.Broadcast()
			t.mu.Unlock()
		case ended:
			if v.say(ctx, serverFrame{Type: "exit", ExitCode: &code}) == nil {
				v.detach() // so that who comes now is not refused
				_ = v.conn.Close(websocket.StatusNormalClosure, "process exited")
			}
			return
		}
	}
}

func (v *viewer) frame(ctx context.Context, b []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	return v.conn.Write(ctx, websocket.MessageBinary, b)
}

// say sends a text frame, which ends with a newline.
func (v *viewer) say(ctx context.Context, f serverFrame) error {
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	b, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("wording a frame: %w", err)
	}
	return v.conn.Write(ctx, websocket.MessageText, append(b, '\n'))
}

// ping asks now and then whether the viewer is still there.
func (v *viewer) ping(ctx context.Context) {
	t := time.NewTicker(viewerPing)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		pctx, cancel := context.WithTimeout(ctx, viewerPing)
		err := v.conn.Ping(pctx)
		cancel()
		if err != nil {
			return
		}
	}
}

// listen does what the viewer says until it says no more.
func (v *viewer) listen(ctx context.Context) {
	for {
		kind, rd, err := v.conn.Reader(ctx)
		if err != nil {
			return
		}
		b, err := io.ReadAll(rd)
		if err != nil {
			return
		}
		answer := v.obey(kind == websocket.MessageBinary, b)
		if answer != nil && v.say(ctx, *answer) != nil {
			return
		}
	}
}

// obey does what one frame says, and returns the answer, if any.
func (v *viewer) obey(isBinary bool, b []byte) *serverFrame {
	if isBinary {
		if len(b) > 0 && b[0] == kindInput {
			return v.input(b[1:])
		}
		return nil // not ours to know
	}
	var f clientFrame
	if err := json.Unmarshal(b, &f); err != nil {
		if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return &serverFrame{Type: "error", Error: err.Error(), Code: invalidFrame}
		}
		return nil
	}
	switch f.Type {
	case "stdin":
		return v.input([]byte(f.Data))
	case "ping":
		return &serverFrame{Type: "pong"}
	case "resize":
		if !v.run.tty || f.Cols == 0 || f.Rows == 0 {
			return nil
		}
		if err := resize(v.run.stdin, f.Cols, f.Rows); err != nil {
			return &serverFrame{Type: "error", Error: err.Error(), Code: codeRuntime}
		}
		return nil
	case "signal":
		sig := signalNamed(f.Signal)
		if sig == 0 {
			return &serverFrame{Type: "error", Error: fmt.Sprintf("unknown signal %q", f.Signal), Code: invalidFrame}
		}
		_ = v.run.proc.Signal(sig) // it may have ended
		return nil
	}
	return &serverFrame{Type: "error", Error: fmt.Sprintf("unknown frame type %q", f.Type), Code: invalidFrame}
}

func (v *viewer) input(b []byte) *serverFrame {
	if err := v.t.write(v.run, b); err != nil {
		return &serverFrame{Type: "error", Error: err.Error(), Code: stdinFailed}
	}
	return nil
}

func signalNamed(name string) syscall.Signal {
	switch name {
	case "SIGINT":
		return syscall.SIGINT
	case "SIGTERM":
		return syscall.SIGTERM
	case "SIGKILL":
		return syscall.SIGKILL
	case "SIGQUIT":
		return syscall.SIGQUIT
	case "SIGHUP":
		return syscall.SIGHUP
	}
	return 0
}
