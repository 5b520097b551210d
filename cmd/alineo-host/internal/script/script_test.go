package script

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	text := "# a comment\n\nexec echo  a  b\nexec <<EOF\nfor i in 1 2; do\n  echo $i\ndone\nEOF\n" +
		"write /w/a.txt <<END\n line\nEND\nwrite /w/b.bin < b.bin\r\ncheckpoint one\nread /w/a.txt\n"
	got, err := Parse("job", []byte(text), func(name string) ([]byte, error) {
		return []byte("content of " + name), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []Step{
		{Kind: Exec, Line: 3, Text: "echo  a  b"},
		{Kind: Exec, Line: 4, Text: "for i in 1 2; do\n  echo $i\ndone\n"},
		{Kind: Write, Line: 9, Path: "/w/a.txt", Data: []byte(" line\n")},
		{Kind: Write, Line: 12, Path: "/w/b.bin", Data: []byte("content of b.bin")},
		{Kind: Checkpoint, Line: 13, Text: "one"},
		{Kind: Read, Line: 14, Path: "/w/a.txt"},
	}
	if len(got.Steps) != len(want) {
		t.Fatalf("got %d steps, want %d: %v", len(got.Steps), len(want), got.Steps)
	}
	for i, step := range got.Steps {
		if step.Kind != want[i].Kind || step.Line != want[i].Line || step.Text != want[i].Text ||
			step.Path != want[i].Path || !bytes.Equal(step.Data, want[i].Data) {
			t.Errorf("step %d: got %+v, want %+v", i, step, want[i])
		}
	}
}

func TestParseReportsEveryProblemWithItsLine(t *testing.T) {
	t.Parallel()
	text := strings.Join([]string{
		"run echo", "exec", "checkpoint", "checkpoint a b", "write x.txt <<E", "y", "E", "write /x", "write /x < missing",
		"read rel", "checkpoint a", "checkpoint a", "read /a/$HOME", "exec <<NEVER", "echo",
	}, "\n")
	_, err := Parse("job", []byte(text), func(string) ([]byte, error) { return nil, os.ErrNotExist })
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`job:1: unknown step "run"`, "job:2: exec without a command", "job:3: checkpoint takes one name",
		`job:4: checkpoint takes one name (write ` + "`checkpoint built`" + `), not "a b"`,
		`job:5: "x.txt" is not an absolute path of the sandbox (try "/workspace/x.txt")`,
		"job:8: write needs a text or a file", `job:9: reading "missing"`, `job:10: "rel" is not an absolute path`,
		`job:12: checkpoint "a" was already made on line 11`, "job:13:", `job:14: no line "NEVER" ends the text`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q in:\n%v", want, err)
		}
	}
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the cause of a file that can't be read is lost: %v", err)
	}
}

func TestLoadReadsFilesBesideTheScript(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"job": "write /d < d.txt\n", "d.txt": "data"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Load(filepath.Join(dir, "job"))
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Steps[0].Data) != "data" {
		t.Errorf("got %q", got.Steps[0].Data)
	}
	for _, bad := range []string{filepath.Join(dir, "none"), dir} {
		if _, err := Load(bad); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("exec a\ncheckpoint b\nwrite /x <<E\nE\nread /x")
	f.Add("exec <<")
	f.Fuzz(func(t *testing.T, text string) {
		script, err := Parse("f", []byte(text), func(string) ([]byte, error) { return nil, os.ErrNotExist })
		if (script == nil) == (err == nil) {
			t.Fatalf("script %v, error %v", script, err)
		}
	})
}
