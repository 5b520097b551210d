package engine_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// pty is a terminal of a sandbox.
type pty struct {
	box *testBox
	id  string
}

func (b *testBox) pty(body any) *pty {
	b.e.t.Helper()
	code, _, out := b.e.do(http.MethodPost, b.execd("/pty"), body)
	var s struct {
		ID string `json:"session_id"`
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil || code != http.StatusCreated || len(s.ID) != 36 {
		b.e.t.Fatalf("making a terminal: %d %s", code, out)
	}
	return &pty{b, s.ID}
}

func (p *pty) status() (running bool, offset int64) {
	p.box.e.t.Helper()
	_, _, out := p.box.e.do(http.MethodGet, p.box.execd("/pty/"+p.id), nil)
	var st struct {
		ID      string `json:"session_id"`
		Running *bool
		Offset  *int64 `json:"output_offset"`
	}
	if err := json.Unmarshal([]byte(out), &st); err != nil || st.ID != p.id || st.Running == nil || st.Offset == nil {
		p.box.e.t.Fatalf("status %s", out)
	}
	return *st.Running, *st.Offset
}

// screen is a connection to a terminal.
type screen struct {
	t      testing.TB
	ctx    context.Context
	conn   *websocket.Conn
	frames []string // as the wire's document writes them, what a process wrote joined
	out    string   // all output since the last until
	closed error
}

// dial connects, or returns the status and body of the refusal.
func (p *pty) dial(query string) (s *screen, refusal string, err error) {
	t := p.box.e.t
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	conn, resp, err := websocket.Dial( //nolint:bodyclose // it is read from memory
		ctx, p.box.e.BaseURL()+p.box.execd("/pty/"+p.id+"/ws"+query), &websocket.DialOptions{HTTPClient: &http.Client{Transport: p.box.e.Transport()}})
	if err != nil {
		cancel()
		if resp != nil {
			b, _ := io.ReadAll(resp.Body)
			refusal = fmt.Sprintf("%d %s", resp.StatusCode, b)
		}
		return nil, refusal, err
	}
	conn.SetReadLimit(4 << 20)
	t.Cleanup(func() { _ = conn.CloseNow(); cancel() })
	return &screen{t: t, ctx: ctx, conn: conn}, "", nil
}

func (p *pty) open(query string) *screen {
	p.box.e.t.Helper()
	s, _, err := p.dial(query)
	if err != nil {
		p.box.e.t.Fatalf("connecting: %v", err)
	}
	return s
}

// read takes one more frame.
func (s *screen) read() {
	kind, b, err := s.conn.Read(s.ctx)
	if err != nil {
		s.closed = err
		return
	}
	if kind == websocket.MessageText {
		s.frames = append(s.frames, string(b))
		return
	}
	switch b[0] {
	case 1, 2:
		s.out += string(b[1:])
		if n := len(s.frames); n > 0 && strings.HasPrefix(s.frames[n-1], string(b[:1])) {
			s.frames[n-1] += string(b[1:])
			return
		}
		s.frames = append(s.frames, string(b))
	case 3:
		s.frames = append(s.frames, fmt.Sprintf("replay from %d: %s", binary.BigEndian.Uint64(b[1:9]), b[9:]))
	default:
		s.t.Errorf("frame %q", b)
	}
}

// until reads until the output contains text, and forgets it.
func (s *screen) until(text string) string {
	s.t.Helper()
	for !strings.Contains(s.out, text) && s.closed == nil {
		s.read()
	}
	if s.closed != nil {
		s.t.Fatalf("waiting for %q: %v, after %q", text, s.closed, s.out)
	}
	out := s.out
	s.out = ""
	return out
}

// frame reads until the last text frame contains text.
func (s *screen) frame(text string) {
	s.t.Helper()
	for s.closed == nil && (len(s.frames) == 0 || !strings.Contains(s.frames[len(s.frames)-1], text)) {
		s.read()
	}
	if s.closed != nil {
		s.t.Fatalf("waiting for %q: %v, after %q", text, s.closed, s.frames)
	}
}

// end reads to the end and returns how the connection was closed.
func (s *screen) end() string {
	s.t.Helper()
	for s.closed == nil {
		s.read()
	}
	var ce websocket.CloseError
	if !errors.As(s.closed, &ce) {
		return s.closed.Error()
	}
	return fmt.Sprintf("%d %s", ce.Code, ce.Reason)
}

func (s *screen) text(frame string) { s.write(websocket.MessageText, frame) }
func (s *screen) keys(keys string)  { s.write(websocket.MessageBinary, "\x00"+keys) }

func (s *screen) write(kind websocket.MessageType, b string) {
	s.t.Helper()
	if err := s.conn.Write(s.ctx, kind, []byte(b)); err != nil {
		s.t.Fatal(err)
	}
}

func TestPTY(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	p := box.pty(map[string]string{"cwd": "/tmp/made"})
	if running, offset := p.status(); running || offset != 0 {
		t.Errorf("before anybody looks: %v %d", running, offset)
	}
	s := p.open("")
	s.frame(`connected`)
	if want := `{"type":"connected","session_id":"` + p.id + `","mode":"pty"}` + "\n"; s.frames[0] != want {
		t.Errorf("first frame %q, want %q", s.frames[0], want)
	}
	s.until("# ")
	s.keys("pwd; echo T=$TERM; stty size; tty; echo a''b\n")
	if out := s.until("ab\r\n"); !strings.Contains(out, "/tmp/made\r\nT=dumb\r\n24 80\r\n/dev/pts/0\r\n") {
		t.Errorf("output %q", out)
	}
	// Size, and the signal that tells of it.
	s.keys("trap 'stty size' WINCH; echo c''d\n")
	s.until("cd\r\n")
	s.text(`{"type":"resize","cols":120,"rows":40}`)
	s.keys("\n")
	s.until("40 120\r\n")
	// Job control: Ctrl-C reaches the job and not the shell, Ctrl-Z stops it.
	s.keys("sleep 3001; echo after=$?\n")
	eventually(t, "sleep", func() bool { return box.run("pgrep -f 'slee[p] 3001'").Code == "0" })
	s.keys("\x03")
	s.until("^C")
	s.keys("sleep 3002\n")
	eventually(t, "sleep", func() bool { return box.run("pgrep -f 'slee[p] 3002'").Code == "0" })
	s.keys("\x1a")
	s.until("Stopped")
	s.keys("jobs -l | grep -c Stopped; bg; echo e''f\n")
	if out := s.until("ef\r\n"); !strings.Contains(out, "1\r\n") {
		t.Errorf("stopped jobs: %q", out)
	}
	s.text(`{"type":"stdin","data":"echo g''h\n"}`)
	s.until("gh\r\n")
	// What isn't understood.
	for _, c := range [][2]string{
		{`{"type":"ping"}`, `{"type":"pong"}`},
		{`{"type":"bogus"}`, `{"type":"error","error":"unknown frame type \"bogus\"","code":"INVALID_FRAME"}`},
		{`{"type":"signal","signal":"SIGFOO"}`, `{"type":"error","error":"unknown signal \"SIGFOO\"","code":"INVALID_FRAME"}`},
	} {
		s.write(websocket.MessageBinary, "\x07nothing")
		s.text("no JSON")
		s.text(c[0])
		s.frame(c[1])
	}
	// A second viewer is refused, or takes over.
	_, refusal, err := p.dial("")
	if want := `409 {"code":"ALREADY_CONNECTED","message":"another client is already connected to pty session ` + p.id + `"}`; err == nil || refusal != want {
		t.Errorf("a second viewer: %v %s", err, refusal)
	}
	_, offset := p.status()
	second := p.open(fmt.Sprintf("?takeover=1&since=%d", offset-4))
	if how := s.end(); how != "4001 TAKEN_OVER" {
		t.Errorf("the first viewer: %s", how)
	}
	second.frame("connected")
	if !strings.HasPrefix(second.frames[0], fmt.Sprintf("replay from %d: ", offset-4)) {
		t.Errorf("frames %q", second.frames)
	}
	// The shell goes on without viewers.
	second.keys("for i in 1 2 3; do sleep 0.1; echo on-$i; done\n")
	second.until("on-1\r\n")
	_ = second.conn.Close(websocket.StatusNormalClosure, "")
	var third *screen
	eventually(t, "that the viewer is gone, and the rest of the output", func() bool {
		if third, _, err = p.dial("?since=" + fmt.Sprint(offset)); err != nil {
			return false
		}
		third.frame("connected")
		if strings.Contains(third.frames[0], "on-3\r\n") {
			return true
		}
		_ = third.conn.Close(websocket.StatusNormalClosure, "")
		return false
	})
	third.text(`{"type":"signal","signal":"SIGHUP"}`)
	if how := third.end(); how != "1000 process exited" || third.frames[len(third.frames)-1] != `{"type":"exit","exit_code":-1}`+"\n" {
		t.Errorf("hanging up: %s %q", how, third.frames)
	}
	if running, _ := p.status(); running {
		t.Error("it still runs")
	}
	if code, _, out := e.do(http.MethodDelete, box.execd("/pty/"+p.id), nil); code != http.StatusOK || out != "" {
		t.Errorf("delete: %d %s", code, out)
	}
	eventually(t, "the end of its jobs", func() bool { return box.run("pgrep -f 'slee[p] 300'").Code != "0" })
}

func TestPTYEnds(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	// Exit codes, with all output before them.
	for _, c := range []struct {
		query, command, want string
	}{
		{"?pty=0", "echo out; sleep 1; echo err >&2; exit 2", "\x01out\n|\x02err\n|" + `{"type":"exit","exit_code":2}`},
		{"?pty=0", "read x; echo got $x", "\x01got hello\n|" + `{"type":"exit","exit_code":0}`},
		{"", "stty -echo; read x; echo got $x; exit 7", "\x01got hello\r\n|" + `{"type":"exit","exit_code":7}`},
		{"", "stty -echo; seq 100000 | tail -1; kill -9 $$", "\x01100000\r\n|" + `{"type":"exit","exit_code":-1}`},
	} {
		p := box.pty(map[string]string{"command": "sleep 0.3; " + c.command})
		s := p.open(c.query)
		s.frame("connected")
		if strings.Contains(c.command, "read") {
			eventually(t, "its start", func() bool { r, _ := p.status(); return r })
			if strings.Contains(c.command, "stty") {
				eventually(t, "no echo", func() bool { return box.run("stty -a -F /dev/pts/0 | grep -c -e '-echo '").Stdout != "0\n" })
			}
			s.keys("hello\n")
		}
		if how := s.end(); how != "1000 process exited" {
			t.Errorf("%q: closed with %s", c.command, how)
		}
		if got := strings.TrimSuffix(strings.Join(s.frames[1:], "|"), "\n"); got != c.want {
			t.Errorf("%q: %q, want %q", c.command, got, c.want)
		}
		e.do(http.MethodDelete, box.execd("/pty/"+p.id), nil)
	}
	// Coming back after the end starts it again, after what it wrote before.
	p := box.pty(map[string]string{"command": "sleep 0.1; echo run; exit 5"})
	first := p.open("?pty=0")
	if how := first.end(); how != "1000 process exited" {
		t.Errorf("closed with %s", how)
	}
	again := p.open("?pty=0")
	again.end()
	if got := strings.Join(again.frames, "|"); got != "replay from 0: run\n|"+`{"type":"connected","session_id":"`+p.id+`","mode":"pipe"}`+"\n|\x01run\n|"+`{"type":"exit","exit_code":5}`+"\n" {
		t.Errorf("again: %q", got)
	}
	// Deleting while somebody looks.
	p = box.pty(nil)
	s := p.open("")
	s.frame("connected")
	s.keys("setsid sleep 3005 & trap '' HUP TERM; (trap '' HUP TERM; sleep 3003) & sleep 3004\n")
	eventually(t, "sleep", func() bool { return box.run("pgrep -f 'slee[p] 3004'").Code == "0" })
	if code, _, _ := e.do(http.MethodDelete, box.execd("/pty/"+p.id), nil); code != http.StatusOK {
		t.Errorf("delete: %d", code)
	}
	if how := s.end(); how != "1000 process exited" || !strings.Contains(s.frames[len(s.frames)-1], `{"type":"exit","exit_code":-1}`) {
		t.Errorf("deleted: %s %q", how, s.frames)
	}
	eventually(t, "the end of its jobs", func() bool { return box.run("pgrep -f 'slee[p] 300[34]'").Code != "0" })
	for _, c := range []struct {
		method, path string
		code         int
		want         string
	}{
		{"GET", "/pty/" + p.id, 404, `{"code":"CONTEXT_NOT_FOUND","message":"pty session ` + p.id + ` not found"}`},
		{"DELETE", "/pty/" + p.id, 404, `{"code":"CONTEXT_NOT_FOUND","message":"pty session ` + p.id + ` not found"}`},
		{"GET", "/pty/" + p.id + "/ws", 404, `{"code":"CONTEXT_NOT_FOUND","message":"pty session ` + p.id + ` not found"}`},
		{"GET", "/pty", 404, `404 page not found`},
	} {
		if code, _, out := e.do(c.method, box.execd(c.path), nil); code != c.code || out != c.want {
			t.Errorf("%s %s: %d %s", c.method, c.path, code, out)
		}
	}
	if code, _, out := e.do(http.MethodPost, box.execd("/pty"), `{"cwd":"/proc/x"}`); code != 500 || !strings.HasPrefix(out, `{"code":"RUNTIME_ERROR","message":"`) {
		t.Errorf("an impossible directory: %d %s", code, out)
	}
}

// TestPTYSlowViewer has one viewer who doesn't read: the process goes on, in
// the end, and only the end of its output is remembered.
func TestPTYSlowViewer(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits ten seconds")
	}
	e := requireNamespaces(t)
	box := e.create(nil)
	p := box.pty(map[string]string{"command": "head -c 60000000 /dev/zero | tr '\\0' x; echo; echo the end; sleep 3006"})
	s := p.open("?pty=0")
	s.frame("connected") // and nothing more
	const all = 60000000 + 9
	deadline := time.Now().Add(90 * time.Second)
	for offset := int64(0); offset < all; _, offset = p.status() {
		if time.Now().After(deadline) {
			t.Fatalf("the process stands still at %d bytes", offset)
		}
		time.Sleep(50 * time.Millisecond) // polling another process's state
	}
	var next *screen
	eventually(t, "that the slow viewer is cut off", func() bool {
		var err error
		next, _, err = p.dial("?since=5")
		return err == nil
	})
	next.frame("connected")
	if want := fmt.Sprintf("replay from %d: xxx", all-1<<20); !strings.HasPrefix(next.frames[0], want) || !strings.HasSuffix(next.frames[0], "\nthe end\n") {
		t.Errorf("replay of %d bytes: %.40q", len(next.frames[0]), next.frames[0])
	}
}
