package abi

// PageRequest asks for a page of the whole ledger: OpLedgerListHeads, OpLedgerListTombstones.
type PageRequest struct {
	Cursor   []byte // of the page before; empty starts at the beginning
	Limit    uint64 // most rows; 0 lets the guest choose
	MaxBytes uint64 // stop after the row that passes this; 0 lets the guest choose
}

// SandboxPageRequest asks for a page of one sandbox: OpLedgerListCheckpoints, OpLedgerListSegments.
type SandboxPageRequest struct {
	Key      SandboxKey
	Cursor   []byte // of the page before; empty starts at the beginning
	Limit    uint64 // most rows; 0 lets the guest choose
	MaxBytes uint64 // stop after the row that passes this; 0 lets the guest choose
}

// Columns of the pages of OpLedgerListHeads.
const (
	HeadName      uint32 = iota // text
	HeadSandboxID               // text
	HeadEpoch                   // i64, 0 when nobody claimed it
	HeadHash                    // blob, of the last segment, empty when there is none
	HeadSegmentID               // blob, of the last segment, empty when there is none
	HeadEntries                 // i64, that segments hold
	HeadMaxTS                   // i64, Unix milliseconds, of entries that segments hold
	HeadColumns
)

// Columns of the pages of OpLedgerListSegments.
const (
	StoredFirstID  uint32 = iota // i64, of its first entry
	StoredLastID                 // i64, of its last entry
	StoredID                     // blob, 16 bytes
	StoredPrevious               // blob, 32 bytes, empty for the first
	StoredHash                   // blob, 32 bytes
	StoredLeaves                 // blob, 32 bytes an entry
	StoredColumns
)

// Columns of the pages of OpLedgerListTombstones.
const (
	TombstoneName      uint32 = iota // text
	TombstoneSandboxID               // text
	TombstoneEntries                 // i64, that went, over all deletions
	TombstoneHash                    // blob, of the last segment, empty when there was none
	TombstoneDeleted                 // i64, Unix milliseconds
	TombstoneColumns
)

// Usage is what one sandbox's entries take.
type Usage struct {
	Entries uint64
	Bytes   uint64 // of payloads and errors as text
	FirstTS int64  // Unix milliseconds, 0 without entries
	LastTS  int64
	Created bool // it has sandbox.created
	Closed  bool // it has sandbox.closed
}

// Stats is the whole store's size.
type Stats struct {
	Entries       int64 // -1 when it can't be told cheaply
	StorageBytes  int64 // on disk, with indexes and free space; -1 when unknown
	SchemaVersion int64
}
