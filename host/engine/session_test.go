package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// shell is a bash session of a sandbox.
type shell struct {
	box *testBox
	id  string
}

func (b *testBox) shell(body any) *shell {
	b.e.t.Helper()
	code, _, out := b.e.do(http.MethodPost, b.execd("/session"), body)
	var s struct {
		ID string `json:"session_id"`
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil || code != http.StatusOK || len(s.ID) != 36 {
		b.e.t.Fatalf("making a session: %d %s", code, out)
	}
	return &shell{b, s.ID}
}

func (s *shell) run(command string, extra ...any) result {
	s.box.e.t.Helper()
	body := map[string]any{"command": command}
	for i := 0; i+1 < len(extra); i += 2 {
		body[extra[i].(string)] = extra[i+1]
	}
	code, _, out := s.box.e.do(http.MethodPost, s.box.execd("/session/"+s.id+"/run"), body)
	if code != http.StatusOK {
		s.box.e.t.Fatalf("running %q: %d %s", command, code, out)
	}
	r := collect(s.box.e.t, strings.NewReader(out))
	if r.ID != s.id {
		s.box.e.t.Errorf("the init event names %q and not the session", r.ID)
	}
	return r
}

func TestSession(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(map[string]any{"env": map[string]string{"GIVEN": "g"}})
	s := box.shell(nil)
	for _, c := range []struct{ command, want, code string }{
		{"pwd; echo $GIVEN", "/workspace\ng\n", "0"},
		{"cd /usr/bin; export A='x  y'; B=\"two\nlines'\\$\"; arr=(1 'a b'); declare -A m=([k]=v); f() { echo \"f: $1\"; }", "", "0"},
		{`pwd; echo "$A|$B|${arr[1]}|${m[k]}"; f q; env | grep ^A=; env | grep -c ^B=`, "/usr/bin\nx  y|two\nlines'$|a b|v\nf: q\nA=x  y\n0\n", "1"},
		{"unset GIVEN; true", "", "0"},
		{"echo ${GIVEN-unset}", "unset\n", "0"},
		{"cd /; C=lost; exit 3", "", "3"},
		{"pwd; echo ${C-unset}", "/usr/bin\nunset\n", "0"},
		{"(exit 4)", "", "4"},
		{"kill -TERM $$", "", "-1"},
		{"echo out; echo err >&2; printf 'no end'", "out\nerr\nno end\n", "0"},
		{"printf 'a\\n\\nb\\xff\\0c\\n'", "a\n\nb\ufffd\x00c\n", "0"},
		{"echo __EXIT_CODE__:7; echo __execd_leave; printf '__PWD__:/\\n'", "__EXIT_CODE__:7\n__execd_leave\n__PWD__:/\n", "0"},
		{"set -x; true; set -v", "++ true\n++ set -v\n", "0"},
		{"trap 'echo dbg' DEBUG; trap 'echo bye' EXIT; true", "dbg\ndbg\nbye\n", "0"},
		{"set -e; false; echo not", "", "1"},
		{"set -u; IFS=:; set -f; true", "", "0"},
		{"x='1 2'; for i in $x; do echo $i; done", "1\n2\n", "0"},
		{"shopt -s extglob\ng() { case $1 in +(a|b)) echo ab;; esac; }", "", "0"},
		{"g abba", "ab\n", "0"},
		{"if", "bash: eval: line 2: syntax error: unexpected end of file\n", "2"},
		{"nosuchcmd_zz", "bash: line 1: nosuchcmd_zz: command not found\n", "127"},
		{"read x || echo no stdin; exec >&-; sleep 0.1", "no stdin\n", "0"},
		{"cat <<X\nhere\nX\n# a comment at the end", "here\n", "0"},
		{"exec 3>&- 4>&- 5>&-; D=1", "", "0"},
		{"echo $D; readonly R=1; R=2; true", "1\nbash: line 1: R: readonly variable\n", "1"},
		{"eval() { echo mine; }; printf() { echo mine; }; exit() { echo mine; }; K=1", "", "0"},
		{"echo $K; unset -f eval printf exit", "1\n", "0"},
		{"exec true", "", "0"},
	} {
		if r := s.run(c.command); r.Stdout != c.want || r.Stderr != "" || r.Code != c.code {
			t.Errorf("%q: %q %q %s, want %q %s", c.command, r.Stdout, r.Stderr, r.Code, c.want, c.code)
		}
	}
	// What is longer than a command line may be comes by another way.
	if r := s.run("true " + strings.Repeat("x", 300<<10) + "; echo ok; BIG=$(head -c 300000 /dev/zero | tr '\\0' y)"); r.Stdout != "ok\n" {
		t.Errorf("a long command: %q %s", r.Stdout, r.Code)
	}
	if r := s.run("echo ${#BIG}; pwd", "cwd", "/etc"); r.Stdout != "300000\n/etc\n" {
		t.Errorf("a large variable, another directory: %q", r.Stdout)
	}
	if r := s.run("pwd"); r.Stdout != "/etc\n" {
		t.Errorf("the directory stays: %q", r.Stdout)
	}
	other := box.shell(map[string]string{"cwd": "/tmp/new/dir"})
	if r := other.run("pwd; echo ${A-unset}"); r.Stdout != "/tmp/new/dir\nunset\n" {
		t.Errorf("another session: %q", r.Stdout)
	}
	if r := other.run("rmdir /tmp/new/dir"); r.Code != "0" {
		t.Errorf("removing its directory: %+v", r)
	}
	if r := other.run("pwd"); r.Trace != "working directory does not exist: stat /tmp/new/dir: no such file or directory" {
		t.Errorf("in a directory that is no more: %+v", r)
	}
}

func TestSessionRefusals(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	s := box.shell("")
	for _, c := range []struct {
		method, path, body string
		code               int
		want               string
	}{
		{"POST", "/session", `{"cwd":"/proc/x"}`, 500, `{"code":"RUNTIME_ERROR","message":"error creating session. making the working directory: mkdir /proc/x: no such file or directory"}`},
		{"POST", "/session", `{"cwd":1}`, 400, `{"code":"INVALID_REQUEST_BODY","message":"error parsing request, MAYBE invalid body format. json: cannot unmarshal number into Go struct field CreateSessionRequest.cwd of type string"}`},
		{"POST", "/session/" + s.id + "/run", `{}`, 400, `{"code":"INVALID_REQUEST_BODY","message":"invalid request, validation error Key: 'RunInSessionRequest.Command' Error:Field validation for 'Command' failed on the 'required' tag"}`},
		{"POST", "/session/" + s.id + "/run", `{"command":"x","timeout":-1}`, 400, `{"code":"INVALID_REQUEST_BODY","message":"invalid request, validation error Key: 'RunInSessionRequest.TimeoutMs' Error:Field validation for 'TimeoutMs' failed on the 'gte' tag"}`},
		{"POST", "/session/" + s.id + "/run", `{"command":"x","cwd":"/nope"}`, 400, `{"code":"INVALID_REQUEST_BODY","message":"invalid request, validation error working directory does not exist: /nope: stat /nope: no such file or directory"}`},
		{"POST", "/session/nope/run", `{"command":"x"}`, 404, `{"code":"CONTEXT_NOT_FOUND","message":"session nope not found"}`},
		{"DELETE", "/session/nope", ``, 404, `{"code":"CONTEXT_NOT_FOUND","message":"session nope not found"}`},
		{"GET", "/session/" + s.id, ``, 404, `404 page not found`},
		{"DELETE", "/session/" + s.id, ``, 200, ``},
		{"DELETE", "/session/" + s.id, ``, 404, `{"code":"CONTEXT_NOT_FOUND","message":"session ` + s.id + ` not found"}`},
		{"POST", "/session/" + s.id + "/run", `{"command":"x"}`, 404, `{"code":"CONTEXT_NOT_FOUND","message":"session ` + s.id + ` not found"}`},
	} {
		if code, _, out := e.do(c.method, box.execd(c.path), c.body); code != c.code || out != c.want {
			t.Errorf("%s %s %s:\n got %d %s\nwant %d %s", c.method, c.path, c.body, code, out, c.code, c.want)
		}
	}
}

// TestSessionEnds ends runs from outside.
func TestSessionEnds(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	alive := func(what string) bool { return box.run("pgrep -f 'slee[p] "+what+"'").Code == "0" }

	s := box.shell(nil)
	began := time.Now()
	r := s.run("trap '' TERM; A=1; echo hi; sleep 1001; echo not", "timeout", 3000)
	if r.Code != "-1" || r.Trace != "timeout after 3000ms" || r.Stdout != "hi\n" || time.Since(began) > 20*time.Second {
		t.Errorf("timeout: %+v", r)
	}
	eventually(t, "the end of what it ran", func() bool { return !alive("1001") })
	if r := s.run("echo ${A-unset}"); r.Stdout != "unset\n" || r.Code != "0" {
		t.Errorf("after a timeout: %+v", r)
	}

	// The stream stays open as long as somebody can write to it.
	if r := s.run("(until [ -e /tmp/go ]; do sleep 0.01; done; echo late) & (sleep 0.2; touch /tmp/go) & echo first"); r.Stdout != "first\nlate\n" {
		t.Errorf("a background child: %q", r.Stdout)
	}
	s.run("sleep 1002 >/dev/null 2>&1 & set -m; sleep 1003 >/dev/null 2>&1 &")
	// They may still be bash that becomes them.
	eventually(t, "background children that outlive their run", func() bool { return alive("1002") && alive("1003") })

	// Interrupting by the session's id ends the session.
	rd, stop := s.start(t.Context(), "echo ready; sleep 1004")
	defer stop()
	if code, _, out := e.do(http.MethodDelete, box.execd("/command?id="+s.id), nil); code != http.StatusOK || out != "" {
		t.Errorf("interrupt: %d %s", code, out)
	}
	rest, err := io.ReadAll(rd)
	if err != nil {
		t.Fatal(err)
	}
	if r := collect(t, bytes.NewReader(rest)); r.Code != "-1" || r.Trace != "signal: killed" {
		t.Errorf("an interrupted run: %+v", r)
	}
	for _, sleep := range []string{"1002", "1003", "1004"} {
		eventually(t, "the end of sleep "+sleep, func() bool { return !alive(sleep) })
	}
	if code, _, _ := e.do(http.MethodDelete, box.execd("/session/"+s.id), nil); code != http.StatusNotFound {
		t.Errorf("the interrupted session is still there: %d", code)
	}

	// A reader who leaves ends bash, but not its children, and not the session.
	s = box.shell(nil)
	rd, stop = s.start(t.Context(), "sleep 1005 & echo ready; while :; do echo x; done")
	_ = rd
	stop()
	eventually(t, "the end of bash", func() bool {
		return box.run("pgrep -f 'while [:]; do echo x'").Code != "0" && s.run("true").Code == "0"
	})
	if !alive("1005") {
		t.Error("its child ended too")
	}
	if code, _, _ := e.do(http.MethodDelete, box.execd("/session/"+s.id), nil); code != http.StatusOK {
		t.Errorf("deleting: %d", code)
	}
	eventually(t, "the end of its child", func() bool { return !alive("1005") })
	eventually(t, "no zombies", func() bool {
		return strings.TrimSpace(box.must("grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | wc -l")) == "0"
	})
}

// start begins a run and returns when its first line has come.
func (s *shell) start(ctx context.Context, command string) (events io.Reader, stop func()) {
	s.box.e.t.Helper()
	return s.box.stream(ctx, "/session/"+s.id+"/run", map[string]any{"command": command}, `"text":"ready`)
}

// stream posts a request and reads its events until one contains until.
func (b *testBox) stream(ctx context.Context, path string, body any, until string) (events io.Reader, stop func()) {
	b.e.t.Helper()
	j, err := json.Marshal(body)
	if err != nil {
		b.e.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.e.BaseURL()+b.execd(path), bytes.NewReader(j))
	if err != nil {
		b.e.t.Fatal(err)
	}
	resp, err := b.e.Transport().RoundTrip(req) //nolint:bodyclose // stop closes it
	if err != nil {
		b.e.t.Fatal(err)
	}
	var seen []byte
	for one := make([]byte, 1); !bytes.Contains(seen, []byte(until)) || !bytes.HasSuffix(seen, []byte("\n\n")); seen = append(seen, one...) {
		if _, err := io.ReadFull(resp.Body, one); err != nil {
			b.e.t.Fatalf("%s: %v after %q", path, err, seen)
		}
	}
	return resp.Body, func() { cancel(); _ = resp.Body.Close() }
}

// TestSessionsAtOnce runs several in one session and in many.
func TestSessionsAtOnce(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	s := box.shell(nil)
	s.run("A=1; mkfifo /tmp/meet")
	var wg sync.WaitGroup
	for _, c := range []string{"echo $A > /tmp/meet; echo one", "read x < /tmp/meet; echo got $x"} { // only together can they end
		wg.Go(func() {
			if r := s.run(c); r.Code != "0" || r.Stdout != "one\n" && r.Stdout != "got 1\n" {
				t.Errorf("%s: %+v", c, r)
			}
		})
	}
	for i := range 16 {
		wg.Go(func() {
			s := box.shell(nil)
			s.run(fmt.Sprintf("n=%d", i))
			if r := s.run("echo $n"); r.Stdout != strconv.Itoa(i)+"\n" {
				t.Errorf("session %d: %q", i, r.Stdout)
			}
			if code, _, _ := e.do(http.MethodDelete, box.execd("/session/"+s.id), nil); code != http.StatusOK {
				t.Errorf("deleting session %d: %d", i, code)
			}
		})
	}
	wg.Wait()
}
