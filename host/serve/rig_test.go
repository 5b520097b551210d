package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/durable"
	"github.com/alineo-labs/alineo-host/host/serve"
	"github.com/alineo-labs/alineo-host/internal/pgtest"
)

const token = "t0ken-of-the-tests"

// rig is a daemon on the real engine and a bundled plugin, and a client of it.
type rig struct {
	t     *testing.T
	dir   string
	base  string
	token string
	runs  *durable.Runs
	log   *logText
	said  *logText // the bodies of all answers, streams included
	stop  func()   // ends the daemon, and waits for that
}

// logText is what was logged.
type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// onEach runs a test on a daemon over each of the bundled stores.
func onEach(t *testing.T, token string, test func(*testing.T, *rig)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, start(t, token))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		_, dsn := pgtest.Server(t).Database(t)
		test(t, startOn(t, token, fmt.Sprintf("[ledger]\nplugin = \"postgres\"\n[plugins.postgres.config]\nurl = %q\n"+
			"[plugins.postgres.limits]\ndeadline = \"1m\"\nstart_deadline = \"1m\"\n", dsn)))
	})
}

// start starts a daemon in a new place, on SQLite.
func start(t *testing.T, token string) *rig {
	t.Helper()
	return startOn(t, token, "[plugins.sqlite.config]\npath = \"ledger.db\"\n[plugins.sqlite.limits]\ndeadline = \"1m\"\n")
}

// startOn starts a daemon in a new place, on the store that a configuration says.
func startOn(t *testing.T, token, config string) *rig {
	t.Helper()
	engine, err := os.MkdirTemp("", "alineo-serve-*") //nolint:usetesting // below the tests' own, sockets' paths are too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(engine) })
	dir := t.TempDir()
	config = "[engine]\ndata = \"" + engine + "\"\n" + config
	if err := os.WriteFile(filepath.Join(dir, "alineo.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return startIn(t, dir, token)
}

// startIn starts a daemon in a place that there is.
func startIn(t *testing.T, dir, token string) *rig {
	t.Helper()
	cfg, err := host.LoadConfig(filepath.Join(dir, "alineo.toml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range host.Doctor(t.Context(), cfg) {
		if f.Area == "engine" && f.Fatal {
			t.Skipf("SKIPPED: this machine can run no sandbox: %s: %s", f.Name, f.Detail)
		}
	}
	r := &rig{t: t, dir: dir, token: token, log: &logText{}, said: &logText{}}
	log := hclog.New(&hclog.LoggerOptions{Output: io.MultiWriter(t.Output(), r.log), Level: hclog.Trace, DisableTime: true})
	h, err := host.Open(t.Context(), cfg, host.WithLogger(log))
	if err != nil {
		t.Fatal(err)
	}
	if r.runs, err = h.Runs(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(serve.Options{
		Runs: r.runs, Address: "127.0.0.1:0", Token: token, SweepEvery: time.Hour, Grace: time.Minute, Logger: log.Named("serve"),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	address, ended := make(chan net.Addr, 1), make(chan error, 1)
	go func() { ended <- s.Listen(ctx, func(a net.Addr) { address <- a }) }()
	select {
	case a := <-address:
		r.base = "http://" + a.String()
	case err := <-ended:
		cancel()
		t.Fatalf("listening: %v", err)
	}
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serving: %v", err)
		}
		closing, done := context.WithTimeout(context.Background(), time.Minute)
		defer done()
		if err := h.Close(closing); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	t.Cleanup(r.stop)
	return r
}

// request makes a request with the rig's token.
func (r *rig) request(method, path, body string) *http.Request {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.base+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	return req
}

// send sends a request and returns the status and the body of its answer.
func (r *rig) send(req *http.Request) (int, string) {
	r.t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.TeeReader(resp.Body, r.said))
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(data))
}

// want sends a request, checks the status, and decodes the answer into v unless that is nil.
func (r *rig) want(code int, method, path, body string, v any) string {
	r.t.Helper()
	got, text := r.send(r.request(method, path, body))
	if got != code {
		r.t.Fatalf("%s %s: %d %s, want %d", method, path, got, text, code)
	}
	if v != nil {
		if err := json.Unmarshal([]byte(text), v); err != nil {
			r.t.Fatalf("%s %s: %v: %s", method, path, err, text)
		}
	}
	return text
}

// event is one of a stream.
type event struct {
	ID     string
	Offset uint64
	Kind   string
	Text   string
	Data   json.RawMessage
}

// view opens a run's stream, behind an event when last is one. The caller closes it.
func (r *rig) view(run, last string) *stream {
	r.t.Helper()
	req := r.request(http.MethodGet, "/v1/runs/"+run+"/events", "")
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := http.DefaultClient.Do(req) //nolint:bodyclose // the stream's close does
	if err != nil {
		r.t.Fatal(err)
	}
	return &stream{r: r, resp: resp, lines: bufio.NewReader(io.TeeReader(resp.Body, r.said))}
}

type stream struct {
	r     *rig
	resp  *http.Response
	lines *bufio.Reader
}

func (s *stream) close() { _ = s.resp.Body.Close() }

// next reads an event; false at the end.
func (s *stream) next() (event, bool) {
	s.r.t.Helper()
	var e event
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return e, false
		}
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" && e.ID != "":
			return e, true
		case strings.HasPrefix(line, "id: "):
			e.ID = line[len("id: "):]
		case strings.HasPrefix(line, "data: "):
			if err := json.Unmarshal([]byte(line[len("data: "):]), &e); err != nil {
				s.r.t.Fatalf("an event that is no JSON: %q", line)
			}
		}
	}
}

// rest reads to the end and returns the output, and the last event.
func (s *stream) rest() (string, event) {
	s.r.t.Helper()
	defer s.close()
	var text strings.Builder
	var last event
	for {
		e, ok := s.next()
		if !ok {
			return text.String(), last
		}
		last = e
		if e.Kind == durable.EventOutput {
			text.WriteString(e.Text)
		}
	}
}
