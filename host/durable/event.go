package durable

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/alineo-labs/alineo-host/host/store"
)

// The kinds of events that runs write themselves.
const (
	// EventAccepted is the first event of a run, an object.
	EventAccepted = "run.accepted"
	// EventOutput is what the command wrote to its standard output, byte for byte: one line with its end;
	// the bytes of all such events, one after the other, are the output.
	EventOutput = "output"
	// EventEnded is the last event that a driver writes: an [Ended].
	EventEnded = "run.ended"

	// eventRange is output as positions in the journal, where content is not kept.
	eventRange = "output.range"
)

// Event is one event of a run, as its viewers get it.
type Event struct {
	Offset uint64 // where to attach again to get what comes after it
	TS     int64  // when it was stored, Unix milliseconds of the store's clock
	Kind   string
	Data   []byte // JSON, unless it is EventOutput
	// Lost is set for output that can't be had any more: content was not kept, and the sandbox is gone.
	Lost bool
}

// Ended is how a run ended.
type Ended struct {
	Status   store.RunStatus `json:"status"`
	ExitCode *int            `json:"exitCode,omitempty"` // nil when the command didn't come to its end
	Error    *store.RunError `json:"error,omitempty"`
}

// The codes of a run's error.
const (
	CodeExit        = "exit"         // the command ended with another code than 0
	CodeCanceled    = "canceled"     // somebody asked for it
	CodeExpired     = "expired"      // nobody came back in time
	CodeSandbox     = "sandbox"      // no sandbox could be had
	CodeSandboxGone = "sandbox-gone" // the sandbox ended before the run did
	CodeNotStarted  = "not-started"  // there is no journal: the host died before the command was started, or it couldn't be
	CodeVanished    = "vanished"     // the command's processes are gone, and nothing says how it ended
	CodeDiverged    = "diverged"     // the journal is not what the log was written from
	CodeStore       = "store"        // the store refused an event
)

// ranged is the data of eventRange.
type ranged struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// accepted is the data of EventAccepted: what a host that takes the run over must know of its spec.
type accepted struct {
	Destroy bool `json:"destroyOnComplete,omitempty"`
	// Command is what runs, where content is kept.
	Command string `json:"command,omitempty"`
}

// inBand says whether an event comes from the journal, so that a replay brings it again.
func inBand(kind string) bool { return kind == EventOutput || kind == eventRange }

// checkKind refuses events of others that look like a run's own.
func checkKind(kind string) error {
	if kind == "" || kind == EventOutput || strings.HasPrefix(kind, "output.") || strings.HasPrefix(kind, "run.") {
		return fmt.Errorf("%w: %q is no name for an event of your own (run. and output are the host's)", store.ErrInvalid, kind)
	}
	return nil
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own types, without anything that could fail
	}
	return data
}
