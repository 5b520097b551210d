package opensandbox_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// hijackServer hands each connection to serve once its request was read, and hangs up after.
func hijackServer(t *testing.T, serve func(io.Writer)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					serve(conn)
				}
			}()
		}
	}()
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}

// execdServer is an execd whose command runs until it is interrupted.
type execdServer struct {
	*httptest.Server
	init        string // first bytes of the stream
	interrupted chan string
	quiet       bool // the interrupt does not end the stream
}

func newExecdServer(t *testing.T, init string) *execdServer {
	t.Helper()
	s := &execdServer{init: init, interrupted: make(chan string, 8)}
	ended := make(chan struct{})
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			s.interrupted <- r.URL.Query().Get("id")
			if !s.quiet {
				close(ended)
			}
			return
		}
		_, _ = io.WriteString(w, s.init)
		w.(http.Flusher).Flush()
		select {
		case <-ended:
			_, _ = io.WriteString(w, `{"type":"error","error":{"ename":"CommandExecError","evalue":"-1","traceback":["signal: terminated"]}}`+"\n\n")
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *execdServer) address() string { return strings.TrimPrefix(s.URL, "http://") }

const initEvent = `{"type":"init","text":"abc"}` + "\n\n"

func TestCancelInterruptsCommand(t *testing.T) {
	t.Parallel()
	server := newExecdServer(t, initEvent)
	execd := execdAt(t, server.address(), opensandbox.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := execd.Run(ctx, opensandbox.RunRequest{Command: "sleep 100"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	if frame, err := stream.Next(); err != nil || frame.Type != opensandbox.TypeInit {
		t.Fatalf("got %+v, %v", frame, err)
	}
	cancel()
	frame, err := stream.Next()
	if err != nil {
		t.Fatal(err)
	}
	if code, ok := frame.Error.ExitCode(); !ok || code != -1 {
		t.Errorf("exit code %d, %v", code, ok)
	}
	if id := <-server.interrupted; id != "abc" {
		t.Errorf("interrupted %q", id)
	}
	if _, err := stream.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
}

// The context ends while the id isn't known yet: it is waited for, because nothing else names the
// command.
func TestCancelBeforeFirstEvent(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	interrupted := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			interrupted <- r.URL.Query().Get("id")
			return
		}
		cancel()
		_, _ = io.WriteString(w, initEvent)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	execd := execdAt(t, strings.TrimPrefix(server.URL, "http://"), opensandbox.Options{})
	_, err := run(ctx, execd)
	if !errors.Is(err, context.Canceled) || !errors.Is(err, opensandbox.ErrStreamLost) {
		t.Errorf("got %v", err)
	}
	if id := <-interrupted; id != "abc" {
		t.Errorf("interrupted %q", id)
	}
}

// A caller that gives up and closes at once still leaves nothing running.
func TestCloseAfterCancelInterrupts(t *testing.T) {
	t.Parallel()
	server := newExecdServer(t, initEvent)
	server.quiet = true
	execd := execdAt(t, server.address(), opensandbox.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := execd.Run(ctx, opensandbox.RunRequest{Command: "sleep 100"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Next(); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := stream.Close(); err != nil {
		t.Error(err)
	}
	select {
	case id := <-server.interrupted:
		if id != "abc" {
			t.Errorf("interrupted %q", id)
		}
	default:
		t.Error("not interrupted when Close returned")
	}
}

func TestCloseAloneLeavesCommand(t *testing.T) {
	t.Parallel()
	server := newExecdServer(t, initEvent)
	execd := execdAt(t, server.address(), opensandbox.Options{})
	stream, err := execd.Run(t.Context(), opensandbox.RunRequest{Command: "sleep 100"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Next(); err != nil {
		t.Fatal(err)
	}
	_ = stream.Close()
	_ = stream.Close()
	if len(server.interrupted) != 0 {
		t.Error("interrupted")
	}
}

func TestIdleStreamIsLost(t *testing.T) {
	t.Parallel()
	server := newExecdServer(t, initEvent)
	execd := execdAt(t, server.address(), opensandbox.Options{IdleTimeout: 50 * time.Millisecond})
	_, err := run(t.Context(), execd)
	if !errors.Is(err, opensandbox.ErrStreamLost) || !errors.Is(err, opensandbox.ErrTimeout) {
		t.Errorf("got %v", err)
	}
	if want := "no sign of life for 50ms"; !strings.Contains(err.Error(), want) {
		t.Errorf("%q does not say %q", err, want)
	}
}

func TestNoFirstByte(t *testing.T) {
	t.Parallel()
	var posts atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		posts.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer server.Close()
	execd := execdAt(t, strings.TrimPrefix(server.URL, "http://"), opensandbox.Options{FirstByteTimeout: 50 * time.Millisecond})
	_, err := run(t.Context(), execd)
	if !errors.Is(err, opensandbox.ErrTimeout) || errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if posts.Load() != 1 {
		t.Errorf("the command was sent %d times", posts.Load())
	}
}

func TestCommandIsNeverSentTwice(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"hung up":     "",
		"bad gateway": "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n",
		"unavailable": "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n",
		"too many":    "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var posts atomic.Int32
			execd := execdAt(t, rawServer(t, func(*http.Request) []byte {
				posts.Add(1)
				return []byte(answer)
			}), opensandbox.Options{})
			if _, err := run(t.Context(), execd); err == nil {
				t.Error("no error")
			}
			if posts.Load() != 1 {
				t.Errorf("the command was sent %d times", posts.Load())
			}
		})
	}
}

func TestServerFailureInStream(t *testing.T) {
	t.Parallel()
	server := newExecdServer(t, initEvent+`{"code":"RUNTIME_ERROR","message":"timeout after 500ms"}`+"\n")
	execd := execdAt(t, server.address(), opensandbox.Options{})
	_, err := run(t.Context(), execd)
	var refused *opensandbox.Error
	if !errors.As(err, &refused) || errors.Is(err, opensandbox.ErrStreamLost) {
		t.Fatalf("got %v", err)
	}
	if got, want := err.Error(), `run command "box": timeout after 500ms (RUNTIME_ERROR)`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
