package opensandbox_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// ptyExecd is an execd with one terminal session, which a script plays.
type ptyExecd struct {
	status   string // of GET /pty/p1
	query    atomic.Value
	connects atomic.Int32
	play     func(ctx context.Context, conn *websocket.Conn)
}

func (p *ptyExecd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/pty/p1":
		_, _ = io.WriteString(w, p.status)
	case r.URL.Path == "/pty/p1/ws" && r.Header.Get("X-EXECD-ACCESS-TOKEN") == "tok":
		p.connects.Add(1)
		p.query.Store(r.URL.RawQuery)
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = conn.CloseNow() }()
		p.play(r.Context(), conn)
	default:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"code":"CONTEXT_NOT_FOUND","message":"pty session not found"}`)
	}
}

func (p *ptyExecd) serve(t *testing.T, opts opensandbox.Options) *opensandbox.Execd {
	t.Helper()
	return execdAt(t, strings.TrimPrefix(serve(t, p.ServeHTTP).URL, "http://"), opts)
}

func say(ctx context.Context, conn *websocket.Conn, frames ...string) {
	for _, frame := range frames {
		kind := websocket.MessageBinary
		if frame != "" && frame[0] == '{' {
			kind = websocket.MessageText
		}
		_ = conn.Write(ctx, kind, []byte(frame))
	}
}

// hear returns the next frame that is not a sign of life.
func hear(ctx context.Context, conn *websocket.Conn) string {
	for {
		_, frame, err := conn.Read(ctx)
		if err != nil {
			return err.Error()
		}
		if string(frame) != `{"type":"ping"}` {
			return string(frame)
		}
		say(ctx, conn, "{\"type\":\"pong\"}\n")
	}
}

func replay(offset uint64, data string) string {
	return "\x03" + string(binary.BigEndian.AppendUint64(nil, offset)) + data
}

const (
	connectedPTY  = `{"type":"connected","session_id":"p1","mode":"pty"}` + "\n"
	connectedPipe = `{"type":"connected","session_id":"p1","mode":"pipe"}` + "\n"
	running       = `{"session_id":"p1","running":true,"output_offset":0}`
)

// watch reads a terminal to its end and returns what it told.
func watch(pty *opensandbox.PTY) (string, error) {
	var told strings.Builder
	for {
		event, err := pty.Next()
		if err != nil {
			return told.String(), err
		}
		switch event.Kind {
		case opensandbox.PTYOutput:
			fmt.Fprintf(&told, "out@%d %q ", event.Offset, event.Data)
		case opensandbox.PTYStderr:
			fmt.Fprintf(&told, "err@%d %q ", event.Offset, event.Data)
		case opensandbox.PTYReplay:
			fmt.Fprintf(&told, "replay@%d %q lost %d ", event.Offset, event.Data, event.Lost)
		case opensandbox.PTYConnected:
			fmt.Fprintf(&told, "connected %s ", event.Mode)
		case opensandbox.PTYExit:
			fmt.Fprintf(&told, "exit %d lost %d ", event.ExitCode, event.Lost)
		case opensandbox.PTYProblem:
			fmt.Fprintf(&told, "problem %s ", event.Problem.Code)
		}
	}
}

// The frames are those that a server was seen to send.
func TestPTYRecordings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		since  int64
		frames []string
		status string
		want   string
	}{
		{
			"a terminal", 0,
			[]string{connectedPTY, "\x01bash-5.2# ", "\x01echo hi\r\nhi dumb\r\n", "\x0124 80\r\n", "{\"type\":\"pong\"}\n", "{\"type\":\"error\",\"error\":\"unknown frame type \\\"bogus\\\"\",\"code\":\"INVALID_FRAME\"}\n", "{\"type\":\"exit\",\"exit_code\":7}\n"},
			`{"session_id":"p1","running":false,"output_offset":35}`,
			`connected pty out@0 "bash-5.2# " out@10 "echo hi\r\nhi dumb\r\n" out@28 "24 80\r\n" problem INVALID_FRAME exit 7 lost 0 `,
		},
		{
			"pipes", 0,
			[]string{connectedPipe, "\x02err\n", "\x01out\n", "{\"type\":\"exit\",\"exit_code\":2}\n"},
			running,
			`connected pipe err@0 "err\n" out@4 "out\n" exit 2 lost 0 `,
		},
		{
			"a replay comes first", 4,
			[]string{replay(4, "two\nerr\n"), connectedPipe, "\x01x", "{\"type\":\"exit\",\"exit_code\":-1}\n"},
			running,
			`replay@4 "two\nerr\n" lost 0 connected pipe out@12 "x" exit -1 lost 0 `,
		},
		{
			"a replay with a gap", 4,
			[]string{replay(10, "late"), connectedPTY, "\x01x", "{\"type\":\"exit\",\"exit_code\":0}\n"},
			running,
			`replay@10 "late" lost 6 connected pty out@14 "x" exit 0 lost 0 `,
		},
		{
			"a replay of more than was asked for", 4,
			[]string{replay(0, "onetwo"), connectedPTY, "{\"type\":\"exit\",\"exit_code\":0}\n"},
			running,
			`replay@4 "wo" lost 0 connected pty exit 0 lost 0 `,
		},
		{
			"a fast command's output is only in a replay", 0,
			[]string{connectedPTY, "{\"type\":\"exit\",\"exit_code\":0}\n"},
			`{"session_id":"p1","running":false,"output_offset":9}`,
			`connected pty exit 0 lost 9 `,
		},
		{
			"frames of later servers", 0,
			[]string{connectedPTY, "\x09what", `{"type":"weather"}`, "{\"type\":\"exit\",\"exit_code\":0}\n"},
			running,
			`connected pty exit 0 lost 0 `,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := &ptyExecd{status: test.status, play: func(ctx context.Context, conn *websocket.Conn) {
				say(ctx, conn, test.frames...)
				_ = conn.Close(websocket.StatusNormalClosure, "process exited")
			}}
			pty, err := server.serve(t, opensandbox.Options{}).AttachPTY(t.Context(), "p1", opensandbox.PTYAttach{Start: true, Since: test.since})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = pty.Close() }()
			got, err := watch(pty)
			if !errors.Is(err, io.EOF) || errors.Is(err, opensandbox.ErrStreamLost) {
				t.Errorf("ended with %v", err)
			}
			same(t, "told", got, test.want)
		})
	}
}

func TestPTYInput(t *testing.T) {
	t.Parallel()
	heard := make(chan string, 16)
	server := &ptyExecd{status: running, play: func(ctx context.Context, conn *websocket.Conn) {
		say(ctx, conn, connectedPTY)
		for {
			frame := hear(ctx, conn)
			heard <- frame
			if frame == "\x00exit\n" {
				say(ctx, conn, `{"type":"exit","exit_code":0}`)
				return
			}
		}
	}}
	pty, err := server.serve(t, opensandbox.Options{}).AttachPTY(t.Context(), "p1", opensandbox.PTYAttach{Pipes: true, TakeOver: true, Since: 7})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pty.Close() }()
	same(t, "query", server.query.Load().(string), "pty=0&since=7&takeover=1")
	long := strings.Repeat("é", 9000) // in two frames, cut between characters
	for want, send := range map[string]func() error{
		"\x00\x03":                               func() error { return drop(pty.Write([]byte{3})) },
		`{"type":"resize","cols":120,"rows":40}`: func() error { return pty.Resize(120, 40) },
		`{"type":"signal","signal":"SIGTERM"}`:   func() error { return pty.Signal(opensandbox.SignalTerminate) },
		"\x00" + long[:16384] + "|\x00" + long[16384:]: func() error {
			n, err := pty.Write([]byte(long))
			if err == nil && n != len(long) {
				return fmt.Errorf("wrote %d", n)
			}
			return err
		},
	} {
		if err := send(); err != nil {
			t.Fatal(err)
		}
		got := <-heard
		if strings.Contains(want, "|") {
			got += "|" + <-heard
		}
		same(t, "frame", got, want)
	}
	for name, err := range map[string]error{"size": pty.Resize(0, 1), "rows": pty.Resize(1, 70000), "signal": pty.Signal("SIGSTOP")} {
		if !errors.Is(err, opensandbox.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := pty.Write([]byte("exit\n")); err != nil {
		t.Error(err)
	}
	if got, err := watch(pty); !errors.Is(err, io.EOF) || got != "connected pty exit 0 lost 0 " {
		t.Errorf("got %q, %v", got, err)
	}
}

// What was written has been taken when Settle returns, however slowly that goes.
func TestPTYSettles(t *testing.T) {
	t.Parallel()
	var taken atomic.Int32
	server := &ptyExecd{status: running, play: func(ctx context.Context, conn *websocket.Conn) {
		for {
			_, frame, err := conn.Read(ctx)
			switch {
			case err != nil:
				return
			case string(frame) == `{"type":"ping"}`:
				say(ctx, conn, "{\"type\":\"pong\"}\n")
			default:
				time.Sleep(20 * time.Millisecond) // that is slow
				taken.Add(1)
			}
		}
	}}
	pty, err := server.serve(t, opensandbox.Options{}).AttachPTY(t.Context(), "p1", opensandbox.PTYAttach{})
	if err != nil {
		t.Fatal(err)
	}
	watched := make(chan error, 1)
	go func() { watched <- drop(watch(pty)) }()
	for round := range int32(3) {
		for range 5 {
			if _, err := pty.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		if err := pty.Settle(t.Context()); err != nil || taken.Load() != 5*(round+1) {
			t.Errorf("%d were taken, %v", taken.Load(), err)
		}
	}
	_ = pty.Close()
	<-watched
	if err := pty.Settle(t.Context()); !errors.Is(err, opensandbox.ErrStreamLost) {
		t.Errorf("after the end: %v", err)
	}

	server.play = deaf
	pty, err = server.serve(t, opensandbox.Options{}).AttachPTY(t.Context(), "p1", opensandbox.PTYAttach{})
	if err != nil {
		t.Fatal(err)
	}
	go func() { watched <- drop(watch(pty)) }()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := pty.Settle(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("nobody answers: %v", err)
	}
	_ = pty.Close()
	<-watched
}

// deaf takes everything and answers nothing.
func deaf(ctx context.Context, conn *websocket.Conn) {
	for {
		if _, _, err := conn.Read(ctx); err != nil {
			return
		}
	}
}

// Whatever happens before the exit frame is no exit.
func TestPTYIsLost(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		play func(ctx context.Context, conn *websocket.Conn)
		is   error
		says string
	}{
		{"cut", func(_ context.Context, conn *websocket.Conn) { _ = conn.CloseNow() }, opensandbox.ErrStreamLost, ""},
		{"taken over", func(_ context.Context, conn *websocket.Conn) { _ = conn.Close(4001, "TAKEN_OVER") }, opensandbox.ErrTakenOver, ""},
		{"refused behind the proxy", func(_ context.Context, conn *websocket.Conn) { _ = conn.Close(1008, "") }, opensandbox.ErrStreamLost, "refused by execd"},
		{"broken behind the proxy", func(_ context.Context, conn *websocket.Conn) { _ = conn.Close(1011, "") }, opensandbox.ErrStreamLost, "StatusInternalError"},
		{"closed without an exit", func(_ context.Context, conn *websocket.Conn) { _ = conn.Close(1000, "process exited") }, opensandbox.ErrStreamLost, ""},
		{"silent", deaf, opensandbox.ErrTimeout, "no sign of life"},
		{"an exit without a code", func(ctx context.Context, conn *websocket.Conn) { say(ctx, conn, `{"type":"exit"}`) }, opensandbox.ErrStreamLost, "exit code"},
		{"half a replay", func(ctx context.Context, conn *websocket.Conn) { say(ctx, conn, "\x03\x00\x00") }, opensandbox.ErrStreamLost, "replay"},
		{"no JSON", func(ctx context.Context, conn *websocket.Conn) { say(ctx, conn, "{") }, opensandbox.ErrStreamLost, "no JSON"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := &ptyExecd{status: running, play: test.play}
			pty, err := server.serve(t, opensandbox.Options{IdleTimeout: 300 * time.Millisecond}).AttachPTY(t.Context(), "p1", opensandbox.PTYAttach{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = pty.Close() }()
			got, err := watch(pty)
			if !errors.Is(err, test.is) || !errors.Is(err, opensandbox.ErrStreamLost) || !strings.Contains(err.Error(), test.says) || got != "" {
				t.Errorf("got %q, %v", got, err)
			}
			if _, again := pty.Next(); !errors.Is(again, err) {
				t.Errorf("the error does not stay: %v", again)
			}
		})
	}
}

// A quiet terminal is alive as long as the server answers.
func TestPTYStaysWhileServerAnswers(t *testing.T) {
	t.Parallel()
	server := &ptyExecd{status: running, play: func(ctx context.Context, conn *websocket.Conn) {
		for range 5 { // longer than the idle timeout
			_, _, _ = conn.Read(ctx)
			say(ctx, conn, `{"type":"pong"}`)
		}
		say(ctx, conn, `{"type":"exit","exit_code":0}`)
	}}
	pty, err := server.serve(t, opensandbox.Options{IdleTimeout: 3 * time.Second}).AttachPTY(t.Context(), "p1", opensandbox.PTYAttach{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pty.Close() }()
	if got, err := watch(pty); !errors.Is(err, io.EOF) || got != "exit 0 lost 0 " {
		t.Errorf("got %q, %v", got, err)
	}
}

// A connection is made again where the first one was cut, and nothing is run again.
func TestPTYReconnects(t *testing.T) {
	t.Parallel()
	server := &ptyExecd{status: running}
	server.play = func(ctx context.Context, conn *websocket.Conn) {
		if server.connects.Load() == 1 {
			say(ctx, conn, connectedPTY, "\x01abc")
			_ = conn.CloseNow()
			return
		}
		say(ctx, conn, replay(3, "def"), connectedPTY, "\x01ghi", `{"type":"exit","exit_code":0}`)
	}
	execd := server.serve(t, opensandbox.Options{})
	first, err := execd.AttachPTY(t.Context(), "p1", opensandbox.PTYAttach{Start: true})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := watch(first); !errors.Is(err, opensandbox.ErrStreamLost) || got != `connected pty out@0 "abc" ` {
		t.Errorf("got %q, %v", got, err)
	}
	at := first.Offset()
	_ = first.Close()
	_ = first.Close()
	again, err := execd.AttachPTY(t.Context(), "p1", opensandbox.PTYAttach{Since: at, TakeOver: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	if got, err := watch(again); !errors.Is(err, io.EOF) || got != `replay@3 "def" lost 0 connected pty out@6 "ghi" exit 0 lost 0 ` {
		t.Errorf("got %q, %v", got, err)
	}
	same(t, "query", server.query.Load().(string), "since=3&takeover=1")
}

// Servers run a session's command again for whoever connects after it ended.
func TestPTYThatEndedIsNotStartedAgain(t *testing.T) {
	t.Parallel()
	server := &ptyExecd{status: `{"session_id":"p1","running":false,"output_offset":12}`, play: func(context.Context, *websocket.Conn) {}}
	execd := server.serve(t, opensandbox.Options{})
	_, err := execd.AttachPTY(t.Context(), "p1", opensandbox.PTYAttach{Since: 5, TakeOver: true})
	if !errors.Is(err, opensandbox.ErrPTYEnded) || server.connects.Load() != 0 {
		t.Errorf("%d connects, %v", server.connects.Load(), err)
	}
	if _, err := execd.AttachPTY(t.Context(), "gone", opensandbox.PTYAttach{Start: true}); !errors.Is(err, opensandbox.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if _, err := execd.AttachPTY(t.Context(), "p1", opensandbox.PTYAttach{Since: -1}); !errors.Is(err, opensandbox.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

func TestPTYRefusals(t *testing.T) {
	t.Parallel()
	_, execd := recordExecd(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Request-ID", "r7")
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"code":"ALREADY_CONNECTED","message":"another client is already connected to pty session p1"}`)
	})
	_, err := execd.AttachPTY(t.Context(), "p1", opensandbox.PTYAttach{Start: true})
	var refused *opensandbox.Error
	if !errors.Is(err, opensandbox.ErrConflict) || !errors.As(err, &refused) || refused.Code != "ALREADY_CONNECTED" || refused.RequestID != "r7" {
		t.Errorf("got %v", err)
	}
}

func TestPTYSessions(t *testing.T) {
	t.Parallel()
	calls, execd := recordExecd(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost && r.ContentLength > 0 && strings.HasSuffix(r.URL.Path, "/pty"):
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `{"session_id":"be4e"}`)
		case r.Method == http.MethodGet:
			_, _ = io.WriteString(w, `{"session_id":"be4e","running":false,"output_offset":9007199254740993}`)
		}
	})
	id, err := execd.CreatePTY(t.Context(), opensandbox.PTYRequest{Cwd: "/tmp"})
	if err != nil || id != "be4e" {
		t.Fatalf("got %q, %v", id, err)
	}
	call, body := calls.last(t)
	same(t, "create", call+" "+body, `POST /pty {"cwd":"/tmp"}`)
	status, err := execd.PTYStatus(t.Context(), id)
	if err != nil || status.Running || status.OutputOffset != 9007199254740993 {
		t.Errorf("got %+v, %v", status, err)
	}
	if err := execd.DeletePTY(t.Context(), id); err != nil {
		t.Error(err)
	}
	call, _ = calls.last(t)
	same(t, "delete", call, "DELETE /pty/be4e")
	if _, err := execd.CreatePTY(t.Context(), opensandbox.PTYRequest{Command: strings.Repeat("x", opensandbox.MaxInlineCommand+1)}); !errors.Is(err, opensandbox.ErrInvalid) {
		t.Errorf("a command that no shell can be given: %v", err)
	}
}

// Two JSON values in one answer: the first is the refusal, and the id in the second is no session.
func TestPTYCreateWithTwoAnswers(t *testing.T) {
	t.Parallel()
	calls, execd := recordExecd(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, `{"code":"RUNTIME_ERROR","message":"mkdir /proc/x"}{"session_id":"3568"}`)
	})
	id, err := execd.CreatePTY(t.Context(), opensandbox.PTYRequest{Cwd: "/proc/x"})
	if err == nil || id != "" || !strings.Contains(err.Error(), "mkdir /proc/x (status 500, RUNTIME_ERROR)") || calls.count() != 1 {
		t.Errorf("got %q, %v after %d calls", id, err, calls.count())
	}
}

// The guard around a command, in real shells: it runs once, and says so the second time.
func TestPTYCommandRunsOnce(t *testing.T) {
	t.Parallel()
	var command string
	mark := filepath.Join(t.TempDir(), "it's begun")
	execd := execdAt(t, strings.TrimPrefix(serve(t, func(w http.ResponseWriter, r *http.Request) {
		command = decodeCommand(t, r)
		_, _ = io.WriteString(w, `{"session_id":"p1"}`)
	}).URL, "http://"), opensandbox.Options{})
	if _, err := execd.CreatePTY(t.Context(), opensandbox.PTYRequest{Command: "echo ran; exit 3", Mark: mark}); err != nil {
		t.Fatal(err)
	}
	for try, want := range []struct {
		out  string
		code int
	}{{"ran\n", 3}, {"", opensandbox.PTYRepeated}, {"", opensandbox.PTYRepeated}} {
		out, err := exec.Command("bash", "--norc", "--noprofile", "-c", command).Output() //nolint:gosec // the test's own command
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != want.code || string(out) != want.out {
			t.Errorf("run %d: %q, %v", try, out, err)
		}
	}
	if code, err := os.ReadFile(filepath.Join(mark, "code")); err != nil || string(code) != "3\n" {
		t.Errorf("the exit code is kept as %q, %v", code, err)
	}
}
