package abi

// LogAppendRequest carries no events: they stay on the host and are bound by handle.
type LogAppendRequest struct {
	RunID  string
	Epoch  uint64
	After  *uint64 // the offset that the log must end with; nil: any
	Events uint64  // batch handle, columns LogEvent*; 0: no events
	Count  uint64  // events in it
	Size   uint64  // bytes of data in it
}

// Columns of the batch of OpLogAppend.
const (
	LogEventRun    uint32 = iota // text
	LogEventKind                 // text
	LogEventData                 // blob
	LogEventBehind               // i64, events of the batch that follow it
	LogEventColumns
)

// LogTail is where a log stands.
type LogTail struct {
	Tail uint64 // offset of its last event, 0 when it never had one
}

// LogReadRequest asks for a page of a log.
type LogReadRequest struct {
	RunID    string
	After    uint64 // offset that the page is behind; 0 starts at the beginning
	Limit    uint64 // most events; 0 lets the guest choose
	MaxBytes uint64 // stop after the event that passes this; 0 lets the guest choose
}

// LogPage is a page of a log: a rows handle when Rows is not 0, else the table itself.
type LogPage struct {
	Rows    uint64
	Table   []byte
	Tail    uint64 // offset of the last event that was ever stored
	Dropped uint64 // offset of the last event that was removed
	Epoch   uint64 // highest that the log has seen
	Closed  bool
	More    bool // there are events behind the last row
}

// Columns of the pages of OpLogRead.
const (
	LogOffset uint32 = iota // i64, from 1
	LogTS                   // i64, the store's clock, Unix milliseconds
	LogKind                 // text
	LogData                 // blob
	LogColumns
)

// LockRequest tries to take a lock.
type LockRequest struct {
	Key   string
	Owner string // shown to those who find it busy
	TTLMS uint64
}

// LockReply is how the lock stands. Times are the store's.
type LockReply struct {
	Acquired bool
	Token    string // when it was acquired
	Fence    uint64 // when it was acquired: higher than any that the key had
	Owner    string // who holds it
	LeftMS   uint64 // how long, if it is not renewed
	Now      int64  // Unix milliseconds
}

// LeaseRequest renews or releases what was acquired.
type LeaseRequest struct {
	Key   string
	Token string
	TTLMS uint64 // OpLocksRenew: from now on
}
