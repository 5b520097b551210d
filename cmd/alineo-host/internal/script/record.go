package script

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/alineo-labs/alineo-host/host/store"
)

// EventStep is the ledger event that a script records for each write and read step; exec and
// checkpoint steps have the ledger's own events.
const EventStep = "script.step"

// maxRecorded bounds the text of a read step that the ledger keeps, in bytes.
const maxRecorded = 64 << 10

// Record is the payload of EventStep.
type Record struct {
	Kind   Kind    `json:"kind"`
	Path   string  `json:"path"`
	Bytes  int     `json:"bytes"`
	SHA256 string  `json:"sha256"`
	Text   *string `json:"text,omitempty"` // read: the file, when it is text and short
}

// NewRecord describes a write or read step that was done with data.
func NewRecord(step Step, data []byte) Record {
	rec := Record{Kind: step.Kind, Path: step.Path, Bytes: len(data), SHA256: Step{Data: data}.Digest()}
	if step.Kind == Read && len(data) <= maxRecorded && utf8.Valid(data) {
		text := string(data)
		rec.Text = &text
	}
	return rec
}

// Done is a step that the ledger says was begun.
type Done struct {
	Kind   Kind
	Text   string // exec: the command; checkpoint: the name
	Record Record // write and read
}

// String shows it as one line of a script.
func (d Done) String() string {
	switch d.Kind {
	case Write:
		return fmt.Sprintf("write %s (%d bytes, sha256 %.12s)", d.Record.Path, d.Record.Bytes, d.Record.SHA256)
	case Read:
		return "read " + d.Record.Path
	case Exec, Checkpoint:
	}
	return Step{Kind: d.Kind, Text: d.Text}.String()
}

// Recorder collects the steps from a sandbox's entries, in order.
type Recorder struct {
	done []Done
}

// Add takes the next entry; those that are no steps are skipped.
func (r *Recorder) Add(e store.Entry) error {
	switch store.CurrentName(e.Event) {
	case store.EventExecStarted:
		var p struct {
			Cmd string `json:"cmd"`
		}
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			return fmt.Errorf("reading entry %d (%s): %w", e.ID, e.Event, err)
		}
		r.done = append(r.done, Done{Kind: Exec, Text: p.Cmd})
	case store.EventCheckpointCreated:
		var p struct {
			Name string `json:"name"`
		}
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			return fmt.Errorf("reading entry %d (%s): %w", e.ID, e.Event, err)
		}
		r.done = append(r.done, Done{Kind: Checkpoint, Text: p.Name})
	case EventStep:
		var p Record
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			return fmt.Errorf("reading entry %d (%s): %w", e.ID, e.Event, err)
		}
		r.done = append(r.done, Done{Kind: p.Kind, Record: p})
	}
	return nil
}

// Done returns the steps so far.
func (r *Recorder) Done() []Done { return r.done }

// DivergenceError says that a script is not the one that the ledger recorded.
type DivergenceError struct {
	File     string
	Line     int // of the step, 0 when the script has no more steps
	Recorded string
	Script   string
}

// Error shows both sides.
func (e *DivergenceError) Error() string {
	at, script := e.File, "nothing"
	if e.Line > 0 {
		at, script = fmt.Sprintf("%s:%d", e.File, e.Line), e.Script
	}
	return fmt.Sprintf("%s: the script differs from what the ledger recorded before the checkpoint\n  ledger: %s\n  script: %s",
		at, e.Recorded, script)
}

// Match compares the steps that the ledger recorded with the script's first ones and returns how
// many there are, or a *DivergenceError at the first difference.
func (s *Script) Match(done []Done) (int, error) {
	for i, d := range done {
		if i >= len(s.Steps) {
			return 0, &DivergenceError{File: s.File, Recorded: d.String()}
		}
		step := s.Steps[i]
		same := step.Kind == d.Kind
		switch step.Kind {
		case Exec, Checkpoint:
			same = same && step.Text == d.Text
		case Write:
			same = same && step.Path == d.Record.Path && step.Digest() == d.Record.SHA256
		case Read:
			same = same && step.Path == d.Record.Path
		}
		if !same {
			return 0, &DivergenceError{File: s.File, Line: step.Line, Recorded: full(d), Script: step.full()}
		}
	}
	return len(done), nil
}

// full shows all of a command, so that a difference behind its first line is seen.
func (s Step) full() string {
	if s.Kind == Exec {
		return "exec " + indent(s.Text)
	}
	return s.String()
}

func full(d Done) string {
	if d.Kind == Exec {
		return "exec " + indent(d.Text)
	}
	return d.String()
}

func indent(text string) string {
	return strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n          ")
}
