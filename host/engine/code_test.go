package engine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// codeEvent is an event of a cell.
type codeEvent struct {
	Type, Text, Code, Message string
	Count                     int `json:"execution_count"`
	Results                   map[string]any
	Error                     *struct {
		Ename, Evalue string
		Traceback     []string
	}
}

// outcome is what a cell did.
type outcome struct {
	context        string
	stdout, stderr string
	result         map[string]any
	ename, evalue  string
	trace          string
	kinds          string // the types of its events, in order, without pings
	failure        string // of the server
}

func readCell(t testing.TB, rd io.Reader) outcome {
	t.Helper()
	b, err := io.ReadAll(rd)
	if err != nil {
		t.Fatal(err)
	}
	var o outcome
	var kinds []string
	for line := range strings.SplitSeq(string(b), "\n") {
		if line == "" {
			continue
		}
		var e codeEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("event %q: %v", line, err)
		}
		if e.Type == "" {
			o.failure = e.Code + ": " + e.Message
		}
		if e.Type != "ping" && (len(kinds) == 0 || kinds[len(kinds)-1] != e.Type) {
			kinds = append(kinds, e.Type)
		}
		switch e.Type {
		case "init":
			o.context = e.Text
		case "stdout":
			o.stdout += e.Text
		case "stderr":
			o.stderr += e.Text
		case "result":
			o.result = e.Results
		case "error":
			o.ename, o.evalue, o.trace = e.Error.Ename, e.Error.Evalue, strings.Join(e.Error.Traceback, "\n")
		}
	}
	o.kinds = strings.Join(kinds, " ")
	return o
}

// code runs a cell in a context, or in the default one of a language.
func (b *testBox) code(context map[string]string, code string, extra ...any) outcome {
	b.e.t.Helper()
	body := map[string]any{"context": context, "code": code}
	for i := 0; i+1 < len(extra); i += 2 {
		body[extra[i].(string)] = extra[i+1]
	}
	status, _, out := b.e.do(http.MethodPost, b.execd("/code"), body)
	if status != http.StatusOK {
		b.e.t.Fatalf("code %q: %d %s", code, status, out)
	}
	return readCell(b.e.t, strings.NewReader(out))
}

func python() map[string]string { return map[string]string{"language": "python"} }

// requireProgram leaves a test out, and says so, where the machine's root has
// no such program.
func (b *testBox) requireProgram(name string) {
	b.e.t.Helper()
	if b.run("command -v "+name).Code != "0" {
		fmt.Fprintf(os.Stderr, "\n*** LEFT OUT: %s: this machine has no %s\n\n", b.e.t.Name(), name)
		b.e.t.Skipf("LEFT OUT: no %s", name)
	}
}

type cellCase struct {
	code, stdout, stderr string
	result               string // its text; empty: none
	ename, evalue        string
	trace                string // a part of it
}

func (b *testBox) tryCells(t *testing.T, context map[string]string, cases []cellCase) {
	t.Helper()
	for _, c := range cases {
		o := b.code(context, c.code)
		text, _ := o.result["text"].(string)
		kinds := "init"
		for _, k := range []struct {
			there bool
			kind  string
		}{{c.stdout != "", "stdout"}, {c.stderr != "", "stderr"}, {true, "execution_count"}, {c.result != "", "result"}, {c.ename != "", "status"}, {c.ename != "", "error"}} {
			if k.there {
				kinds += " " + k.kind
			}
		}
		kinds += " execution_complete"
		if o.stdout != c.stdout || o.stderr != c.stderr || text != c.result || o.ename != c.ename || o.evalue != c.evalue || !strings.Contains(o.trace, c.trace) || o.kinds != kinds {
			t.Errorf("%q:\n got %+v\nwant %+v (%s)", c.code, o, c, kinds)
		}
	}
}

func TestPython(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(map[string]any{"env": map[string]string{"GIVEN": "g"}})
	box.requireProgram("python3")
	box.tryCells(t, python(), []cellCase{
		{code: "1 + 1", result: "2"},
		{code: "x = [1, 2]\ndef f(a):\n    return 1 / a\n"},
		{code: "import sys, time; print('out'); time.sleep(0.1); print('err', file=sys.stderr)\nx", stdout: "out\n", stderr: "err\n", result: "[1, 2]"},
		{code: "f(0)", ename: "ZeroDivisionError", evalue: "division by zero", trace: "File \"<cell 2>\", line 3, in f\n    return 1 / a"},
		{code: "if", ename: "SyntaxError", evalue: "invalid syntax (<cell 5>, line 1)", trace: "    if\n"},
		{code: "None"},
		{code: "'''two\nlines'''", result: `'two\nlines'`},
		{code: "x;"},
		{code: "import asyncio\nawait asyncio.sleep(0.01)\n'awaited'", result: "'awaited'"},
		{code: "print('{\"type\": \"done\", \"count\": 1}')\nprint('no end', end='')", stdout: "{\"type\": \"done\", \"count\": 1}\nno end"},
		{code: "input()", ename: "EOFError", evalue: "EOF when reading a line"},
		{code: "import os; os.environ['GIVEN'], os.getcwd(), __name__", result: "('g', '/workspace', '__main__')"},
		{code: "raise SystemExit(3)", ename: "SystemExit", evalue: "3"},
		{code: "def g(): g()\ng()", ename: "RecursionError", evalue: "maximum recursion depth exceeded", trace: "g()"},
		{code: "os.close(1); os.dup2(2, 1);"},
		{code: "print('back')", stdout: "back\n"},
		{code: "sys.stdout.buffer.write(b'\\xe4\\xbd'); sys.stdout.flush()\nimport time; time.sleep(0.05); sys.stdout.buffer.write(b'\\xa0\\xff'); 0", stdout: "你\ufffd", result: "0"},
		{code: "if os.fork() == 0: print('child')\nelse: os.wait()\n5", stdout: "child\n", result: "5"},
		{code: "import subprocess; subprocess.run('echo from a child; ls /proc/self/fd | wc -l; sleep 0.1; echo and its errors >&2', shell=True); 0", stdout: "from a child\n4\n", stderr: "and its errors\n", result: "0"},
		{code: "class B:\n  def __repr__(self): raise ValueError('no repr')\nB()", ename: "ValueError", evalue: "no repr", trace: "in __repr__"},
		{code: "import threading\nthreading.Thread(target=lambda: (time.sleep(0.1), print('late'))).start()"},
		{code: "time.sleep(0.3)", stdout: "late\n"}, // what a thread prints comes with the cell that runs
	})
	o := box.code(python(), "class H:\n  def _repr_html_(self): return '<b>'\n  def _repr_png_(self): return b'abc'\n  def __repr__(self): return 'H'\nH()")
	if fmt.Sprint(o.result) != "map[image/png:YWJj text:H text/html:<b>]" {
		t.Errorf("a result of several kinds: %v", o.result)
	}
	if o := box.code(python(), "'x' * (40 << 20)"); !strings.Contains(fmt.Sprint(o.result["text"]), "too large") {
		t.Errorf("a huge result: %d bytes", len(fmt.Sprint(o.result)))
	}
	if o := box.code(python(), "for i in range(100000): print(i)"); len(o.stdout) != 588890 || !strings.HasSuffix(o.stdout, "\n99999\n") {
		t.Errorf("much output: %d bytes", len(o.stdout))
	}
}

func TestJavaScript(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	box.requireProgram("node")
	js := map[string]string{"language": "javascript"}
	box.tryCells(t, js, []cellCase{
		{code: "1 + 1", result: "2"},
		{code: "const x = {a: [1, 2]}; function f() { return null.y }"},
		{code: "console.log('out'); await new Promise((r) => setTimeout(r, 100)); console.error('err'); x", stdout: "out\n", stderr: "err\n", result: "{ a: [ 1, 2 ] }"},
		{code: "const x = 'again'; x", result: "'again'"},
		{code: "f()", ename: "TypeError", evalue: "Cannot read properties of null (reading 'y')", trace: "at f (cell-2.js:1:51)"},
		{code: "let =", ename: "SyntaxError", evalue: "Unexpected end of input"},
		{code: "await new Promise((r) => setTimeout(() => r(7), 10))", result: "7"},
		{code: "await Promise.reject(new RangeError('no'))", ename: "RangeError", evalue: "no"},
		{code: "undefined"},
		{code: "throw 'a string'", ename: "Error", evalue: "a string", trace: "Uncaught a string"},
		{code: "`two\nlines`", result: `'two\nlines'`},
		{code: "console.log('{\"type\":\"done\",\"count\":1}')", stdout: "{\"type\":\"done\",\"count\":1}\n"},
		{code: "require('fs').readFileSync(0).length", result: "0"},
		{code: "require('child_process').spawnSync('sh', ['-c', 'echo child; ls /proc/self/fd | wc -l'], {stdio: 'inherit'}).status", stdout: "child\n4\n", result: "0"},
		{code: "const g = () => g(); g()", ename: "RangeError", evalue: "Maximum call stack size exceeded"},
		{code: "setTimeout(() => { throw new Error('later') }, 1); await new Promise((r) => setTimeout(r, 50))", stderr: "Error: later\n    at Timeout._onTimeout (cell-16.js:1:26)\n"},
		{code: "x", result: "'again'"},
	})
	ts := box.code(map[string]string{"language": "typescript"}, "const n: number = 6; n * 7")
	if fmt.Sprint(ts.result["text"]) != "42" && !strings.Contains(ts.evalue, "TypeScript needs node 22.13 or newer") {
		t.Errorf("TypeScript: %+v", ts)
	}
}

func TestBashCells(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	box.tryCells(t, map[string]string{"language": "bash"}, []cellCase{
		{code: "a=1; f() { echo f$1; }; cd /usr"},
		{code: "pwd; f $a; sleep 0.1; echo err >&2", stdout: "/usr\nf1\n", stderr: "err\n"},
		{code: "exit 3", ename: "CommandExecError", evalue: "3", trace: "exit status 3"},
		{code: "kill -KILL $$", ename: "CommandExecError", evalue: "-1", trace: "signal: killed"},
		{code: "echo $a; printf 'no end'", stdout: "1\nno end"},
		{code: "sleep 1000 & echo bg", stdout: "bg\n"},
	})
	began := time.Now()
	if o := box.code(map[string]string{"language": "bash"}, "sleep 1000", "timeout", 300); o.ename != "TimeoutError" || o.evalue != "timeout after 300ms" || time.Since(began) > 20*time.Second {
		t.Errorf("timeout: %+v", o)
	}
	box.e.do(http.MethodDelete, box.execd("/code/contexts?language=bash"), nil)
	eventually(t, "the end of what it started", func() bool { return box.run("pgrep -f 'slee[p] 1000'").Code != "0" })
}

// TestCodeContexts goes through what the wire has for contexts.
func TestCodeContexts(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	box.requireProgram("python3")
	code, _, out := e.do(http.MethodPost, box.execd("/code/context"), `{"language":"python","cwd":"/tmp/here"}`)
	m := regexp.MustCompile(`^{"id":"([0-9a-f]{32})","language":"python","cwd":"/tmp/here"}$`).FindStringSubmatch(out)
	if code != http.StatusOK || m == nil {
		t.Fatalf("making a context: %d %s", code, out)
	}
	mine := map[string]string{"id": m[1]}
	if o := box.code(mine, "a = 1; import os; os.getcwd()"); o.context != m[1] || o.result["text"] != "'/tmp/here'" {
		t.Errorf("in a context: %+v", o)
	}
	if o := box.code(python(), "a"); o.ename != "NameError" || o.context == m[1] {
		t.Errorf("the default context knows the other's names: %+v", o)
	}
	info := `{"id":"` + m[1] + `","language":"python"}`
	for _, c := range []struct {
		method, path, body string
		code               int
		want               string // a regular expression
	}{
		{"GET", "/code/contexts/" + m[1], "", 200, regexp.QuoteMeta(info)},
		{"GET", "/code/contexts", "", 200, `\[\{.*\},\{.*\}\]`},
		{"GET", "/code/contexts?language=python", "", 200, `.*` + regexp.QuoteMeta(info) + `.*`},
		{"GET", "/code/contexts?language=java", "", 200, `\[\]`},
		{"GET", "/code/contexts?language=sql", "", 500, `{"code":"RUNTIME_ERROR","message":"unsupported language context operation: sql"}`},
		{"GET", "/code/contexts/nope", "", 404, `{"code":"CONTEXT_NOT_FOUND","message":"context nope not found"}`},
		{"POST", "/code", `{"context":{"id":"nope"},"code":"1"}`, 404, `{"code":"CONTEXT_NOT_FOUND","message":"context nope not found"}`},
		{"POST", "/code", `{"context":{"language":"cobol"},"code":"1"}`, 500, `{"code":"RUNTIME_ERROR","message":"error running codes unknown language: cobol"}`},
		{"POST", "/code", `{"context":{"language":"java"},"code":"1"}`, 500, `{"code":"RUNTIME_ERROR","message":"error running codes java is not possible here: this engine runs python, javascript, typescript and bash"}`},
		{"POST", "/code", `{"context":{"language":"python"}}`, 400, `{"code":"INVALID_REQUEST_BODY","message":"invalid request, validation error Key: 'RunCodeRequest.Code' Error:Field validation for 'Code' failed on the 'required' tag"}`},
		{"POST", "/code", `{`, 400, `{"code":"INVALID_REQUEST_BODY","message":"error parsing request, MAYBE invalid body format. unexpected EOF"}`},
		{"POST", "/code/context", `{"language":"cobol"}`, 500, `{"code":"RUNTIME_ERROR","message":"error creating code context. unknown language: cobol"}`},
		{"DELETE", "/code", "", 400, `{"code":"MISSING_QUERY","message":"missing query parameter 'id'"}`},
		{"DELETE", "/code?id=nope", "", 500, `{"code":"RUNTIME_ERROR","message":"no such session: nope"}`},
		{"DELETE", "/code?id=" + m[1], "", 200, ""},
		{"DELETE", "/code/contexts", "", 400, `{"code":"MISSING_QUERY","message":"missing query parameter 'language'"}`},
		{"DELETE", "/code/contexts/nope", "", 404, `{"code":"CONTEXT_NOT_FOUND","message":"context nope not found"}`},
		{"DELETE", "/code/contexts/" + m[1], "", 200, ""},
		{"DELETE", "/code/contexts/" + m[1], "", 404, `.*CONTEXT_NOT_FOUND.*`},
		{"DELETE", "/code/contexts?language=python", "", 200, ""},
		{"GET", "/code/contexts", "", 200, `\[\]`},
	} {
		if code, _, out := e.do(c.method, box.execd(c.path), c.body); code != c.code || !regexp.MustCompile("^"+c.want+"$").MatchString(out) {
			t.Errorf("%s %s %s: %d %s, want %d %s", c.method, c.path, c.body, code, out, c.code, c.want)
		}
	}
	eventually(t, "the end of the interpreters", func() bool { return box.run("pgrep -f 'pytho[n]'").Code != "0" })
	// Without a language, code is a command.
	for _, language := range []string{"", "command"} {
		if o := box.code(map[string]string{"language": language}, "echo $0"); o.stdout != "bash" || o.kinds != "init stdout execution_complete" {
			t.Errorf("code of language %q: %+v", language, o)
		}
	}
	// A root without an interpreter.
	bare := e.create(map[string]any{"env": map[string]string{"PATH": "/usr/sbin"}, "entrypoint": []string{"/usr/bin/tail", "-f", "/dev/null"}})
	want := `{"code":"RUNTIME_ERROR","message":"error running codes python is not possible in this sandbox: its root file system has no python3 or python (looked in PATH: /usr/sbin); use an image that has it"}`
	if code, _, out := e.do(http.MethodPost, bare.execd("/code"), `{"context":{"language":"python"},"code":"1"}`); code != 500 || out != want {
		t.Errorf("without an interpreter: %d %s", code, out)
	}
}

// TestCellEnds ends cells, and interpreters, in all ways.
func TestCellEnds(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	for _, language := range []struct{ name, program, loop, wait, say, die, dieText, children string }{
		{"python", "python3", "print('ready', flush=True)\nwhile True: pass", "print('ready', flush=True)\nimport time; time.sleep(1000)", "n = 1\nn", "import os; os._exit(4)", "exit status 4", "import subprocess; p = subprocess.Popen(['sleep', '2001']); print('ready', flush=True); p.wait()"},
		{"javascript", "node", "console.log('ready'); while (true) {}", "console.log('ready'); await new Promise(() => setTimeout(() => 0, 1e6))", "n = 1; n", "process.exit(4)", "exit status 4", "const p = require('child_process').spawn('sleep', ['2001']); console.log('ready'); await new Promise((r) => p.on('exit', r))"},
	} {
		t.Run(language.name, func(t *testing.T) {
			box := &testBox{e: &testEngine{t, e.Engine, e.dir}, ID: box.ID}
			box.requireProgram(language.program)
			context := map[string]string{"language": language.name}
			id := box.code(context, language.say).context
			begin := func(code string) (io.Reader, func()) {
				return box.stream(t.Context(), "/code", map[string]any{"context": context, "code": code}, `"text":"ready`)
			}
			for _, code := range []string{language.loop, language.wait} {
				rd, stop := begin(code)
				// Only one cell at a time.
				status, _, out := box.e.do(http.MethodPost, box.execd("/code"), map[string]any{"context": context, "code": "1"})
				if status != http.StatusOK || !strings.HasSuffix(out, `}`+"\n\n"+`{"code":"RUNTIME_ERROR","message":"error running codes session is busy"}`) {
					t.Errorf("a second cell: %d %q", status, out)
				}
				if status, _, out := box.e.do(http.MethodDelete, box.execd("/code?id="+id), nil); status != http.StatusOK || out != "" {
					t.Errorf("interrupt: %d %s", status, out)
				}
				if o := readCell(t, rd); o.ename != "KeyboardInterrupt" || !strings.HasSuffix(o.kinds, "status error execution_complete") {
					t.Errorf("an interrupted cell: %+v", o)
				}
				stop()
			}
			const n = "n"
			if o := box.code(context, n); o.result["text"] != "1" {
				t.Errorf("its state is lost: %+v", o)
			}
			if o := box.code(context, language.wait, "timeout", 300); o.ename != "TimeoutError" || o.evalue != "timeout after 300ms" {
				t.Errorf("timeout: %+v", o)
			}
			// The interpreter dies; the next cell has a new one.
			if o := box.code(context, language.die); o.ename != "KernelDied" || !strings.Contains(o.evalue, language.dieText) || !strings.HasSuffix(o.kinds, "status error execution_complete") {
				t.Errorf("an interpreter that ends: %+v", o)
			}
			if o := box.code(context, n); o.ename != "NameError" && o.ename != "ReferenceError" || o.context != id {
				t.Errorf("after its end: %+v", o)
			}
			// A reader who leaves stops nothing.
			_, stop := begin(language.children)
			stop()
			eventually(t, "the child", func() bool { return box.run("pgrep -f 'slee[p] 2001'").Code == "0" })
			// The end of the context is the end of all that.
			if status, _, out := box.e.do(http.MethodDelete, box.execd("/code/contexts/"+id), nil); status != http.StatusOK {
				t.Errorf("deleting: %d %s", status, out)
			}
			eventually(t, "the end of the child", func() bool { return box.run("pgrep -f 'slee[p] 2001'").Code != "0" })
			// So is the end of the context while a cell runs.
			rd, stop := begin(language.loop)
			defer stop()
			var list []struct{ ID string }
			_, _, out := box.e.do(http.MethodGet, box.execd("/code/contexts?language="+language.name), nil)
			if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) != 1 {
				t.Fatalf("contexts: %s", out)
			}
			box.e.do(http.MethodDelete, box.execd("/code/contexts/"+list[0].ID), nil)
			if o := readCell(t, rd); o.ename != "KernelDied" {
				t.Errorf("a cell whose context was deleted: %+v", o)
			}
		})
	}
	eventually(t, "no interpreters", func() bool { return box.run("pgrep -f 'pytho[n]|nod[e]'").Code != "0" })
}

// TestInitStaysSmall checks that nothing of many sessions, contexts and
// commands stays in the sandbox's init: no descriptor and no thread for each.
func TestInitStaysSmall(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	box.requireProgram("python3")
	round := func(n int) {
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				s := box.shell(nil)
				s.run("sleep 1000 >/dev/null 2>&1 & echo x; exec >&- 2>&-")
				_, stop := s.start(t.Context(), "echo ready; sleep 1000")
				stop()
				e.do(http.MethodDelete, box.execd("/session/"+s.id), nil)
				code, _, out := e.do(http.MethodPost, box.execd("/code/context"), `{"language":"python"}`)
				var c struct{ ID string }
				if err := json.Unmarshal([]byte(out), &c); err != nil || code != http.StatusOK {
					t.Errorf("context: %d %s", code, out)
					return
				}
				box.code(map[string]string{"id": c.ID}, "import os; os.system('sleep 1000 &')")
				e.do(http.MethodDelete, box.execd("/code/contexts/"+c.ID), nil)
				for _, query := range []string{"", "?pty=0"} {
					p := box.pty(map[string]string{"command": "echo a b; sleep 1000"})
					s := p.open(query)
					s.until("a b")
					if query == "" {
						_ = s.conn.CloseNow()
					}
					e.do(http.MethodDelete, box.execd("/pty/"+p.id), nil)
				}
			})
		}
		wg.Wait()
	}
	round(4)
	before := initCount(t, box, "fd")
	round(12)
	eventually(t, "descriptors given back", func() bool { return initCount(t, box, "fd") <= before+8 })
	eventually(t, "processes gone", func() bool { return box.run("pgrep -f 'slee[p]|pytho[n]'").Code != "0" })
}

// initCount counts the entries of a directory of the init's in /proc, seen
// from outside.
func initCount(t *testing.T, box *testBox, kind string) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/" + strconv.Itoa(initOf(t, box)) + "/" + kind)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// initOf finds the process that is a sandbox's init: its name space's first.
func initOf(t *testing.T, box *testBox) int {
	t.Helper()
	for _, p := range processesOf(t, box.ID) {
		dir, _, _ := strings.Cut(strings.TrimPrefix(p, "/proc/"), "/")
		b, err := os.ReadFile("/proc/" + dir + "/status")
		if err == nil && bytes.Contains(b, []byte("\t1\n")) && regexp.MustCompile(`(?m)^NSpid:.*\s1$`).Match(b) {
			n, err := strconv.Atoi(dir)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no init of %s", box.ID)
	return 0
}
