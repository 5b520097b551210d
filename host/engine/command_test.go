package engine_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestEventBytes compares whole streams with what the original execd sends.
// Ids, times and durations differ from run to run and are blotted out.
func TestEventBytes(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	blot := regexp.MustCompile(`"timestamp":\d{13}|"execution_time":\d+,|"text":"[0-9a-f]{32}"`)
	const (
		open     = `{"type":"init","text":ID,"timestamp":T}` + "\n\n" + `{"type":"ping","text":"pong","timestamp":T}` + "\n\n"
		complete = `{"type":"execution_complete","timestamp":T}` + "\n\n"
	)
	stdout := func(text string) string { return `{"type":"stdout","text":"` + text + `","timestamp":T}` + "\n\n" }
	stderr := func(text string) string { return `{"type":"stderr","text":"` + text + `","timestamp":T}` + "\n\n" }
	failed := func(value, trace string) string {
		return `{"type":"error","timestamp":T,"error":{"ename":"CommandExecError","evalue":"` + value + `","traceback":["` + trace + `"]}}` + "\n\n"
	}
	for _, c := range []struct{ name, body, want string }{
		{"one line", `{"command":"echo hi"}`, stdout("hi") + complete},
		{"no final newline", `{"command":"printf 'a\\nb'"}`, stdout("a") + stdout("b") + complete},
		{"exit code", `{"command":"exit 3"}`, failed("3", "exit status 3")},
		{"both streams", `{"command":"echo out; sleep 1; echo err >&2"}`, stdout("out") + stderr("err") + complete},
		{"nothing", `{"command":"true"}`, complete},
		{"empty lines", `{"command":"printf 'a\\n\\nb\\n\\n\\nc'"}`, stdout("a") + stdout(`\n`) + stdout("b") + stdout(`\n`) + stdout(`\n`) + stdout("c") + complete},
		{"carriage returns", `{"command":"printf '10%%\\r20%%\\r\\nend'"}`, stdout("10%") + stdout("20%") + stdout("end") + complete},
		{"escapes of JSON", `{"command":"echo '<a&b>'"}`, stdout(`\u003ca\u0026b\u003e`) + complete},
		{"UTF-8", `{"command":"printf '\\xe4\\xbd\\xa0\\xe5\\xa5\\xbd\\xc3\\xa9\\xf0\\x9f\\x98\\x80'"}`, stdout("你好é😀") + complete},
		{"a character in two writes", `{"command":"printf '\\xe4\\xbd'; sleep 0.2; printf '\\xa0'"}`, stdout("你") + complete},
		{"invalid UTF-8", `{"command":"printf '\\xff\\xfe ok\\n\\xc3\\x28'"}`, stdout(`\ufffd\ufffd ok`) + stdout(`\ufffd(`) + complete},
		{"NUL and ANSI", `{"command":"printf 'a\\0b\\x1b[31mred\\x1b[0m'"}`, stdout(`a\u0000b\u001b[31mred\u001b[0m`) + complete},
		{"timeout", `{"command":"echo start; sleep 10","timeout":300}`, stdout("start") + failed("-1", "signal: killed")},
		{"signal", `{"command":"kill -TERM $$"}`, failed("-1", "signal: terminated")},
		{"not found", `{"command":"nosuchcmd_zz"}`, stderr("bash: line 1: nosuchcmd_zz: command not found") + failed("127", "exit status 127")},
		{"background", `{"command":"echo hi","background":true}`, complete},
		{"a child that stays", `{"command":"sleep 60 & echo hi"}`, stdout("hi") + complete},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, h, out := e.do(http.MethodPost, box.execd("/command"), c.body)
			got := blot.ReplaceAllStringFunc(out, func(s string) string {
				switch {
				case strings.HasPrefix(s, `"timestamp"`):
					return `"timestamp":T`
				case strings.HasPrefix(s, `"text"`):
					return `"text":ID`
				}
				return ""
			})
			if want := open + c.want; code != http.StatusOK || got != want {
				t.Errorf("%d\n got %s\nwant %s", code, got, want)
			}
			for k, v := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no"} {
				if h.Get(k) != v {
					t.Errorf("%s: %q", k, h.Get(k))
				}
			}
		})
	}
}

func TestCommandRefusals(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	for _, c := range []struct {
		method, path, body string
		code               int
		want               string
	}{
		{"POST", "/command", `{}`, 400, `{"code":"INVALID_REQUEST_BODY","message":"invalid request, validation error Key: 'RunCommandRequest.Command' Error:Field validation for 'Command' failed on the 'required' tag"}`},
		{"POST", "/command", `{"command":"x","cwd":"/nope"}`, 400, `{"code":"INVALID_REQUEST_BODY","message":"invalid request, validation error working directory does not exist: /nope: stat /nope: no such file or directory"}`},
		{"POST", "/command", `{"command":"x"`, 400, `{"code":"INVALID_REQUEST_BODY","message":"error parsing request, MAYBE invalid body format. unexpected EOF"}`},
		{"POST", "/command", `{"command":"x","gid":1}`, 400, `{"code":"INVALID_REQUEST_BODY","message":"invalid request, validation error uid is required when gid is provided"}`},
		{"POST", "/command", `{"command":"x","timeout":-1}`, 400, `{"code":"INVALID_REQUEST_BODY","message":"invalid request, validation error Key: 'RunCommandRequest.TimeoutMs' Error:Field validation for 'TimeoutMs' failed on the 'gte' tag"}`},
		{"POST", "/command", `{"command":"x","uid":-1}`, 400, `{"code":"INVALID_REQUEST_BODY","message":"error parsing request, MAYBE invalid body format. json: cannot unmarshal number -1 into Go struct field RunCommandRequest.uid of type uint32"}`},
		{"GET", "/command/status/nope", "", 404, `{"code":"INVALID_REQUEST_BODY","message":"command not found: nope"}`},
		{"GET", "/command/nope/logs", "", 400, `{"code":"INVALID_REQUEST_BODY","message":"command not found: nope"}`},
		{"DELETE", "/command", "", 400, `{"code":"MISSING_QUERY","message":"missing query parameter 'id'"}`},
		{"DELETE", "/command?id=nope", "", 500, `{"code":"RUNTIME_ERROR","message":"no such session: nope"}`},
		{"GET", "/command", "", 404, "404 page not found"},
		{"GET", "/nope", "", 404, "404 page not found"},
		{"GET", "/ping", "", 200, ""},
		{"GET", "/code/contexts", "", 200, "[]"},
	} {
		code, h, out := e.do(c.method, box.execd(c.path), c.body)
		if code != c.code || out != c.want {
			t.Errorf("%s %s %s:\n got %d %s\nwant %d %s", c.method, c.path, c.body, code, out, c.code, c.want)
		}
		if c.path == "/ping" && h.Get("Content-Length") != "0" {
			t.Errorf("ping has a Content-Length of %q", h.Get("Content-Length"))
		}
	}
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	for _, c := range []struct {
		name, command, trace string
		least, most          time.Duration
	}{
		{"by TERM", "echo s; sleep 60", "signal: terminated", 0, 2 * time.Second},
		{"by KILL", "trap '' TERM; echo s; while :; do sleep 0.1; done", "signal: killed", 3 * time.Second, 6 * time.Second},
	} {
		interrupt := func(t *testing.T) (took time.Duration) {
			t.Helper()
			id, events, stop := box.start(t.Context(), c.command)
			defer stop()
			for line := ""; !strings.Contains(line, `"stdout"`); {
				var err error
				if line, err = events.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
			if st := status(t, box, id); !st.Running || st.ExitCode != nil {
				t.Errorf("status while it runs: %+v", st)
			}
			began := time.Now()
			if code, _, out := e.do(http.MethodDelete, box.execd("/command?id="+id), nil); code != http.StatusOK || out != "" {
				t.Fatalf("interrupt: %d %s", code, out)
			}
			took = time.Since(began)
			rest, err := io.ReadAll(events)
			if err != nil {
				t.Fatal(err)
			}
			r := collect(t, strings.NewReader(string(rest)))
			if r.Code != "-1" || r.Trace != c.trace {
				t.Errorf("terminal event: %s %q", r.Code, r.Trace)
			}
			if st := status(t, box, id); st.Running || st.ExitCode == nil || *st.ExitCode != -1 {
				t.Errorf("status afterwards: %+v", st)
			}
			if code, _, out := e.do(http.MethodDelete, box.execd("/command?id="+id), nil); code != http.StatusInternalServerError || !strings.Contains(out, "is not running") {
				t.Errorf("interrupting it again: %d %s", code, out)
			}
			return took
		}
		t.Run(c.name, func(t *testing.T) {
			took := interrupt(t)
			for range 4 { // the machine may be busy
				if took <= c.most {
					break
				}
				took = interrupt(t)
			}
			if took < c.least || took > c.most {
				t.Errorf("it took %v", took)
			}
		})
	}
}

type commandStatus struct {
	ID, Content, Error string
	Running            bool
	ExitCode           *int      `json:"exit_code"`
	StartedAt          time.Time `json:"started_at"`
}

func status(t *testing.T, box *testBox, id string) commandStatus {
	t.Helper()
	code, _, out := box.e.do(http.MethodGet, box.execd("/command/status/"+id), nil)
	if code != http.StatusOK {
		t.Fatalf("status: %d %s", code, out)
	}
	var st commandStatus
	if err := json.Unmarshal([]byte(out), &st); err != nil {
		t.Fatal(err)
	}
	return st
}

func TestBackgroundLogs(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	r := box.run("echo one; echo two >&2; until [ -e go ]; do sleep 0.01; done; printf three; exit 4", "background", true)
	if r.Code != "0" {
		t.Fatalf("launching: %+v", r)
	}
	if st := status(t, box, r.ID); !st.Running {
		t.Errorf("status right after the launch: %+v", st)
	}
	logs := func(cursor string) (string, string) {
		code, h, out := e.do(http.MethodGet, box.execd("/command/"+r.ID+"/logs?cursor="+cursor), nil)
		if code != http.StatusOK {
			t.Fatalf("logs: %d %s", code, out)
		}
		return out, h.Get("EXECD-COMMANDS-TAIL-CURSOR")
	}
	eventually(t, "the first lines", func() bool { out, _ := logs("0"); return len(out) == 8 })
	out, next := logs("0")
	if out != "one\ntwo\n" || next != "8" {
		t.Errorf("logs %q, cursor %q", out, next)
	}
	if out, next := logs("8"); out != "" || next != "8" {
		t.Errorf("logs at the end: %q, cursor %q", out, next)
	}
	box.must("touch go")
	eventually(t, "its end", func() bool { return !status(t, box, r.ID).Running })
	if out, next := logs("6"); out != "o\nthree" || next != "13" {
		t.Errorf("logs after its end: %q, cursor %q", out, next)
	}
	if out, next := logs("100"); out != "" || next != "100" {
		t.Errorf("logs beyond the end: %q, cursor %q", out, next)
	}
	if st := status(t, box, r.ID); st.ExitCode == nil || *st.ExitCode != 4 || st.Error != "exit status 4" {
		t.Errorf("status: %+v", st)
	}
	if code, _, _ := e.do(http.MethodGet, box.execd("/command/"+r.ID+"/logs?cursor=-1"), nil); code != http.StatusBadRequest {
		t.Errorf("a negative cursor: %d", code)
	}
}

// TestDisconnect checks that a reader who goes away stops nothing.
func TestDisconnect(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	_, _, stop := box.start(t.Context(), "echo x; until [ -e go ]; do echo more; sleep 0.01; done; touch done")
	stop()
	box.must("touch go; until [ -e done ]; do sleep 0.01; done")
}

func TestLargeOutput(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	r := box.run("head -c 5000000 /dev/zero | tr '\\0' x; echo; echo end")
	if len(r.Stdout) != 5000005 || len(r.Events) != 5 || r.Code != "0" {
		t.Errorf("a long line: %d bytes in %d events, %s", len(r.Stdout), len(r.Events), r.Code)
	}
	const lines = 100_000
	r = box.run("seq " + strconv.Itoa(lines))
	got := strings.Split(strings.TrimSuffix(r.Stdout, "\n"), "\n")
	if len(got) != lines || got[0] != "1" || got[lines-1] != strconv.Itoa(lines) {
		t.Errorf("%d lines, from %q to %q", len(got), got[0], got[len(got)-1])
	}
	// A command line is one argument, and the kernel bounds those.
	if r := box.run("true " + strings.Repeat("x", 200<<10)); r.Code == "0" || !strings.Contains(r.Code, "argument list too long") {
		t.Errorf("an over-long command: %q", r.Code)
	}
}

func TestManyCommandsAtOnce(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			if r := box.run(fmt.Sprintf("echo %d; exit %d", i, i%7)); r.Stdout != fmt.Sprintf("%d\n", i) || r.Code != strconv.Itoa(i%7) {
				t.Errorf("command %d: %q %s", i, r.Stdout, r.Code)
			}
		})
	}
	wg.Wait()
	// Orphans are reaped too: only what runs now is left.
	box.must("for i in $(seq 20); do (sleep 0.01 &) ; done")
	eventually(t, "no zombies", func() bool {
		return strings.TrimSpace(box.must("grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | wc -l")) == "0"
	})
}

func TestEnvironmentAndDirectory(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(map[string]any{"env": map[string]string{"A": "1", "WHERE": "/srv", "EXECD_ENVS": "/tmp/envs"}})
	box.must("printf '# comment\\nB=2\\nC=$A-$B\\n' > /tmp/envs")
	for _, c := range []struct {
		command string
		extra   []any
		want    string
	}{
		{"echo $A $B $C $D $HOME", nil, "1 2 1-2 /root\n"},
		{"echo $A $D", []any{"envs", map[string]string{"A": "9", "D": "4"}}, "9 4\n"},
		{"pwd", []any{"cwd", "$WHERE"}, "/srv\n"},
		{"pwd", []any{"cwd", "~"}, "/root\n"},
		{"pwd", []any{"cwd", "/usr/bin"}, "/usr/bin\n"},
		{"read x; echo got:$x", nil, "got:\n"},
		{"ps -o pgid= -p $$ | tr -d ' '; echo $$", nil, ""},
	} {
		r := box.run(c.command, c.extra...)
		if c.want == "" {
			if l := strings.Fields(r.Stdout); len(l) != 2 || l[0] != l[1] {
				t.Errorf("%s: %q: not a process group of its own", c.command, r.Stdout)
			}
			continue
		}
		if r.Stdout != c.want {
			t.Errorf("%s: %q, want %q", c.command, r.Stdout, c.want)
		}
	}
	if ordinaryUser() {
		t.Log("LEFT OUT: other user ids need an engine that runs as root")
		return
	}
	if r := box.run("id -u; id -g; touch /root/x", "uid", 65534); r.Stdout != "65534\n65534\n" || r.Code != "1" {
		t.Errorf("as nobody: %q %s", r.Stdout, r.Code)
	}
	if r := box.run("id -u; id -g; id -G", "uid", 1234, "gid", 5); r.Stdout != "1234\n5\n5\n" {
		t.Errorf("as 1234:5: %q", r.Stdout)
	}
}
