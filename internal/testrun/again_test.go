package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The tests that are run are real ones, of a module of their own. Those that fail once leave a file behind.
const flaky = `package x

import (
	"os"
	"testing"
	"time"
)

func first(name string) bool {
	_, err := os.Stat(name)
	return err != nil && os.WriteFile(name, nil, 0o600) == nil
}

func count(t *testing.T) {
	f, err := os.OpenFile("ran", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.WriteString(t.Name() + "\n")
}

func TestGood(t *testing.T) { count(t) }

func TestLeftOut(t *testing.T) { count(t) }

func TestA(t *testing.T) {
	count(t)
	t.Run("good", func(t *testing.T) {})
	t.Run("once", func(t *testing.T) {
		t.Parallel()
		if os.Getenv("FAILS") != "" && first("fail") {
			t.Error("the first time")
		}
	})
}

func TestZ(t *testing.T) {
	count(t)
	if os.Getenv("HANGS") != "" && first("hang") {
		time.Sleep(time.Hour)
	}
	if os.Getenv("CRASHES") != "" && first("crash") {
		panic("a crash")
	}
	if os.Getenv("BAD") != "" {
		t.Error("each time")
	}
}

func TestMain(m *testing.M) {
	code := m.Run()
	if os.Getenv("LEAKS") != "" && first("leak") {
		code = 1
	}
	os.Exit(code)
}
`

func TestAgain(t *testing.T) {
	for _, c := range []struct {
		name   string
		code   int
		ran    string // the tests that ran the second time
		output string
	}{
		{"NOTHING", 0, "", "\n5 passed, 0 failed, 0 skipped\n"},
		{"FAILS", 0, "TestA", "FAILED ONCE, passed alone (2; what they printed is above):\n  x TestA/once\n  x TestA\n\n5 passed, 0 failed, 0 skipped\n"},
		{"HANGS", 0, "TestZ", "FAILED ONCE, passed alone (1; what they printed is above):\n  x TestZ\n"},
		{"LEAKS", 0, "TestGood TestA TestZ", "FAILED ONCE, passed alone (1; what they printed is above):\n  x (outside its tests)\n\n5 passed, 0 failed, 0 skipped\n"},
		{"BAD", 1, "TestZ", "\n4 passed, 1 failed, 0 skipped\n"},
		{"CRASHES", 1, "", "panic: a crash"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"go.mod": "module x\n\ngo 1.25\n", "x_test.go": flaky} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			t.Chdir(dir)
			t.Setenv(c.name, "yes")
			var out strings.Builder
			code, err := run([]string{"-timeout=2s", "-count=1", "-skip=LeftOut", "./..."}, &out, true)
			if code != c.code || err != nil || !strings.Contains(out.String(), c.output) {
				t.Errorf("exit code %d, %v, want %d with %q in\n%s", code, err, c.code, c.output, out.String())
			}
			ran, err := os.ReadFile("ran")
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Fields("TestGood TestA TestZ " + c.ran)
			if got := strings.Fields(string(ran)); strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("ran %q, want %q", got, want)
			}
		})
	}
}

// A command that fails without saying what did is an error, also beside packages in which tests failed.
func TestCommandFails(t *testing.T) {
	t.Parallel()
	command := filepath.Join(t.TempDir(), "one")
	text := "#!/bin/sh\n[ $1 = good ] || exit 1\necho '{\"Action\":\"fail\",\"Package\":\"good\",\"Test\":\"T\"}'\nexit 1\n"
	if err := os.WriteFile(command, []byte(text), 0o700); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	if code, err := run([]string{"-by=" + command, "good", "bad"}, &strings.Builder{}, true); code != 1 || err == nil || !strings.Contains(err.Error(), "bad") {
		t.Errorf("exit code %d, %v", code, err)
	}
}

// What can't be chance, or must not be taken for it, is not run again.
func TestNotAgain(t *testing.T) {
	t.Parallel()
	for name, events := range map[string]string{
		"a data race":           `{"Action":"output","Package":"p","Test":"T","Output":"WARNING: DATA RACE\n"}` + "\n" + `{"Action":"fail","Package":"p","Test":"T"}`,
		"what was lost":         `{"Action":"fail","Package":"p","Test":"TestChaosAppend/sqlite"}`,
		"what does not compile": `{"Action":"fail","Package":"p","FailedBuild":"p"}`,
		"many":                  strings.Repeat(`{"Action":"fail","Package":"p","Test":"T"}`+"\n", mostAgain+1),
	} {
		r := newReport(&strings.Builder{})
		if err := r.read(strings.NewReader(events)); err != nil {
			t.Fatal(err)
		}
		if got := r.again(); got != nil || r.failed+r.broken == 0 {
			t.Errorf("%s: %v runs again, %d failed, %d broken", name, got, r.failed, r.broken)
		}
	}
}
