package sandbox

import "github.com/alineo-labs/alineo-host/host/opensandbox"

// remembered is how many bytes of output at least are looked at again when an exec that was left running
// is gone on with: a value may begin there.
const remembered = 64 << 10

// place is where a piece of output begins: of a background command, or of a terminal.
type place struct {
	job    trail
	offset int64 // bytes
}

// trail is a position in a background command's output, behind what is recorded, with one that lies
// before it.
type trail struct {
	at    opensandbox.Position
	total int64 // bytes
	// older and newer are behind at by remembered bytes and more, as far as there are so many.
	older, newer step
}

type step struct {
	at    opensandbox.Position
	total int64
}

// advance moves the position by n bytes.
func (t *trail) advance(at opensandbox.Position, n int64) {
	t.at = at
	t.total += n
	if t.total-t.newer.total >= remembered {
		t.older, t.newer = t.newer, step{at, t.total}
	}
}

// start is where reading begins, and known how many bytes from there are recorded.
func (t *trail) start() opensandbox.Position {
	if t.known() == 0 {
		return t.at
	}
	return t.older.at
}

func (t *trail) known() int64 { return t.total - t.older.total }

// payload says where to go on.
func (t *trail) payload(commandID string) *detachedPayload {
	p := &detachedPayload{CommandID: commandID, At: &t.at}
	if known := t.known(); known > 0 {
		p.Before, p.Known = &t.older.at, known
	}
	return p
}

// trail is where to go on, with what lies before it if that is wanted and known.
func (p *detachedPayload) trail(before bool) trail {
	var t trail
	if p.At != nil {
		t.at = *p.At
	}
	t.older.at = t.at
	if before && p.Before != nil {
		t.total, t.older.at = p.Known, *p.Before
	}
	t.newer = step{t.at, t.total}
	return t
}

// replayFrom is where a terminal's output is asked for from, in bytes.
func (t *Terminal) replayFrom() int64 {
	if !t.h.c.redacts() {
		return t.since
	}
	return max(0, t.since-remembered)
}

// fresh notes where output begins that is not recorded, and returns it.
func (t *Terminal) fresh(event *opensandbox.PTYEvent, pipe *pipeline, part int) []byte {
	known := min(max(t.since-event.Offset, 0), int64(len(event.Data)))
	if known > 0 {
		pipe.precede(event.Data[:known])
	}
	pipe.place.offset = event.Offset + known - int64(part)
	return event.Data[known:]
}

// precede takes output that is recorded, and in which a value may begin.
func (p *pipeline) precede(text []byte) {
	if p.redacts() {
		p.flow(opensandbox.TypeStdout).Precede(text)
	}
}

// withdraw takes back what is held back, which will come again, and returns where it began. It reports
// whether there was something.
func (p *pipeline) withdraw() (place, bool) {
	if p.flows.stdout == nil {
		return place{}, false
	}
	item, ok := p.flows.stdout.Drop()
	if !ok {
		return place{}, false
	}
	return item.place, true
}
