package main

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/internal/testcache"
	"github.com/alineo-labs/alineo-host/plugins"
)

func TestMain(m *testing.M) {
	// The engine starts this test binary again for each sandbox.
	host.Init()
	testscript.Main(m, map[string]func(){"alineo-host": main})
}

// TestStories runs the stories of testdata/script: what a person types and sees. Those that need a
// sandbox are left out, loudly, where the kernel allows none.
func TestStories(t *testing.T) {
	t.Parallel()
	able := sandboxes(t)
	dir, files := "testdata/script", []string(nil)
	if raceEnabled {
		// A program under the detector takes minutes for them all, and what runs beside one another is in
		// packages that have tests of their own.
		dir = ""
		for _, name := range [...]string{"run", "resume"} {
			files = append(files, filepath.Join("testdata", "script", name+".txtar"))
		}
	}
	testscript.Run(t, testscript.Params{
		Dir: dir, Files: files,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_CACHE_HOME", testcache.Home())
			// A directory for each story: one of them kills the process that serves it.
			data, err := engineData()
			if err != nil {
				return err
			}
			env.Defer(func() { _ = os.RemoveAll(data) })
			config := fmt.Sprintf("[engine]\ndata = %q\n", data)
			if err := os.WriteFile(filepath.Join(env.WorkDir, "alineo.toml"), []byte(config), 0o600); err != nil {
				return err
			}
			bundle, err := plugins.Find("sqlite")
			if err != nil {
				return err
			}
			env.Setenv("SQLITE_SHA256", bundle.SHA256)
			return os.WriteFile(filepath.Join(env.WorkDir, "sqlite.wasm"), bundle.Wasm, 0o600)
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "sandbox":
				return able, nil
			case "world":
				return able && os.Geteuid() == 0, nil // others may not listen on port 443
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"sql": runSQL, "setid": setID, "killafter": signalAfter(syscall.SIGKILL), "interruptafter": signalAfter(syscall.SIGINT), "flip": flip, "pin": pin, "sub": substitute,
			"fill": fill, "tamper": tamper, "cut": cut, "replace": replaceText, "fetch": fetch, "world": world,
		},
	})
}

// engineData makes a data directory for an engine. It must not lie below a directory that sandboxes
// see, and its path must be short enough for sockets.
func engineData() (string, error) { return os.MkdirTemp("", "alineo-host-engine-*") }

// sandboxes tells whether this machine can run one, and says so when not.
func sandboxes(t *testing.T) bool {
	t.Helper()
	data, err := engineData()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(data) }()
	cfg, err := host.LoadConfig("")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Engine.Data = data
	for _, f := range host.Doctor(t.Context(), cfg) {
		if f.Area == "engine" && f.Fatal {
			t.Logf("SKIPPED: stories that need a sandbox: %s: %s", f.Name, f.Detail)
			return false
		}
	}
	return true
}

// runSQL prints the rows of a query: sql FILE QUERY.
func runSQL(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sql FILE QUERY")
	}
	db, err := sql.Open("sqlite", "file:"+ts.MkAbs(args[0])+"?mode=ro")
	ts.Check(err)
	defer func() { _ = db.Close() }()
	rows, err := db.Query(args[1]) //nolint:noctx // a story has no context
	ts.Check(err)
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	ts.Check(err)
	for rows.Next() {
		cells := make([]sql.NullString, len(names))
		into := make([]any, len(names))
		for i := range cells {
			into[i] = &cells[i]
		}
		ts.Check(rows.Scan(into...))
		line := make([]string, len(names))
		for i, c := range cells {
			line[i] = c.String
		}
		_, _ = fmt.Fprintln(ts.Stdout(), strings.Join(line, "|"))
	}
	ts.Check(rows.Err())
}

// setID sets a variable to the id of the newest sandbox of a ledger: setid NAME FILE.
func setID(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: setid NAME FILE")
	}
	db, err := sql.Open("sqlite", "file:"+ts.MkAbs(args[1])+"?mode=ro")
	ts.Check(err)
	defer func() { _ = db.Close() }()
	var id string
	row := db.QueryRow(`SELECT sandbox_id FROM alineo_events WHERE event = 'sandbox.created' ORDER BY id DESC LIMIT 1`) //nolint:noctx // a story has no context
	ts.Check(row.Scan(&id))
	ts.Setenv(args[0], id)
}

// signalAfter runs a command and sends it a signal as soon as its standard output has a text:
// killafter TEXT COMMAND…. All that it printed is in output.txt then.
func signalAfter(signal syscall.Signal) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) < 2 {
			ts.Fatalf("usage: killafter TEXT COMMAND…")
		}
		cmd := exec.Command(args[1], args[2:]...) //nolint:noctx // it is stopped
		cmd.Dir, cmd.Env = ts.MkAbs("."), append(os.Environ(), "HOME="+ts.Getenv("HOME"), "XDG_CACHE_HOME="+ts.Getenv("XDG_CACHE_HOME"))
		out, err := cmd.StdoutPipe()
		ts.Check(err)
		ts.Check(cmd.Start())
		seen, buf := "", make([]byte, 4096)
		for !strings.Contains(seen, args[0]) {
			n, err := out.Read(buf)
			seen += string(buf[:n])
			if err != nil {
				_ = cmd.Wait()
				ts.Fatalf("it ended before it printed %q: %q", args[0], seen)
			}
		}
		ts.Check(cmd.Process.Signal(signal))
		rest, err := io.ReadAll(out)
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs("output.txt"), append([]byte(seen), rest...), 0o600))
		if err := cmd.Wait(); err == nil {
			ts.Fatalf("it was not stopped")
		}
	}
}

// flip changes one byte of a file: flip FILE OFFSET.
func flip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: flip FILE OFFSET")
	}
	data := []byte(ts.ReadFile(args[0]))
	at, err := strconv.Atoi(args[1])
	ts.Check(err)
	data[at] ^= 1
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o600))
}

// pin sets a variable to the sha256 of a file: pin NAME FILE.
func pin(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: pin NAME FILE")
	}
	sum := sha256.Sum256([]byte(ts.ReadFile(args[1])))
	ts.Setenv(args[0], hex.EncodeToString(sum[:]))
}

// substitute replaces ${NAME} in a file by the variable: sub FILE.
func substitute(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: sub FILE")
	}
	name := regexp.MustCompile(`\$\{([A-Z0-9_]+)\}`)
	text := name.ReplaceAllStringFunc(ts.ReadFile(args[0]), func(m string) string {
		return ts.Getenv(name.FindStringSubmatch(m)[1])
	})
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"echo a | wc -c"}, "echo a | wc -c"},
		{[]string{"echo", "a b", ""}, "echo 'a b' ''"},
		{[]string{"sh", "-c", "it's $HOME"}, `sh -c 'it'\''s $HOME'`},
		{[]string{"make", "-j2", "A=1"}, "make -j2 A=1"},
	} {
		if got := commandLine(tc.args); got != tc.want {
			t.Errorf("%q: got %s, want %s", tc.args, got, tc.want)
		}
	}
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	if got := oneLine("a\nb\x1b[31m", 6); got != "a b ["+"…" {
		t.Errorf("got %q", got)
	}
	if got := clock(time.Date(2026, 11, 29, 16, 0, 0, 0, time.Local).UnixMilli()); got != "2026-11-29 16:00:00" {
		t.Errorf("got %q", got)
	}
}
