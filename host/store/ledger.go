package store

import (
	"context"
	"encoding/json"
)

// Key names one sandbox's ledger: the reference's pair of name and sandbox id.
type Key struct {
	Name      string
	SandboxID string
}

// String returns "name/id".
func (k Key) String() string { return k.Name + "/" + k.SandboxID }

// Entry is one row of the ledger.
type Entry struct {
	ID        int64 // given by the store; 0 before it was appended
	TS        int64 // Unix milliseconds, at the time of emission
	Name      string
	SandboxID string
	StepIndex int64  // sequence number of the exec, -1 for events of the sandbox itself
	Branch    *int64 // never set by this client; kept for others
	Event     string
	Payload   json.RawMessage // nil is SQL NULL, which differs from the JSON value null
	Error     *string         // never set by this client; kept for others
}

// Head is where a sandbox's ledger stands.
type Head struct {
	Epoch     uint64 // the claim under which Append is accepted
	LastStep  int64  // highest StepIndex, whoever wrote it, -1 when there is none
	MaxTS     int64  // highest TS, whoever wrote it, Unix milliseconds, 0 when there is none
	Entries   uint64 // that segments hold, not rows: others may have written some
	Hash      []byte // of the last segment; nil when there is none
	SegmentID []byte // of the last segment; nil when there is none
}

// Segment is the part of a batch that belongs to one sandbox. It is applied only while the
// sandbox's head is (Epoch, Previous), and an identical segment (same ID and Hash) is applied once
// however often it is sent: a batch whose segments were all applied before is acknowledged, in
// whatever company they came then.
type Segment struct {
	Key      Key
	Epoch    uint64
	Previous []byte // head hash that it expects; nil for the first
	ID       [16]byte
	Hash     [32]byte // chain hash after it
	Leaves   []byte   // 32 bytes an entry
	Entries  []Entry
}

// Batch is what one commit writes, all or nothing.
type Batch struct {
	Segments []Segment
}

// Page is one page of entries.
type Page struct {
	Entries []Entry
	// Cursor is where the next page starts, opaque to all but the store. It is good also when More
	// is false: entries that are appended later follow it. Empty is the beginning.
	Cursor []byte
	More   bool
}

// ReadOptions bounds a page. Zero lets the store choose.
type ReadOptions struct {
	Cursor   []byte // of the page before; empty starts at the beginning
	Limit    int    // most entries
	MaxBytes int64  // the page ends with the entry that passes this; it has one entry at least
	// Last asks for the last Last entries at most, in the same order, with the cursor behind them.
	// Cursor must be empty then. What Limit and MaxBytes take away is missing at the beginning. Only
	// Read and ReadAll know it.
	Last int
}

// Status of a sandbox in the ledger.
const (
	StatusRunning   = "running"
	StatusCompleted = "completed"
)

// Details sums one sandbox's ledger up.
type Details struct {
	Name            string `json:"name"`
	SandboxID       string `json:"sandboxId"`
	Status          string `json:"status"`
	StartedAt       int64  `json:"startedAt"`             // Unix milliseconds
	CompletedAt     int64  `json:"completedAt,omitempty"` // Unix milliseconds, 0 while running
	ExecCount       int64  `json:"execCount"`
	RunID           string `json:"runId"`
	ResourceID      string `json:"resourceId,omitempty"`
	TeamID          string `json:"teamId,omitempty"`
	ParentSandboxID string `json:"parentSandboxId,omitempty"`
}

// ListOptions filters a listing. Nil pointers and empty strings are not given; Limit 0 lists
// nothing and Before 0 filters everything, as in the reference.
type ListOptions struct {
	Name       string
	Status     string
	Limit      *uint64 // most sandboxes in this page, counted after the other filters
	Before     *int64  // strictly smaller StartedAt, Unix milliseconds
	RunID      string
	ResourceID string
	TeamID     string
	IDPrefix   string // what SandboxID begins with
	Cursor     []byte
}

// DetailsPage is one page of a listing, newest first.
type DetailsPage struct {
	Sandboxes []Details
	Cursor    []byte
	More      bool
}

// Checkpoint is a snapshot that the ledger knows of.
type Checkpoint struct {
	ID         int64  `json:"-"` // of its entry
	SnapshotID string `json:"snapshotId"`
	Tag        string `json:"tag,omitempty"`
	CreatedAt  int64  `json:"createdAt"` // Unix milliseconds
}

// Before says whether c was made before other.
func (c *Checkpoint) Before(other *Checkpoint) bool {
	return c.CreatedAt < other.CreatedAt || c.CreatedAt == other.CreatedAt && c.ID < other.ID
}

// CheckpointPage is one page of checkpoints.
type CheckpointPage struct {
	Checkpoints []Checkpoint
	Cursor      []byte
	More        bool
}

// Environment is one row of the environments table.
type Environment struct {
	Name       string `json:"name"`
	SnapshotID string `json:"snapshotId"`
	Image      string `json:"image"`
	BuiltAt    int64  `json:"builtAt"` // Unix milliseconds
}

// Ledger stores entries. Implementations are safe for concurrent use. Every error can be asked
// with errors.Is for the sentinels of this package.
type Ledger interface {
	// OpenLedger claims a sandbox's ledger for the caller: its epoch goes up, and appends under an
	// older epoch answer ErrConflict from then on.
	OpenLedger(ctx context.Context, key Key) (Head, error)
	// Append is atomic and durable when it returns nil. It returns ErrConflict when a segment's
	// epoch or previous hash is not the head's, with a *SegmentError that names the segment, and
	// ErrUnknownOutcome when only a retry of the identical segments can tell. A batch with nothing
	// in it is nil.
	Append(ctx context.Context, batch *Batch) error
	// Read pages through a sandbox's entries by (TS, ID); an unknown key gives an empty page.
	Read(ctx context.Context, key Key, opts ReadOptions) (Page, error)
	// ReadAll pages through every sandbox's entries by ID.
	ReadAll(ctx context.Context, opts ReadOptions) (Page, error)
	// LastCheckpoint returns the newest checkpoint entry, of one tag unless tag is empty, or
	// ErrNotFound.
	LastCheckpoint(ctx context.Context, key Key, tag string) (Entry, error)
	// ListCheckpoints pages through a sandbox's checkpoints, oldest first; an unknown key gives none.
	ListCheckpoints(ctx context.Context, key Key, opts ReadOptions) (CheckpointPage, error)
	ListSandboxes(ctx context.Context, opts ListOptions) (DetailsPage, error)
	// GetSandbox and FindSandbox return ErrNotFound also for ledgers without sandbox.created.
	GetSandbox(ctx context.Context, key Key) (Details, error)
	FindSandbox(ctx context.Context, sandboxID string) (Details, error)
	// DeleteSandbox removes a sandbox's entries and returns how many went; an unknown key is 0. A
	// driver that had claimed it can't write to it any more (ErrConflict). A store may remove a large
	// one piece by piece; when that was interrupted, the sandbox can't be claimed (ErrConflict), what
	// is left of it is in no segment, and the next DeleteSandbox removes that. The count is then of
	// what went until the error.
	DeleteSandbox(ctx context.Context, key Key) (uint64, error)

	Environments
	// Close releases the store. It is idempotent.
	Close(ctx context.Context) error
}

// Environments stores prebuilt snapshots by name.
type Environments interface {
	GetEnvironment(ctx context.Context, name string) (Environment, error) // ErrNotFound
	SaveEnvironment(ctx context.Context, env Environment) error           // upsert
	DeleteEnvironment(ctx context.Context, name string) error             // no-op when unknown
	ListEnvironments(ctx context.Context) ([]Environment, error)          // newest first
}
