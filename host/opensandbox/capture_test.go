package opensandbox_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// outcome is what a caller learns from a stream.
type outcome struct {
	id, stdout, stderr string // texts joined with |
	complete           bool
	exitCode           int
	traceback          string
}

// captures says what each recording means. html_cut is not here: it has no end.
var captures = map[string]outcome{
	"hi":                  {id: "f743f6faad0047a7a4dc4ae2c8c5930b", stdout: "hi", complete: true},
	"no_final_newline":    {id: "5485eaff4d7e4d0b976c4c6d9403e2ad", stdout: "a|b", complete: true},
	"exit3":               {id: "6b144d0a2f6e42c48d4875bce41c295d", exitCode: 3, traceback: "exit status 3"},
	"stderr":              {id: "b0b21e3eddc1424788982ad1bb4a76f0", stdout: "out", stderr: "err", complete: true},
	"empty":               {id: "c136a3dab82b4127b020c04b0705b247", complete: true},
	"blank_lines":         {id: "9c5678a8143644fcbf8bc2da9550b14c", stdout: "a|\n|b|\n|\n|c", complete: true},
	"cr":                  {id: "77c0bea38acf4b6d97079c98683a2ea0", stdout: "10%|20%|end", complete: true},
	"utf8":                {id: "0896ada325f748b58360f6d5b542185c", stdout: "你好é😀", complete: true},
	"utf8split":           {id: "42512720d91342109c240b6fa11a0df0", stdout: "你", complete: true},
	"badutf8":             {id: "51bbad4392534ea683979dcbc3e353fd", stdout: "\ufffd\ufffd ok|\ufffd\ufffd", complete: true},
	"nul_ansi":            {id: "b6a1d77857784a5e8aaf29a99c9e60b0", stdout: "a\x00b\x1b[31mred\x1b[0m", complete: true},
	"timeout":             {id: "e9e77c818cba417a9ab744bb2203efd2", stdout: "start", exitCode: -1, traceback: "signal: killed"},
	"sigterm":             {id: "70239735362c4f3f85ea4698a9944003", exitCode: -1, traceback: "signal: terminated"},
	"not_found":           {id: "9ef356c57ecf44e4bba7696864d7b44e", stderr: "bash: line 1: nosuchcmd_zz: command not found", exitCode: 127, traceback: "exit status 127"},
	"keepalive":           {id: "b4419f84c4b24a2ab324f0731817f007", stdout: "done", complete: true},
	"background":          {id: "b1fd98d14df74632b5420433647a6124", complete: true},
	"interrupted":         {id: "416081dc85f949c3b7e107c743b18797", stdout: "s", exitCode: -1, traceback: "signal: terminated"},
	"session_interrupted": {id: "dcfb1d9f-e4b0-4de6-98f6-bb693bc86918", stdout: "hi", exitCode: -1, traceback: "signal: killed"},
}

func readCapture(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "captures", name+".raw"))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// run reads a whole stream. The error is what Next ended with, nil for io.EOF.
func run(ctx context.Context, execd *opensandbox.Execd) (outcome, error) {
	stream, err := execd.Run(ctx, opensandbox.RunRequest{Command: "true"})
	if err != nil {
		return outcome{}, err
	}
	defer func() { _ = stream.Close() }()
	var out outcome
	var stdout, stderr []string
	for {
		frame, err := stream.Next()
		out.id = stream.ID()
		out.stdout, out.stderr = strings.Join(stdout, "|"), strings.Join(stderr, "|")
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		switch frame.Type {
		case opensandbox.TypeStdout:
			stdout = append(stdout, frame.Text())
		case opensandbox.TypeStderr:
			stderr = append(stderr, frame.Text())
		case opensandbox.TypeExecutionComplete:
			out.complete = true
		case opensandbox.TypeError:
			out.exitCode, _ = frame.Error.ExitCode()
			out.traceback = strings.Join(frame.Error.Traceback, "|")
		}
	}
}

func TestCaptures(t *testing.T) {
	t.Parallel()
	for name, want := range captures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw := readCapture(t, name)
			execd := execdAt(t, rawServer(t, func(*http.Request) []byte { return raw }), opensandbox.Options{})
			got, err := run(t.Context(), execd)
			if err != nil {
				t.Fatal(err)
			}
			if got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

// The connection may go away after any byte. Whatever arrived before, the end is told only when the
// server told it.
func TestCapturesCutAnywhere(t *testing.T) {
	t.Parallel()
	names := []string{"html_cut"}
	for name := range captures {
		names = append(names, name)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw := readCapture(t, name)
			want, ends := captures[name]
			// The terminal event is whole with its closing brace.
			whole := len(raw) + 1
			if ends {
				at := max(bytes.LastIndex(raw, []byte(`{"type":"execution_complete"`)), bytes.LastIndex(raw, []byte(`{"type":"error"`)))
				whole = at + bytes.IndexByte(raw[at:], '\n')
			}
			cut := 0
			execd := execdAt(t, rawServer(t, func(*http.Request) []byte { return raw[:cut] }), opensandbox.Options{})
			for ; cut <= len(raw); cut++ {
				got, err := run(t.Context(), execd)
				switch {
				case cut >= whole:
					if err != nil || got != want {
						t.Fatalf("cut after %d of %d bytes: %+v, %v", cut, len(raw), got, err)
					}
				case err == nil:
					t.Fatalf("cut after %d of %d bytes: no error, %+v", cut, len(raw), got)
				case got.complete || got.traceback != "":
					t.Fatalf("cut after %d of %d bytes: an end was made up: %+v", cut, len(raw), got)
				case cut > bytes.Index(raw, []byte("\r\n\r\n"))+4 && !errors.Is(err, opensandbox.ErrStreamLost):
					t.Fatalf("cut after %d of %d bytes: %v is not ErrStreamLost", cut, len(raw), err)
				}
			}
		})
	}
}

// A terminal event ends the stream: nobody waits for the connection to close, which takes execd a
// second or more.
func TestStopsAtTerminalEvent(t *testing.T) {
	t.Parallel()
	raw := readCapture(t, "hi")
	end := bytes.Index(raw, []byte("execution_complete"))
	end += bytes.Index(raw[end:], []byte("\r\n0\r\n")) + 2 // its chunk is whole, the last one is missing
	hang := make(chan struct{})
	address := hijackServer(t, func(w io.Writer) {
		_, _ = w.Write(raw[:end])
		<-hang
	})
	defer close(hang)
	got, err := run(t.Context(), execdAt(t, address, opensandbox.Options{}))
	if err != nil || got != captures["hi"] {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	body := `{"code":"INVALID_REQUEST_BODY","message":"invalid request, validation error working directory does not exist: /nope: stat /nope: no such file or directory"}`
	execd := execdAt(t, rawServer(t, func(*http.Request) []byte {
		return []byte("HTTP/1.1 400 Bad Request\r\nContent-Type: application/json; charset=utf-8\r\n" +
			"Date: Sun, 29 Nov 2026 13:23:09 GMT\r\nContent-Length: 156\r\n\r\n" + body)
	}), opensandbox.Options{})
	_, err := execd.Run(t.Context(), opensandbox.RunRequest{Command: "true", Cwd: "/nope"})
	var refused *opensandbox.Error
	if !errors.As(err, &refused) || refused.Code != "INVALID_REQUEST_BODY" || refused.Status != 400 || !errors.Is(err, opensandbox.ErrInvalid) {
		t.Fatalf("got %v", err)
	}
	if want := `run command "box": invalid request, validation error working directory does not exist`; !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %q", err)
	}
}
