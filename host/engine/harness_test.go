package engine_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/host/engine"
)

// testEngine is an engine with what a test does to it.
type testEngine struct {
	t testing.TB
	*engine.Engine
	dir string
}

// requireNamespaces opens an engine with whole isolation, or leaves the test
// out where the kernel refuses, and says so.
func requireNamespaces(t testing.TB) *testEngine {
	t.Helper()
	return openEngine(t, engine.Options{DataDir: t.TempDir()})
}

func openEngine(t testing.TB, opts engine.Options) *testEngine {
	t.Helper()
	if opts.Logger == nil {
		opts.Logger = hclog.New(&hclog.LoggerOptions{Output: &testWriter{t}, Level: hclog.Debug, DisableTime: true})
	}
	e, err := engine.Open(t.Context(), opts)
	if err != nil && (strings.Contains(err.Error(), "is not possible here") || strings.Contains(err.Error(), "sandboxes would have only")) {
		fmt.Fprintf(os.Stderr, "\n*** LEFT OUT: %s: this machine refuses the isolation that it needs: %v\n\n", t.Name(), err)
		t.Skipf("LEFT OUT: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	te := &testEngine{t: t, Engine: e, dir: opts.DataDir}
	t.Cleanup(func() {
		te.deleteAll()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			t.Errorf("closing the engine: %v", err)
		}
	})
	return te
}

// testWriter shows log lines with the test they belong to.
type testWriter struct{ t testing.TB }

func (w *testWriter) Write(b []byte) (int, error) {
	defer func() { _ = recover() }() // a line that comes after the test's end
	w.t.Log(strings.TrimRight(string(b), "\n"))
	return len(b), nil
}

// do sends one request and returns what came back.
func (e *testEngine) do(method, path string, body any) (int, http.Header, string) {
	e.t.Helper()
	var rd io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		rd = strings.NewReader(b)
	default:
		j, err := json.Marshal(b)
		if err != nil {
			e.t.Fatal(err)
		}
		rd = bytes.NewReader(j)
	}
	req, err := http.NewRequest(method, e.BaseURL()+path, rd)
	if err != nil {
		e.t.Fatal(err)
	}
	return e.send(req)
}

func (e *testEngine) send(req *http.Request) (int, http.Header, string) {
	e.t.Helper()
	resp, err := e.Transport().RoundTrip(req)
	if err != nil {
		e.t.Fatalf("%s %s: %v", req.Method, req.URL.Path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		e.t.Fatalf("%s %s: %v", req.Method, req.URL.Path, err)
	}
	return resp.StatusCode, resp.Header, string(out)
}

// hostImage is the body of the plainest create.
func hostImage() map[string]any {
	return map[string]any{
		"image":          map[string]string{"uri": "host"},
		"entrypoint":     []string{"tail", "-f", "/dev/null"},
		"resourceLimits": map[string]string{"cpu": "1", "memory": "512Mi"},
		"timeout":        600,
	}
}

// create makes a sandbox; extra fields go over the plain ones, and nil takes
// one away.
func (e *testEngine) create(extra map[string]any) *testBox {
	e.t.Helper()
	body := hostImage()
	for k, v := range extra {
		if body[k] = v; v == nil {
			delete(body, k)
		}
	}
	code, _, out := e.do(http.MethodPost, "/v1/sandboxes", body)
	if code != http.StatusAccepted {
		e.t.Fatalf("create: %d %s", code, out)
	}
	var box testBox
	if err := json.Unmarshal([]byte(out), &box); err != nil {
		e.t.Fatal(err)
	}
	box.e = e
	return &box
}

// deleteAll deletes what a test left, unless the engine is closed.
func (e *testEngine) deleteAll() {
	req, err := http.NewRequest(http.MethodGet, e.BaseURL()+"/sandboxes?pageSize=200", nil)
	if err != nil {
		e.t.Fatal(err)
	}
	resp, err := e.Transport().RoundTrip(req)
	if err != nil {
		return
	}
	defer func() { _ = resp.Body.Close() }()
	var list struct{ Items []testBox }
	_ = json.NewDecoder(resp.Body).Decode(&list)
	for _, b := range list.Items {
		e.do(http.MethodDelete, "/sandboxes/"+b.ID, nil)
	}
}

// testBox is a sandbox.
type testBox struct {
	e      *testEngine
	ID     string
	Status struct{ State, Reason string }
}

func (b *testBox) delete() {
	b.e.t.Helper()
	if code, _, out := b.e.do(http.MethodDelete, "/v1/sandboxes/"+b.ID, nil); code != http.StatusNoContent {
		b.e.t.Fatalf("delete: %d %s", code, out)
	}
}

// execd is the path of the sandbox's execd.
func (b *testBox) execd(path string) string { return "/sandboxes/" + b.ID + "/proxy/44772" + path }

// event is one message of a stream.
type event struct {
	Type, Text    string
	Timestamp     int64
	ExecutionTime int64 `json:"execution_time"`
	Error         *struct {
		Ename, Evalue string
		Traceback     []string
	}
	Raw string `json:"-"`
}

// result is what a command did.
type result struct {
	ID             string
	Stdout, Stderr string
	Code           string // "0", or the error's evalue
	Trace          string
	Events         []event
}

// run runs a command to its end.
func (b *testBox) run(command string, extra ...any) result {
	b.e.t.Helper()
	body := map[string]any{"command": command}
	for i := 0; i+1 < len(extra); i += 2 {
		body[extra[i].(string)] = extra[i+1]
	}
	code, _, out := b.e.do(http.MethodPost, b.execd("/command"), body)
	if code != http.StatusOK {
		b.e.t.Fatalf("command %q: %d %s", command, code, out)
	}
	return collect(b.e.t, strings.NewReader(out))
}

// must runs a command that has to exit with 0, and returns its output.
func (b *testBox) must(command string) string {
	b.e.t.Helper()
	r := b.run(command)
	if r.Code != "0" {
		b.e.t.Fatalf("command %q: exit %s %s\n%s%s", command, r.Code, r.Trace, r.Stdout, r.Stderr)
	}
	return r.Stdout
}

// collect reads a stream of events as a client has to.
func collect(t testing.TB, rd io.Reader) result {
	t.Helper()
	var r result
	var stdout, stderr strings.Builder
	sc := bufio.NewScanner(rd)
	sc.Buffer(nil, 128<<20)
	for sc.Scan() {
		if sc.Text() == "" {
			continue
		}
		e := event{Raw: sc.Text()}
		if err := json.Unmarshal(sc.Bytes(), &e); err != nil {
			t.Fatalf("event %q: %v", sc.Text(), err)
		}
		r.Events = append(r.Events, e)
		text := e.Text + "\n"
		if e.Text == "\n" {
			text = "\n"
		}
		switch e.Type {
		case "init":
			r.ID = e.Text
		case "stdout":
			stdout.WriteString(text)
		case "stderr":
			stderr.WriteString(text)
		case "execution_complete":
			r.Code = "0"
		case "error":
			r.Code, r.Trace = e.Error.Evalue, strings.Join(e.Error.Traceback, ";")
		}
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	r.Stdout, r.Stderr = stdout.String(), stderr.String()
	return r
}

// start begins a command and returns once its init event has come.
func (b *testBox) start(ctx context.Context, command string) (id string, events *bufio.Reader, stop func()) {
	b.e.t.Helper()
	body, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		b.e.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.e.BaseURL()+b.execd("/command"), bytes.NewReader(body))
	if err != nil {
		b.e.t.Fatal(err)
	}
	resp, err := b.e.Transport().RoundTrip(req) //nolint:bodyclose // stop closes it
	if err != nil {
		b.e.t.Fatal(err)
	}
	rd := bufio.NewReader(resp.Body)
	line, err := rd.ReadString('\n')
	if err != nil {
		b.e.t.Fatal(err)
	}
	var e event
	if err := json.Unmarshal([]byte(line), &e); err != nil || e.Type != "init" {
		b.e.t.Fatalf("first event: %q", line)
	}
	return e.Text, rd, func() { cancel(); _ = resp.Body.Close() }
}

// file is one part pair of an upload.
type file struct {
	meta    string
	content string
}

func (b *testBox) upload(files ...file) (int, string) {
	b.e.t.Helper()
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	for _, f := range files {
		for _, p := range [][2]string{{"metadata", f.meta}, {"file", f.content}} {
			part, err := w.CreateFormFile(p[0], p[0])
			if err != nil {
				b.e.t.Fatal(err)
			}
			if _, err := io.WriteString(part, p[1]); err != nil {
				b.e.t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		b.e.t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, b.e.BaseURL()+b.execd("/files/upload"), &buf)
	if err != nil {
		b.e.t.Fatal(err)
	}
	req.Header.Set("Content-Type", w.FormDataContentType())
	code, _, out := b.e.send(req)
	return code, out
}

func (b *testBox) download(path string, header ...string) (int, http.Header, string) {
	b.e.t.Helper()
	req, err := http.NewRequest(http.MethodGet, b.e.BaseURL()+b.execd("/files/download?path="+url.QueryEscape(path)), nil)
	if err != nil {
		b.e.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return b.e.send(req)
}

// eventually waits for something that happens by itself.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	deadline := time.Now().Add(90 * time.Second) // a busy machine is slow
	for !f() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for: %s", what)
		}
		time.Sleep(5 * time.Millisecond) // polling another process's state
	}
}

// processesOf lists processes whose command line or mounts name s.
func processesOf(t testing.TB, s string) []string {
	t.Helper()
	var out []string
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		for _, f := range []string{"cmdline", "mountinfo"} {
			if b, err := os.ReadFile(filepath.Join(d, f)); err == nil && strings.Contains(string(b), s) {
				out = append(out, d+"/"+f)
			}
		}
	}
	return out
}

// engineProcess is an engine in a process of its own.
type engineProcess struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
}

// goroutines asks how many it has.
func (p *engineProcess) goroutines(t testing.TB) int {
	t.Helper()
	if _, err := io.WriteString(p.stdin, "\n"); err != nil {
		t.Fatal(err)
	}
	var n int
	if _, err := fmt.Fscanln(p.stdout, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

func startProcess(t testing.TB, dir string) *engineProcess {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), serveEnv+"="+dir)
	cmd.Stderr = &testWriter{t}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	stdout := bufio.NewReader(out)
	line, err := stdout.ReadString('\n')
	if err != nil || line != "ready\n" {
		t.Fatalf("the engine process didn't start: %q %v", line, err)
	}
	return &engineProcess{cmd, in, stdout}
}
