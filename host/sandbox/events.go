package sandbox

import (
	"encoding/json"
	"fmt"
	"iter"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// maxEvents is how many events may wait for their reader.
const maxEvents = 1024

// Event is one thing that an exec told, as the ledger has it.
type Event struct {
	Type string          // such as stdout, stderr or result; see the Type constants of host/opensandbox
	Text string          // as it came: lines of commands without their ends
	Raw  json.RawMessage // the whole event as the sandbox sent it; nil when it sent it in another form
}

// Events returns what the exec tells, in order, each once the ledger has it. ExecOptions.Events must
// have been set. There is one such sequence: walking it again goes on where it was left. Like a reader
// that is not read, one that is not walked holds the command up; breaking off lets it go on.
//
// The last thing that comes is the exec's error, if it has one besides its exit code. A replayed exec
// tells its whole standard output, then its whole standard error, and then the results of code.
func (x *Exec) Events() iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		if x.events == nil {
			yield(nil, x.fail(fmt.Errorf("%w: its events were not asked for; set ExecOptions.Events", ErrInvalid)))
			return
		}
		for event := range x.events {
			if !yield(event, nil) {
				x.leave()
				return
			}
		}
		<-x.done
		if x.err != nil && x.result == nil {
			yield(nil, x.err)
		}
	}
}

// tell hands an event to its reader, and waits until that has room for it.
func (x *Exec) tell(event *Event) {
	if event == nil {
		return
	}
	select {
	case x.events <- event:
		return
	default:
	}
	select {
	case x.events <- event:
	case <-x.left:
	}
}

// replayedEvents tells what the ledger has of the output.
func (x *Exec) replayedEvents(recorded *ledger.Exec) {
	if x.events == nil {
		return
	}
	for _, event := range []*Event{
		{Type: opensandbox.TypeStdout, Text: recorded.Stdout}, {Type: opensandbox.TypeStderr, Text: recorded.Stderr},
	} {
		if event.Text != "" {
			x.events <- event
		}
	}
	for _, payload := range recorded.Rich { // fewer than there is room for
		raw := withoutSeq(payload)
		var told struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(raw, &told) == nil {
			x.events <- &Event{Type: told.Type, Raw: raw}
		}
	}
	close(x.events)
}
