package opensandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// backgroundExecd is an execd with one background command whose output grows with each look at its
// log, and that ends with the last of it.
type backgroundExecd struct {
	mu       sync.Mutex
	pieces   []string // what the log gets, one with each look
	log      string
	code     string // the end's JSON, such as "exit_code":3
	unknown  int    // so many times the status is 404
	noHeader bool
	cut      func(look int) int // cuts an answer after so many bytes; negative is not at all
	looks    int
	launched atomic.Int32
}

func (b *backgroundExecd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case r.Method == http.MethodPost:
		b.launched.Add(1)
		_, _ = io.WriteString(w, `{"type":"init","text":"job1"}`+"\n\n"+`{"type":"execution_complete"}`+"\n\n")
	case r.URL.Path == "/command/status/job1":
		if b.unknown > 0 {
			b.unknown--
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"code":"INVALID_REQUEST_BODY","message":"command not found: job1"}`)
			return
		}
		running := len(b.pieces) > 0
		_, _ = fmt.Fprintf(w, `{"id":"job1","content":"x","running":%v,"started_at":"2026-11-29T14:00:00.123456789+01:00"`, running)
		if !running && b.code != "" {
			_, _ = io.WriteString(w, ","+b.code)
		}
		_, _ = io.WriteString(w, "}")
	case r.URL.Path == "/command/job1/logs":
		b.serveLog(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (b *backgroundExecd) serveLog(w http.ResponseWriter, r *http.Request) {
	if len(b.pieces) > 0 {
		b.log += b.pieces[0]
		b.pieces = b.pieces[1:]
	}
	b.looks++
	at, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
	at = min(at, len(b.log))
	if !b.noHeader {
		w.Header().Set("EXECD-COMMANDS-TAIL-CURSOR", strconv.Itoa(len(b.log)))
	}
	slice := b.log[at:]
	if b.cut != nil {
		if n := b.cut(b.looks); n >= 0 && n < len(slice) {
			w.Header().Set("Content-Length", strconv.Itoa(len(slice)))
			_, _ = io.WriteString(w, slice[:n])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	}
	_, _ = io.WriteString(w, slice)
}

func (b *backgroundExecd) serve(t *testing.T, opts opensandbox.Options) *opensandbox.Execd {
	t.Helper()
	return execdAt(t, strings.TrimPrefix(serve(t, b.ServeHTTP).URL, "http://"), opts)
}

func TestJob(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		execd *backgroundExecd
		code  *int
	}{
		{"plain", &backgroundExecd{pieces: []string{"a", "", "", "b\nc"}, code: `"exit_code":0`}, new(0)},
		{"failed", &backgroundExecd{pieces: []string{"x"}, code: `"exit_code":3`}, new(3)},
		{"killed", &backgroundExecd{pieces: []string{"x"}, code: `"exit_code":-1`}, new(-1)},
		{"not known for a moment", &backgroundExecd{pieces: []string{"x"}, code: `"exit_code":0`, unknown: 3}, new(0)},
		{"no output", &backgroundExecd{code: `"exit_code":0`}, new(0)},
		{"no cursors", &backgroundExecd{pieces: []string{"a", "b", "", "c"}, code: `"exit_code":0`, noHeader: true}, new(0)},
		{"an end without a code", &backgroundExecd{pieces: []string{"a"}}, nil},
		{"characters cut in two", &backgroundExecd{pieces: []string{"\xe4\xbd", "\xa0"}, code: `"exit_code":0`}, new(0)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			want := strings.Join(test.execd.pieces, "")
			job, err := test.execd.serve(t, opensandbox.Options{}).Start(t.Context(), opensandbox.RunRequest{Command: "x"})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = job.Close() }()
			if job.ID() != "job1" || job.Status() != nil {
				t.Errorf("id %q, status %v", job.ID(), job.Status())
			}
			raw, err := io.ReadAll(job)
			if err != nil || string(raw) != want {
				t.Fatalf("got %q, %v; want %q", raw, err, want)
			}
			status := job.Status()
			if status == nil || (status.ExitCode == nil) != (test.code == nil) || test.code != nil && *status.ExitCode != *test.code {
				t.Errorf("status %+v", status)
			}
			if n := test.execd.launched.Load(); n != 1 {
				t.Errorf("launched %d times", n)
			}
		})
	}
}

// The connection is cut after each number of bytes in turn, and nothing is lost or comes twice.
func TestJobSurvivesCuts(t *testing.T) {
	t.Parallel()
	pieces := []string{"first line\n", "", "second", " line\n", "third"}
	want := strings.Join(pieces, "")
	for cut := range 12 {
		execd := &backgroundExecd{pieces: pieces, code: `"exit_code":0`}
		execd.cut = func(look int) int {
			if look%2 == 1 {
				return cut
			}
			return -1
		}
		job, err := execd.serve(t, opensandbox.Options{}).Start(t.Context(), opensandbox.RunRequest{Command: "x"})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(iotest.HalfReader(job))
		if err != nil || string(raw) != want || *job.Status().ExitCode != 0 {
			t.Fatalf("cut after %d: got %q, %v", cut, raw, err)
		}
	}
}

// Another process goes on where one stopped, anywhere.
func TestJobIsFollowedElsewhere(t *testing.T) {
	t.Parallel()
	const output = "0123456789"
	for stop := range len(output) + 1 {
		server := &backgroundExecd{log: output[:4], pieces: []string{output[4:6], output[6:], ""}, code: `"exit_code":0`}
		execd := server.serve(t, opensandbox.Options{})
		first := execd.Follow(t.Context(), "job1", opensandbox.Position{})
		head := make([]byte, stop)
		if _, err := io.ReadFull(first, head); err != nil {
			t.Fatal(err)
		}
		at := first.Position()
		_ = first.Close()
		if _, err := first.Read(make([]byte, 1)); !errors.Is(err, opensandbox.ErrStreamLost) || first.Status() != nil {
			t.Errorf("after Close: %v, %v", err, first.Status())
		}
		tail, err := io.ReadAll(execd.Follow(t.Context(), "job1", at))
		if err != nil || string(head)+string(tail) != output {
			t.Errorf("stopped after %d at %+v: %q and %q, %v", stop, at, head, tail, err)
		}
	}
}

// The server goes away while a job runs, and comes back at another address.
func TestJobSurvivesRestart(t *testing.T) {
	t.Parallel()
	server := &backgroundExecd{log: "before ", pieces: []string{"", "", "after"}, code: `"exit_code":0`}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	first := httptest.NewUnstartedServer(server)
	_ = first.Listener.Close()
	first.Listener = listener
	first.Start()
	var address atomic.Value
	address.Store(listener.Addr().String())
	control := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintf(w, `{"endpoint":%q}`, address.Load()) })
	job := newClient(t, opensandbox.Options{BaseURL: control.URL}).Execd("box").Follow(t.Context(), "job1", opensandbox.Position{})
	head := make([]byte, len("before "))
	if _, err := io.ReadFull(job, head); err != nil {
		t.Fatal(err)
	}
	first.CloseClientConnections()
	first.Close()
	second := httptest.NewServer(server)
	defer second.Close()
	address.Store(strings.TrimPrefix(second.URL, "http://"))
	tail, err := io.ReadAll(job)
	if err != nil || string(head)+string(tail) != "before after" {
		t.Errorf("got %q and %q, %v", head, tail, err)
	}
}

func TestJobIsLost(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		answer http.HandlerFunc
		is     error
	}{
		{"execd was started anew", status(404), opensandbox.ErrNotFound},
		{"refused", status(401), opensandbox.ErrUnauthorized},
		{"out of reach", status(503), opensandbox.ErrUnavailable},
		{"hung up", hangUp, opensandbox.ErrStreamLost},
		{"a cursor that is none", func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/command/status") {
				_, _ = io.WriteString(w, `{"id":"job1","running":true}`)
				return
			}
			w.Header().Set("EXECD-COMMANDS-TAIL-CURSOR", strings.Repeat("9", 300))
		}, opensandbox.ErrStreamLost},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			execd := execdAt(t, strings.TrimPrefix(serve(t, test.answer).URL, "http://"), opensandbox.Options{Patience: 200 * time.Millisecond})
			job := execd.Follow(t.Context(), "job1", opensandbox.Position{Cursor: "7", Skip: 2})
			_, err := io.ReadAll(job)
			if !errors.Is(err, test.is) || !errors.Is(err, opensandbox.ErrStreamLost) || job.Status() != nil {
				t.Errorf("got %v, status %v", err, job.Status())
			}
			if at := (opensandbox.Position{Cursor: "7", Skip: 2}); job.Position() != at {
				t.Errorf("the position moved to %+v", job.Position())
			}
		})
	}
}

func TestJobEndsWithItsContext(t *testing.T) {
	t.Parallel()
	server := &backgroundExecd{pieces: make([]string, 1<<20)}
	ctx, cancel := context.WithCancel(t.Context())
	job := server.serve(t, opensandbox.Options{}).Follow(ctx, "job1", opensandbox.Position{})
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := io.ReadAll(job); !errors.Is(err, context.Canceled) || !errors.Is(err, opensandbox.ErrStreamLost) {
		t.Errorf("got %v", err)
	}
}

func TestStartFailures(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, stream, want string
		job                bool
	}{
		{"could not be started", `{"type":"init","text":"j"}` + "\n\n" + `{"code":"RUNTIME_ERROR","message":"no such shell"}`, "no such shell (RUNTIME_ERROR)", false},
		{"an error event", `{"type":"init","text":"j"}` + "\n\n" + `{"type":"error","error":{"ename":"CommandExecError","evalue":"x","traceback":["fork: no memory"]}}`, "starting it: fork: no memory", false},
		{"cut before the id", "", "event stream lost", false},
		{"cut after the id", `{"type":"init","text":"j"}` + "\n\n", "", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			execd := execdAt(t, strings.TrimPrefix(serve(t, reply(test.stream)).URL, "http://"), opensandbox.Options{})
			job, err := execd.Start(t.Context(), opensandbox.RunRequest{Command: "x"})
			if (job != nil) != test.job || (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, %v", job, err)
			}
		})
	}
}

// A command that is too long for an argument goes through a file, and does the same.
func TestLongCommands(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "sh"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(shell); err != nil {
				t.Fatalf("the test needs %s: %v", shell, err)
			}
			// A real file system and a real shell stand behind the routes.
			execd := execdAt(t, strings.TrimPrefix(serve(t, shellExecd(t, shell)).URL, "http://"), opensandbox.Options{})
			filler := ": " + strings.Repeat("x", 1000) + "\n"
			long := strings.Repeat(filler, 300) + "printf '%s' \"$0 $(( 1 + 2 )) '\\\"\"; exit 7"
			stream, err := execd.Run(t.Context(), opensandbox.RunRequest{Command: long})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = stream.Close() }()
			var out string
			code := 0
			for {
				frame, err := stream.Next()
				if err != nil {
					if !errors.Is(err, io.EOF) {
						t.Fatal(err)
					}
					break
				}
				switch frame.Type {
				case opensandbox.TypeStdout:
					out += frame.Text()
				case opensandbox.TypeError:
					code, _ = frame.Error.ExitCode()
				}
			}
			if want := shell + ` 3 '"`; out != want || code != 7 {
				t.Errorf("got %q and %d, want %q and 7", out, code, want)
			}
			left, err := filepath.Glob("/tmp/.alineo-command-*")
			if err != nil || len(left) != 0 && containsOurs(t, execd, left) {
				t.Errorf("left: %q, %v", left, err)
			}
		})
	}
}

func containsOurs(t *testing.T, _ *opensandbox.Execd, left []string) bool {
	t.Helper()
	for _, path := range left {
		raw, err := exec.Command("head", "-c", "100", path).Output()
		if err == nil && bytes.HasPrefix(raw, []byte(": xxx")) {
			return true
		}
	}
	return false
}

// shellExecd writes what is uploaded and runs what is sent, with a shell of this machine.
func shellExecd(t *testing.T, shell string) http.HandlerFunc {
	t.Helper()
	return func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/files/upload":
			saveUpload(t, w, r)
		case "/command":
			command := decodeCommand(t, r)
			if len(command) > opensandbox.MaxInlineCommand {
				t.Errorf("a command of %d bytes was sent", len(command))
			}
			out, err := exec.Command(shell, "-c", command).Output() //nolint:gosec // the test's own command
			_, _ = fmt.Fprintf(w, "{\"type\":\"init\",\"text\":\"a\"}\n\n{\"type\":\"stdout\",\"text\":%q}\n\n", out)
			if exit, ok := errors.AsType[*exec.ExitError](err); ok {
				_, _ = fmt.Fprintf(w, "{\"type\":\"error\",\"error\":{\"ename\":\"CommandExecError\",\"evalue\":\"%d\"}}\n\n", exit.ExitCode())
				return
			}
			_, _ = io.WriteString(w, "{\"type\":\"execution_complete\"}\n\n")
		default:
			http.NotFound(w, r)
		}
	}
}

// A script that nobody will run is taken away again.
func TestLongCommandThatIsRefused(t *testing.T) {
	t.Parallel()
	calls, execd := recordExecd(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/command" {
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	_, err := execd.Run(t.Context(), opensandbox.RunRequest{Command: strings.Repeat("x", opensandbox.MaxInlineCommand+1)})
	if !errors.Is(err, opensandbox.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	if call, _ := calls.last(t); !strings.HasPrefix(call, "DELETE /files?path=%2Ftmp%2F.alineo-command-") {
		t.Errorf("last call %s", call)
	}
	before := calls.count()
	if _, err := execd.Run(t.Context(), opensandbox.RunRequest{Command: strings.Repeat("\x00", opensandbox.MaxInlineCommand+1)}); !errors.Is(err, opensandbox.ErrInvalid) || calls.count() != before {
		t.Errorf("got %v", err)
	}
}

// A script that is missing is not an empty command that succeeds.
func TestMissingScriptFails(t *testing.T) {
	t.Parallel()
	var sent string
	execd := execdAt(t, strings.TrimPrefix(serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/command" {
			sent = decodeCommand(t, r)
			_, _ = io.WriteString(w, `{"type":"execution_complete"}`)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body) // taken, and not written
	}).URL, "http://"), opensandbox.Options{})
	if _, err := execd.Run(t.Context(), opensandbox.RunRequest{Command: strings.Repeat("x", opensandbox.MaxInlineCommand+1)}); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := exec.Command("sh", "-c", sent).Run(); !errors.As(err, &exit) || exit.ExitCode() != 126 { //nolint:gosec // the test's own command
		t.Errorf("%s: got %v", sent, err)
	}
}

func FuzzLogCursor(f *testing.F) {
	f.Add("12", "hello world!")
	f.Add("", "x")
	f.Add("-5", "")
	f.Add("99999999999999999999", "x")
	f.Add("1e3\x00", "x")
	f.Fuzz(func(t *testing.T, cursor, body string) {
		client, err := opensandbox.New(opensandbox.Options{
			BaseURL: "http://x", Attempts: 1, Patience: time.Nanosecond, Transport: logAnswer{cursor, body},
		})
		if err != nil {
			t.Fatal(err)
		}
		job := client.Execd("box").Follow(t.Context(), "j", opensandbox.Position{})
		raw, err := io.ReadAll(job)
		if len(raw) > len(body)*2 {
			t.Fatalf("%d bytes became %d", len(body), len(raw))
		}
		if err == nil && (string(raw) != body || job.Status() == nil) {
			t.Fatalf("got %q for %q", raw, body)
		}
		if len(job.Position().Cursor) > 256 {
			t.Fatalf("kept a cursor of %d bytes", len(job.Position().Cursor))
		}
	})
}

// logAnswer is a transport to a command that has ended.
type logAnswer struct{ cursor, body string }

func (l logAnswer) RoundTrip(req *http.Request) (*http.Response, error) {
	body, header := l.body, http.Header{"Execd-Commands-Tail-Cursor": {l.cursor}}
	switch {
	case strings.Contains(req.URL.Path, "/endpoints/"):
		body = `{"endpoint":"y"}`
	case strings.Contains(req.URL.Path, "/status/"):
		body = `{"id":"j","running":false,"exit_code":0}`
	}
	resp, err := answer{http.StatusOK, body}.RoundTrip(req)
	resp.Header = header
	return resp, err
}
