package engine_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// What official clients found missing; internal/officialclients runs them.

func TestCommandArguments(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	for _, c := range []struct {
		name  string
		extra []any
		code  string
		want  string
	}{
		{"nothing is expanded", []any{"argv", []string{"printf", "%s|", "$HOME", "a  b", "*", ""}}, "0", "$HOME|a  b|*||\n"},
		{"the exit code", []any{"argv", []string{"sh", "-c", "exit 5"}}, "5", ""},
		{"the request's PATH", []any{"argv", []string{"id", "-un"}, "envs", map[string]string{"PATH": "/usr/bin"}}, "0", "root\n"},
		{"relative to cwd", []any{"argv", []string{"./env", "-i", "A=1"}, "cwd", "/usr/bin"}, "0", "A=1\n"},
		{"no such program", []any{"argv", []string{"no-such-program"}}, `exec: "no-such-program": executable file not found in $PATH`, ""},
	} {
		if r := box.run("", c.extra...); r.Code != c.code || r.Stdout != c.want {
			t.Errorf("%s: %s %q, want %s %q", c.name, r.Code, r.Stdout, c.code, c.want)
		}
	}
	for body, want := range map[string]string{
		`{"command":"x","argv":["y"]}`: "mutually exclusive",
		`{"argv":[]}`:                  "name of a program",
		`{"argv":["","x"]}`:            "name of a program",
		`{"argv":["x","a\u0000b"]}`:    "NUL",
		`{"argv":"x"}`:                 "argv",
	} {
		code, _, out := e.do(http.MethodPost, box.execd("/command"), body)
		if code != http.StatusBadRequest || !strings.Contains(out, `"code":"INVALID_REQUEST_BODY"`) || !strings.Contains(out, want) {
			t.Errorf("%s: %d %s", body, code, out)
		}
	}
}

// TestEnvironmentThatStays adds to the file that EXECD_ENVS names, as clients do.
func TestEnvironmentThatStays(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	box.must(`mkdir -p "$(dirname "$EXECD_ENVS")" && printf '%s\n' "A='1  \$HOME" "2'" >> "$EXECD_ENVS"`)
	if got := box.must(`printf %s "$A"`); got != "1  $HOME\n2\n" {
		t.Errorf("%q", got)
	}
}

// TestCodePortAnswers connects to where Jupyter would be, as official clients
// do before they run code.
func TestCodePortAnswers(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	const connect = `bash -c 'exec 3<>/dev/tcp/127.0.0.1/${JUPYTER_PORT:-44771}'`
	e.create(nil).must(connect)
	other := e.create(map[string]any{"env": map[string]string{"JUPYTER_PORT": "5555"}})
	other.must(connect)
	if r := other.run(`bash -c 'exec 3<>/dev/tcp/127.0.0.1/44771'`); r.Code == "0" {
		t.Error("the usual port is taken where another was given")
	}
}

func TestSnapshotsByName(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	for _, name := range []string{"one", "two"} {
		if code, _, out := e.do(http.MethodPost, "/sandboxes/"+box.ID+"/snapshots", map[string]string{"name": name}); code != http.StatusAccepted {
			t.Fatalf("snapshot: %d %s", code, out)
		}
	}
	for name, want := range map[string]int{"one": 1, "two": 1, "On": 0, "": 2} {
		var list struct{ Items []struct{ Name string } }
		code, _, out := e.do(http.MethodGet, "/snapshots?name="+name, nil)
		if err := json.Unmarshal([]byte(out), &list); err != nil || code != http.StatusOK || len(list.Items) != want || name != "" && want > 0 && list.Items[0].Name != name {
			t.Errorf("name=%s: %d %s", name, code, out)
		}
	}
}

// TestInterruptAtOnce interrupts cells as soon as they have an id, as a
// client may, before the interpreter has seen them.
func TestInterruptAtOnce(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	for _, language := range []struct{ name, program, code string }{
		{"python", "python3", "import time\ntime.sleep(1000)"},
		{"javascript", "node", "while (true) {}"},
		{"javascript", "node", "await new Promise(() => setTimeout(() => 0, 1e6))"},
	} {
		box.requireProgram(language.program)
		context := map[string]string{"language": language.name}
		id := box.code(context, "1").context
		for range 5 {
			rd, stop := box.stream(t.Context(), "/code", map[string]any{"context": context, "code": language.code}, `"type":"init"`)
			if status, _, out := e.do(http.MethodDelete, box.execd("/code?id="+id), nil); status != http.StatusOK {
				t.Errorf("interrupt: %d %s", status, out)
			}
			if o := readCell(t, rd); o.ename != "KeyboardInterrupt" {
				t.Errorf("%s: %s: %+v", language.name, language.code, o)
			}
			stop()
		}
	}
}
