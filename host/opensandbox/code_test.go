package opensandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// What an interpreter says, in the order in which it was seen to say it: the exception, and then the
// completion; and a result behind the completion.
const (
	codeStart  = `{"type":"init","text":"ctx1"}` + "\n\n" + `{"type":"execution_count","execution_count":4}` + "\n\n"
	codeResult = `{"type":"result","results":{"text":"42","application/json":{"a":[1]}}}` + "\n\n"
	codeError  = `{"type":"status","text":"error"}` + "\n\n" + `{"type":"error","error":{"ename":"ZeroDivisionError","evalue":"division by zero","traceback":["l1","l2"]}}` + "\n\n"
	codeDone   = `{"type":"execution_complete","execution_time":12}` + "\n\n"
)

// tell reads a stream of code to its end.
func tell(stream *opensandbox.Stream) (string, error) {
	var told strings.Builder
	for {
		frame, err := stream.Next()
		if err != nil {
			return told.String(), err
		}
		switch frame.Type {
		case opensandbox.TypeExecutionCount:
			fmt.Fprintf(&told, "count %d ", frame.ExecutionCount())
		case opensandbox.TypeResult:
			fmt.Fprintf(&told, "result %s %s ", frame.Results()["text"], frame.Results()["application/json"])
		case opensandbox.TypeError:
			fmt.Fprintf(&told, "error %s %s %v ", frame.Error.Name, frame.Error.Value, frame.Error.Traceback)
		case opensandbox.TypeExecutionComplete:
			fmt.Fprintf(&told, "complete %s ", frame.ExecutionTime())
		}
	}
}

func TestCode(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, stream, want string
		is                 error
	}{
		{"result", codeStart + codeResult + codeDone, `count 4 result "42" {"a":[1]} complete 12ms `, io.EOF},
		{"result after the completion", codeStart + codeDone + codeResult, `count 4 complete 12ms result "42" {"a":[1]} `, io.EOF},
		{"exception", codeStart + codeError + codeDone, `count 4 error ZeroDivisionError division by zero [l1 l2] complete 12ms `, io.EOF},
		{"exception after the completion", codeStart + codeDone + codeError, `count 4 complete 12ms error ZeroDivisionError division by zero [l1 l2] `, io.EOF},
		{"busy", codeStart + `{"code":"RUNTIME_ERROR","message":"session is busy"}`, "count 4 ", nil},
		{"cut", codeStart, "count 4 ", opensandbox.ErrStreamLost},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			calls, execd := recordExecd(t, reply(test.stream))
			stream, err := execd.RunCode(t.Context(), opensandbox.CodeRequest{Context: opensandbox.CodeContext{Language: "python"}, Code: "1/0"})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = stream.Close() }()
			got, err := tell(stream)
			same(t, "told", got, test.want)
			if test.is != nil && (!errors.Is(err, test.is) || errors.Is(test.is, io.EOF) && errors.Is(err, opensandbox.ErrStreamLost)) {
				t.Errorf("ended with %v", err)
			}
			if test.is == nil && !strings.Contains(err.Error(), "session is busy (RUNTIME_ERROR)") {
				t.Errorf("ended with %v", err)
			}
			call, body := calls.last(t)
			same(t, "call", call+" "+body, `POST /code {"context":{"language":"python"},"code":"1/0"}`)
		})
	}
}

// The connection is cut after each byte in turn: only a stream that was closed in good order is whole.
func TestCodeCutAnywhere(t *testing.T) {
	t.Parallel()
	body := codeStart + codeError + codeDone
	head := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	raw := head + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	cut := 0
	execd := execdAt(t, rawServer(t, func(*http.Request) []byte { return []byte(raw[:cut]) }), opensandbox.Options{})
	for cut = len(head); cut <= len(raw); cut++ {
		stream, err := execd.RunCode(t.Context(), opensandbox.CodeRequest{Code: "x"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = tell(stream)
		_ = stream.Close()
		whole := cut >= len(raw)-2 // the last line end carries nothing
		if whole == errors.Is(err, opensandbox.ErrStreamLost) && cut != len(raw)-1 && cut != len(raw)-2 {
			t.Fatalf("cut after %d of %d bytes: %v", cut, len(raw), err)
		}
	}
}

// A server that goes on talking after the completion is not waited for for ever.
func TestCodeWithEndlessTail(t *testing.T) {
	t.Parallel()
	_, execd := recordExecd(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, codeStart+codeDone)
		ticks := time.NewTicker(20 * time.Millisecond)
		defer ticks.Stop()
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, `{"type":"ping","text":"pong"}`+"\n\n")
			w.(http.Flusher).Flush()
			<-ticks.C
		}
	})
	stream, err := execd.RunCode(t.Context(), opensandbox.CodeRequest{Code: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	if got, err := tell(stream); !errors.Is(err, io.EOF) || errors.Is(err, opensandbox.ErrStreamLost) || got != "count 4 complete 12ms " {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestCodeContexts(t *testing.T) {
	t.Parallel()
	calls, execd := recordExecd(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.Method + " " + r.URL.Path {
		case "POST /code/context", "GET /code/contexts/c1":
			_, _ = io.WriteString(w, `{"id":"c1","language":"python","cwd":"/w"}`)
		case "GET /code/contexts":
			_, _ = io.WriteString(w, `[{"id":"c1","language":"python"}]`)
		case "DELETE /code/contexts/gone":
			w.WriteHeader(http.StatusNotFound)
		case "DELETE /code":
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	ctx := t.Context()
	one := func(c *opensandbox.CodeContext, err error) error {
		if err == nil && (c.ID != "c1" || c.Language != "python") {
			return fmt.Errorf("got %+v", c)
		}
		return err
	}
	for want, call := range map[string]func() error{
		`POST /code/context {"language":"python","cwd":"/w"}`: func() error { return one(execd.CreateCodeContext(ctx, "python", "/w")) },
		`GET /code/contexts/c1 `:                              func() error { return one(execd.CodeContext(ctx, "c1")) },
		`GET /code/contexts?language=python `:                 func() error { return drop(execd.CodeContexts(ctx, "python")) },
		`GET /code/contexts `:                                 func() error { return drop(execd.CodeContexts(ctx, "")) },
		`DELETE /code/contexts/gone `:                         func() error { return execd.DeleteCodeContext(ctx, "gone") },
		`DELETE /code/contexts?language=python `:              func() error { return execd.DeleteCodeContexts(ctx, "python") },
		`DELETE /code?id=c1 `:                                 func() error { return execd.InterruptCode(ctx, "c1") },
	} {
		if err := call(); err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		got, body := calls.last(t)
		same(t, "call", got+" "+body, want)
	}
	if err := execd.DeleteCodeContexts(ctx, ""); !errors.Is(err, opensandbox.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	if _, err := execd.RunCode(ctx, opensandbox.CodeRequest{}); !errors.Is(err, opensandbox.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	calls, execd := recordExecd(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/session":
			_, _ = io.WriteString(w, `{"session_id":"s1"}`)
		case "/session/s1/run":
			_, _ = io.WriteString(w, `{"type":"init","text":"s1"}`+"\n\n"+`{"type":"stdout","text":"hi"}`+"\n\n"+codeDone)
		case "/session/s2/run":
			_, _ = io.WriteString(w, `{"type":"init","text":"s2"}`+"\n\n"+`{"code":"RUNTIME_ERROR","message":"timeout after 500ms"}`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	ctx := t.Context()
	id, err := execd.CreateSession(ctx, "/w")
	if err != nil || id != "s1" {
		t.Fatalf("got %q, %v", id, err)
	}
	call, body := calls.last(t)
	same(t, "create", call+" "+body, `POST /session {"cwd":"/w"}`)
	stream, err := execd.RunInSession(ctx, id, opensandbox.SessionRun{Command: "x", Cwd: "/v", Timeout: 1500 * time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	got, err := tell(stream)
	_ = stream.Close()
	if !errors.Is(err, io.EOF) || got != "complete 12ms " || stream.ID() != "s1" {
		t.Errorf("got %q, %v, id %q", got, err, stream.ID())
	}
	call, body = calls.last(t)
	same(t, "run", call+" "+body, `POST /session/s1/run {"command":"x","cwd":"/v","timeout":2}`)

	// A timeout ends the stream with the server's failure, and no exit code.
	stream, err = execd.RunInSession(ctx, "s2", opensandbox.SessionRun{Command: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	var refused *opensandbox.Error
	if _, err := tell(stream); !errors.As(err, &refused) || refused.Message != "timeout after 500ms" {
		t.Errorf("got %v", err)
	}
	if err := execd.DeleteSession(ctx, "gone"); err != nil {
		t.Error(err)
	}
	if _, err := execd.RunInSession(ctx, "s1", opensandbox.SessionRun{}); !errors.Is(err, opensandbox.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	const line = `{"cpu_count":2,"cpu_used_pct":12.5,"mem_total_mib":7936.5,"mem_used_mib":1024,"timestamp":1795958569991,"later":1}`
	_, execd := recordExecd(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			_, _ = io.WriteString(w, line)
			return
		}
		// One line feed each, and no blank lines.
		_, _ = io.WriteString(w, line+"\n"+line+"\n"+`{"error":"no /proc"}`+"\n")
	})
	m, err := execd.Metrics(t.Context())
	if err != nil || m.CPUCount != 2 || m.CPUUsedPercent != 12.5 || m.Time().UnixMilli() != 1795958569991 || string(m.Raw) != line {
		t.Errorf("got %+v, %v", m, err)
	}
	var seen int
	var last error
	for m, err := range execd.WatchMetrics(t.Context()) {
		if last = err; err == nil && string(m.Raw) == line {
			seen++
		}
	}
	var refused *opensandbox.Error
	if seen != 2 || !errors.As(last, &refused) || refused.Message != "no /proc" || refused.Op != "watch metrics" {
		t.Errorf("%d seen, %v", seen, last)
	}
}

// Each comes when it was measured, and a watch that ends by itself was cut.
func TestWatchMetricsIsLive(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	_, execd := recordExecd(t, func(w http.ResponseWriter, r *http.Request) {
		for range 2 {
			_, _ = io.WriteString(w, `{"cpu_count":2}`+"\n")
			w.(http.Flusher).Flush()
			select {
			case <-next:
			case <-r.Context().Done():
			}
		}
	})
	seen := 0
	for _, err := range execd.WatchMetrics(t.Context()) {
		if err != nil {
			if !errors.Is(err, opensandbox.ErrStreamLost) || seen != 2 {
				t.Errorf("after %d: %v", seen, err)
			}
			break
		}
		seen++
		next <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	for _, err := range execd.WatchMetrics(ctx) {
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			break
		}
		cancel()
	}
	cancel()
}
