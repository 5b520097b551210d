package store

import "context"

// Maintenance is what a ledger offers those who operate it: export, verify, prune. A store need not
// have it; one that lacks a part of it answers ErrUnsupported. Implementations are safe for concurrent
// use.
type Maintenance interface {
	// ListHeads pages through every sandbox that has entries, or a head that says it had some, by
	// (name, sandbox id) in the order of their bytes. One whose entries were all written by others has
	// a head with Epoch 0.
	ListHeads(ctx context.Context, opts ReadOptions) (HeadPage, error)
	// ListSegments pages through a sandbox's chain, oldest first.
	ListSegments(ctx context.Context, key Key, opts ReadOptions) (SegmentPage, error)
	// ListTombstones pages through what is left of deleted sandboxes, by (name, sandbox id).
	ListTombstones(ctx context.Context, opts ReadOptions) (TombstonePage, error)
	// Usage sums up one sandbox's entries; an unknown key gives zeros. It reads all of them.
	Usage(ctx context.Context, key Key) (Usage, error)
	// Stats sums the whole store up, as cheaply as the store can.
	Stats(ctx context.Context) (Stats, error)
}

// SandboxHead is the head of one sandbox's ledger, as the last writer left it.
type SandboxHead struct {
	Key       Key
	Epoch     uint64 // 0 when no driver of ours ever claimed it
	Hash      []byte // of the last segment; nil when there is none
	SegmentID []byte // of the last segment; nil when there is none
	Entries   uint64 // that segments hold, not rows
	MaxTS     int64  // Unix milliseconds, of entries that segments hold
}

// HeadPage is one page of heads.
type HeadPage struct {
	Heads  []SandboxHead
	Cursor []byte
	More   bool
}

// StoredSegment is a segment as it lies in the store. FirstID and LastID are the ids that its entries
// got; other sandboxes' entries, and foreign ones, may have ids between them.
type StoredSegment struct {
	FirstID, LastID int64
	ID              [16]byte
	Previous        []byte // nil for the first
	Hash            [32]byte
	Leaves          []byte // 32 bytes an entry, in the order of ids
}

// SegmentPage is one page of segments.
type SegmentPage struct {
	Segments []StoredSegment
	Cursor   []byte
	More     bool
}

// Tombstone is what is left of a deleted sandbox.
type Tombstone struct {
	Key       Key
	Entries   uint64 // rows that went, over all deletions of this key
	Hash      []byte // of the last segment; nil when there was none
	DeletedAt int64  // Unix milliseconds
}

// TombstonePage is one page of tombstones.
type TombstonePage struct {
	Tombstones []Tombstone
	Cursor     []byte
	More       bool
}

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
	Entries       int64 // -1 when the store can't tell cheaply
	StorageBytes  int64 // on disk, with indexes and free pages; -1 when unknown
	SchemaVersion int64
}
