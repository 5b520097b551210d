package ledger

import "time"

// Progress is how far a long work is. Totals are 0 where they are not known.
type Progress struct {
	Sandboxes, Entries, Bytes                int64
	TotalSandboxes, TotalEntries, TotalBytes int64
}

// meter tells a caller now and then how far a work is. A nil one tells nobody.
type meter struct {
	at   Progress
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
	if m.at.Entries++; m.at.Entries%lookEvery == 0 {
		m.look()
	}
}

func (m *meter) sandbox() {
	if m == nil {
		return
	}
	m.at.Sandboxes++
	m.look()
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
