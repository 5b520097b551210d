package script

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/store"
)

func payload(t *testing.T, v any) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestMatch(t *testing.T) {
	t.Parallel()
	parse := func(text string) *Script {
		s, err := Parse("job", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	original := parse("write /a <<E\nx\nE\nexec one\nread /a\ncheckpoint c\nexec two\n")
	entries := []store.Entry{
		{Event: store.EventSandboxCreated},
		{Event: EventStep, Payload: payload(t, NewRecord(original.Steps[0], original.Steps[0].Data))},
		{Event: store.EventExecStarted, Payload: payload(t, map[string]any{"cmd": "one", "seq": 1})},
		{Event: store.EventExecOutput, Payload: payload(t, map[string]any{"seq": 1, "type": "stdout", "text": "x"})},
		{Event: EventStep, Payload: payload(t, NewRecord(original.Steps[2], []byte("x\n")))},
		{Event: store.EventCheckpointCreated, Payload: payload(t, map[string]any{"snapshotId": "s", "name": "c"})},
	}
	var rec Recorder
	for _, e := range entries {
		if err := rec.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := original.Match(rec.Done()); n != 4 || err != nil {
		t.Fatalf("got %d, %v", n, err)
	}
	if got := rec.Done()[2].Record.Text; got == nil || *got != "x\n" {
		t.Errorf("the text of a read step was not kept: %v", got)
	}
	for name, tc := range map[string]struct {
		text  string
		line  int
		wants []string
	}{
		"command": {"write /a <<E\nx\nE\nexec other\n", 4, []string{"job:4:", "ledger: exec one", "script: exec other"}},
		"content": {"write /a <<E\ny\nE\nexec one\n", 1, []string{"ledger: write /a (2 bytes, sha256 73cb3858a687", "script: write /a (2 bytes"}},
		"kind":    {"exec one\n", 1, []string{"ledger: write /a", "script: exec one"}},
		"name":    {"write /a <<E\nx\nE\nexec one\nread /a\ncheckpoint d\n", 6, []string{"ledger: checkpoint c", "script: checkpoint d"}},
		"shorter": {"write /a <<E\nx\nE\nexec one\n", 0, []string{"ledger: read /a", "script: nothing"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(tc.text).Match(rec.Done())
			var div *DivergenceError
			if !errors.As(err, &div) || div.Line != tc.line {
				t.Fatalf("got %v", err)
			}
			for _, want := range tc.wants {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("missing %q in:\n%v", want, err)
				}
			}
		})
	}
}

func TestNewRecordKeepsOnlyShortText(t *testing.T) {
	t.Parallel()
	step := Step{Kind: Read, Path: "/x"}
	for name, tc := range map[string]struct {
		data string
		kept bool
	}{
		"text": {"a\n", true}, "empty": {"", true}, "binary": {"\xff\x00", false}, "long": {strings.Repeat("a", maxRecorded+1), false},
	} {
		if rec := NewRecord(step, []byte(tc.data)); (rec.Text != nil) != tc.kept || rec.Bytes != len(tc.data) {
			t.Errorf("%s: got %+v", name, rec)
		}
	}
}
