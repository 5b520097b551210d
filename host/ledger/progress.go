package ledger

import "time"

// Progress is how far a long work is.
type Progress struct {
	Sandboxes, Entries int64 // that were looked at, in this round of several
	Done, Total        int64 // of the whole work, in a unit of its own; Total is 0 where it is not known
}

// meter tells a caller now and then how far a work is. A nil one tells nobody.
type meter struct {
	at   Progress
	own  bool // Done is set by the work itself, and is not the number of entries
	tell func(Progress)
	told time.Time
}

func newMeter(tell func(Progress)) *meter {
	if tell == nil {
		return nil
	}
	return &meter{tell: tell}
}

const (
	tellEvery = 50 * time.Millisecond
	lookEvery = 256 // entries between looks at the clock
)

func (m *meter) entry() {
	if m == nil {
		return
	}
	if !m.own {
		m.at.Done++
	}
	if m.at.Entries++; m.at.Entries%lookEvery == 0 {
		m.look()
	}
}

// round begins to count anew.
func (m *meter) round() {
	if m != nil {
		m.at.Entries, m.at.Sandboxes = 0, 0
	}
}

func (m *meter) sandbox() {
	if m == nil {
		return
	}
	m.at.Sandboxes++
	m.look()
}

// removing begins to count what goes.
func (m *meter) removing(going []Prunable) {
	if m == nil {
		return
	}
	m.at = Progress{}
	for i := range going {
		m.at.Total += int64(going[i].Entries)
	}
	m.end()
}

// removed counts one sandbox.
func (m *meter) removed(entries uint64) {
	if m == nil {
		return
	}
	m.at.Entries += int64(entries)
	m.at.Done += int64(entries)
	m.sandbox()
}

func (m *meter) look() {
	if now := time.Now(); now.Sub(m.told) >= tellEvery {
		m.told = now
		m.tell(m.at)
	}
}

// end tells where the work ended.
func (m *meter) end() {
	if m != nil {
		m.tell(m.at)
	}
}
