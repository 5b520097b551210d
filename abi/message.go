package abi

// Message is what the codec handles: AppendTo appends the protobuf wire form and returns the
// extended slice; Unmarshal replaces the whole message. Strings and byte slices of an unmarshalled
// message alias the input, which must then not change (views: nothing is copied twice).
type Message interface {
	AppendTo(dst []byte) []byte
	Unmarshal(src []byte) error
}

// Request is the envelope of every call from the host to a guest.
type Request struct {
	CallID      uint64 // unique within the host's life
	DeadlineMS  uint64 // milliseconds left when the call was made; 0 is none
	Traceparent string // W3C trace context, or empty
	Body        []byte // the operation's own message
}

// GuestState says what a guest keeps between calls, and so what a trap costs.
type GuestState uint32

// States of a guest.
const (
	StateNone      GuestState = 0 // nothing: instances are pooled, replaced and reloaded freely
	StateVolatile  GuestState = 1 // lost by a trap: the plugin is then failed, never silently reborn
	StateExclusive GuestState = 2 // owns something outside: one instance at a time
)

// Manifest is a guest's answer to OpDescribe.
type Manifest struct {
	Name         string
	Version      string
	Kinds        []string // "ledger", …
	Optional     []string // optional operations that it has, by name
	Capabilities []Want
	ConfigSchema string // JSON Schema of [plugins.NAME.config]
	State        GuestState
}

// Want is a capability that a guest asks for.
type Want struct {
	Name     string // "sql", "http", …
	Resource string // what of it: for sql the name of a database
	Reason   string // shown to the operator
	Optional bool   // the guest does without when it is not granted
}

// ConfigureRequest hands a guest its configuration.
type ConfigureRequest struct {
	Config      string // [plugins.NAME.config] as a JSON object
	HostVersion string
	Features    []string // abilities of the host beyond version 1's first form
}

// Diagnostic is one complaint about a configuration key.
type Diagnostic struct {
	Key     string // dotted path below [plugins.NAME.config]
	Message string
}

// ConfigureReply refuses the configuration when it has diagnostics.
type ConfigureReply struct {
	Diagnostics []Diagnostic
}

// HealthReply is a guest's own word about itself.
type HealthReply struct {
	Message string
}

// SandboxKey names one sandbox's ledger.
type SandboxKey struct {
	Name      string
	SandboxID string
}

// LedgerOpenRequest claims a sandbox's ledger for one driver.
type LedgerOpenRequest struct {
	Key SandboxKey
}

// Head is where a sandbox's ledger stands.
type Head struct {
	Epoch     uint64 // the claim that may append
	LastStep  int64  // highest step_idx in the base table, -1 when none
	MaxTS     int64  // highest ts, Unix milliseconds, 0 when none
	Entries   uint64 // that segments hold
	Hash      []byte // hash of the last segment, empty when none
	SegmentID []byte // id of the last segment, empty when none
}

// LedgerAppendRequest carries no entries: they stay on the host and are bound by handle.
type LedgerAppendRequest struct {
	Entries      uint64 // batch handle, columns Entry*
	Segments     uint64 // batch handle, columns Segment*
	EntryCount   uint64
	SegmentCount uint64
	Size         uint64 // bytes of text in the entries
}

// LedgerAppendReply acknowledges a batch that is durable.
type LedgerAppendReply struct {
	Already bool // this identical batch had been applied before
}

// Columns of the entries batch of OpLedgerAppend.
const (
	EntrySegment   uint32 = iota // i64, index into the segments batch
	EntrySandboxID               // text
	EntryName                    // text
	EntryStep                    // i64
	EntryBranch                  // i64 or null
	EntryEvent                   // text
	EntryPayload                 // json or null
	EntryError                   // text or null
	EntryTS                      // i64, Unix milliseconds
	EntryColumns
)

// Columns of the segments batch of OpLedgerAppend.
const (
	SegmentSandboxID uint32 = iota // text
	SegmentName                    // text
	SegmentEpoch                   // i64, the claim that it is written under
	SegmentPrevious                // blob, hash of the segment before it, empty for the first
	SegmentID                      // blob, 16 random bytes
	SegmentHash                    // blob, 32 bytes
	SegmentLeaves                  // blob, 32 bytes an entry
	SegmentCount                   // i64, entries in it
	SegmentAfter                   // i64, entries of the batch that follow its last one
	SegmentMaxTS                   // i64, highest ts in it
	SegmentColumns
)

// LedgerReadRequest asks for a page of entries in (ts, id) order. With an empty key it pages
// through the whole ledger in id order.
type LedgerReadRequest struct {
	Key      SandboxKey
	Cursor   []byte // of the page before; empty starts at the beginning
	Limit    uint64 // most rows; 0 lets the guest choose
	MaxBytes uint64 // stop after the row that passes this; 0 lets the guest choose
	Last     uint64 // not 0: the page is the last so many rows at most; Cursor is empty then
}

// RowsReply is a page: a rows handle when Rows is not 0, else the table itself.
type RowsReply struct {
	Rows   uint64
	Table  []byte
	Cursor []byte // where the next page starts, opaque
	More   bool
	Now    int64 // the store's clock, Unix milliseconds, of operations that tell it
}

// Columns of the pages of OpLedgerRead and OpLedgerLastCheckpoint.
const (
	RowID uint32 = iota
	RowSandboxID
	RowName
	RowStep
	RowBranch
	RowEvent
	RowPayload
	RowError
	RowTS
	RowColumns
)

// Columns of the pages of OpLedgerListSandboxes, OpLedgerGetSandbox and OpLedgerFindSandbox.
const (
	SandboxName uint32 = iota
	SandboxID
	SandboxStatus    // text, "running" or "completed"
	SandboxStarted   // i64, Unix milliseconds
	SandboxCompleted // i64 or null
	SandboxExecs     // i64
	SandboxRunID     // text
	SandboxResource  // text or null
	SandboxTeam      // text or null
	SandboxParent    // text or null
	SandboxCreatedID // i64, id of the entry that started is of
	SandboxColumns
)

// Columns of the pages of OpLedgerListCheckpoints.
const (
	CheckpointSnapshot uint32 = iota // text
	CheckpointTag                    // text or null
	CheckpointCreated                // i64, Unix milliseconds
	CheckpointID                     // i64, id of the entry
	CheckpointColumns
)

// LastCheckpointRequest asks for the newest checkpoint entry, of one tag when it has one.
type LastCheckpointRequest struct {
	Key SandboxKey
	Tag string // empty: any
}

// SandboxRequest names one sandbox.
type SandboxRequest struct {
	Key SandboxKey
}

// FindSandboxRequest looks a sandbox up by id alone.
type FindSandboxRequest struct {
	SandboxID string
}

// ListSandboxesRequest lists sandboxes, newest first. Filters that are nil or empty are not given.
type ListSandboxesRequest struct {
	Name       string
	Status     string
	Limit      *uint64 // 0 lists nothing
	Before     *int64  // strictly smaller start, Unix milliseconds
	RunID      string
	ResourceID string
	TeamID     string
	Cursor     []byte
	IDPrefix   string // what the sandbox id begins with; a guest need not know it
}

// DeleteReply says how much went.
type DeleteReply struct {
	Rows uint64 // entries that this call removed
	More bool   // the deletion has not ended: ask again
}

// EnvironmentRequest names one environment.
type EnvironmentRequest struct {
	Name string
}

// Environment is one row of the environments table.
type Environment struct {
	Name       string
	SnapshotID string
	Image      string
	BuiltAt    int64 // Unix milliseconds
}

// Columns of the page of OpEnvironmentList.
const (
	EnvironmentName uint32 = iota
	EnvironmentSnapshot
	EnvironmentImage
	EnvironmentBuilt
	EnvironmentColumns
)

// SQLExec is a program: its steps run in order in one transaction, which is immediate unless the
// program only reads. The first failing step rolls everything back.
type SQLExec struct {
	Database string // a granted database, by name
	ReadOnly bool
	Steps    []SQLStep
}

// SQLResult says where the rows of a step go.
type SQLResult uint32

// Places for rows.
const (
	ResultNone   SQLResult = 0
	ResultInline SQLResult = 1 // the reply carries them as a table
	ResultHandle SQLResult = 2 // they stay on the host as a rows handle
)

// SQLStep is one statement of a program.
type SQLStep struct {
	SQL      string
	Params   []SQLParam
	Batch    uint64 // 0: run once; else a batch handle: run for each of its rows
	ManySQL  string // the same statement for ManyRows rows at once, parameters in row order; optional
	ManyRows uint64
	// Expect is the number of rows that each run must change or return, nil for any. A difference
	// ends the program with MismatchCode (conflict when 0) and MismatchMessage.
	Expect          *uint64
	MismatchCode    Code
	MismatchMessage string
	Result          SQLResult
	MaxRows         uint64 // 0: no bound but the host's
	MaxBytes        uint64 // stop after the row that passes this; 0: no bound but the host's
}

// ParamKind says where a parameter's value comes from.
type ParamKind uint32

// Sources of a parameter.
const (
	ParamLiteral ParamKind = 0
	ParamColumn  ParamKind = 1 // a column of the step's batch
	ParamResult  ParamKind = 2 // the first row of an earlier step's result (inline or handle)
)

// SQLParam is one bound value, in the statement's order.
type SQLParam struct {
	Kind   ParamKind
	Value  Value  // ParamLiteral
	Column uint32 // ParamColumn and ParamResult
	Step   uint32 // ParamResult
}

// SQLExecReply has one result a step.
type SQLExecReply struct {
	Steps []SQLStepResult
}

// SQLStepResult is what a step did.
type SQLStepResult struct {
	Affected uint64 // rows inserted, changed or deleted, over all runs
	RowCount uint64 // rows kept
	Rows     []byte // ResultInline: a table
	Handle   uint64 // ResultHandle
	Last     []byte // ResultHandle: the last row kept, as a table of one row; for cursors
	More     bool   // a bound ended it before the statement did
}

// BatchRead asks for rows of a batch handle as a table.
type BatchRead struct {
	Handle   uint64
	First    uint64
	MaxRows  uint64 // 0: no bound but the host's
	MaxBytes uint64 // cells are cut off, and must be read with BatchCell, past this; 0: the host's
}

// BatchRows answers BatchRead. A cell that was too large is cut to null and named in Cut.
type BatchRows struct {
	Table []byte
	Next  uint64   // first row not in the table
	Cut   []uint64 // row<<8 | column of each cell that must be read with BatchCell
}

// BatchCell asks for a range of one text, json or blob cell.
type BatchCell struct {
	Handle uint64
	Row    uint64
	Column uint64
	Offset uint64
	Length uint64
}

// BatchBytes answers BatchCell.
type BatchBytes struct {
	Data  []byte
	Total uint64 // length of the whole cell
}
