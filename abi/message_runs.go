package abi

// KeyRequest names one thing: the key of an instance, the id of a run, the id of a thread, the run of a
// log.
type KeyRequest struct {
	Key string
}

// Applied says whether a conditional operation changed something.
type Applied struct {
	Applied bool
}

// Instance is one record of the instances: request of OpInstancesPut.
type Instance struct {
	Key               string
	Provider          string
	ProviderSandboxID string
	LatestSnapshotID  *string // nil is absent
	ThreadID          string
	LatestRunID       *string // nil is absent
	UpdatedAt         int64   // Unix milliseconds; 0: the store's clock
}

// InstancePutIf replaces a record if the stored one is of that sandbox or, when Expected is nil, if
// there is none.
type InstancePutIf struct {
	Instance Instance
	Expected *string // provider sandbox id
}

// InstanceDeleteIf deletes a record if it is of that sandbox.
type InstanceDeleteIf struct {
	Key      string
	Expected string // provider sandbox id
}

// InstanceListRequest asks for a page of all records by (updated_at, key).
type InstanceListRequest struct {
	UpdatedBefore *int64 // strictly, Unix milliseconds
	Cursor        []byte // of the page before; empty starts at the beginning
	Limit         uint64 // most rows; 0 lets the guest choose
}

// Columns of the pages of OpInstancesGet and OpInstancesList.
const (
	InstanceKey       uint32 = iota // text
	InstanceProvider                // text
	InstanceSandboxID               // text, the provider's
	InstanceSnapshot                // text or null
	InstanceThread                  // text
	InstanceRun                     // text or null
	InstanceUpdated                 // i64, Unix milliseconds
	InstanceColumns
)

// RunCreate makes a run unless there is one of this id.
type RunCreate struct {
	RunID      string
	ThreadID   string
	Status     string
	StartedAt  *int64  // Unix milliseconds; nil: the store's clock
	SandboxKey *string // nil is absent
	Secret     []byte  // empty: none. Only OpRunsSecret gives it out
}

// Fields of a run that Clear and Now of a RunPatch name.
const (
	RunFieldStatus          = "status"
	RunFieldFinishedAt      = "finishedAt"
	RunFieldError           = "error"
	RunFieldUsage           = "usage"
	RunFieldSandboxKey      = "sandboxKey"
	RunFieldDetachedSince   = "detachedSince"
	RunFieldCancelRequested = "cancelRequested"
	RunFieldDriverEpoch     = "driverEpoch"
)

// RunPatch changes a run: what is nil stays, what Clear names becomes absent, what Now names gets the time
// of the store's clock.
type RunPatch struct {
	RunID           string
	Epoch           *uint64 // OpRunsPatchIf: only a run of this driver epoch that has not ended
	Status          *string
	FinishedAt      *int64
	ErrorMessage    *string // with it the error is replaced, code and all
	ErrorCode       *string
	Usage           []byte // JSON; empty: stays
	SandboxKey      *string
	DetachedSince   *int64
	CancelRequested *bool
	DriverEpoch     *uint64
	Clear           []string
	Now             []string
}

// RunOutcome says what came of an operation on one run.
type RunOutcome uint32

// Outcomes.
const (
	RunUnchanged RunOutcome = 0 // it is there, and was left as it is
	RunChanged   RunOutcome = 1 // it was made, patched, claimed or deleted
	RunUnknown   RunOutcome = 2 // there is no such run
)

// RunReply is what came of it, and the run as it is then, as a page of one row: a rows handle when Rows is
// not 0, else the table itself.
type RunReply struct {
	Outcome RunOutcome
	Rows    uint64
	Table   []byte
}

// RunListRequest asks for a page of runs. What is empty or nil does not filter.
type RunListRequest struct {
	ThreadID       string
	Status         string
	FinishedBefore *int64 // strictly, Unix milliseconds
	Cursor         []byte // of the page before; empty starts at the beginning
	Limit          uint64 // most rows; 0 lets the guest choose
}

// ReclaimRequest asks for a page of runs that are "running" and were detached, or that are "interrupted", at
// least TTLMS ago.
type ReclaimRequest struct {
	Status string
	TTLMS  uint64
	Now    int64  // what to reckon from, Unix milliseconds; 0: the store's clock
	Cursor []byte // of the page before; empty starts at the beginning
	Limit  uint64 // most rows; 0 lets the guest choose
}

// Columns of a run, in every page of the runs group.
const (
	RunID              uint32 = iota // text
	RunThread                        // text
	RunStatus                        // text
	RunStarted                       // i64, Unix milliseconds
	RunFinished                      // i64 or null
	RunErrorMessage                  // text or null
	RunErrorCode                     // text or null
	RunUsage                         // text or null, JSON
	RunSandboxKey                    // text or null
	RunDetached                      // i64 or null
	RunCancelRequested               // i64, 0 or 1, or null
	RunDriverEpoch                   // i64 or null
	RunColumns
)

// The column that the pages of OpRunsListReclaimable have beside.
const (
	ReclaimSince   = RunColumns // i64, since when it waits, Unix milliseconds
	ReclaimColumns = RunColumns + 1
)

// SandboxCountRequest counts the runs that have not ended and have this sandbox key.
type SandboxCountRequest struct {
	SandboxKey string
	Except     string // a run that does not count; empty: none
}

// Count is how many.
type Count struct {
	Count uint64
}

// RunSecret is what RunCreate.Secret was, empty when there was none.
type RunSecret struct {
	Secret []byte
}
