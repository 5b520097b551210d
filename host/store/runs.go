package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// RunStatus is where a run stands. A store may hold one that this version does not know: it is neither
// terminal nor to be driven.
type RunStatus string

// The statuses of a run.
const (
	RunRunning     RunStatus = "running"
	RunInterrupted RunStatus = "interrupted" // waits for a human; not terminal
	RunCompleted   RunStatus = "completed"
	RunFailed      RunStatus = "failed"
	RunAborted     RunStatus = "aborted"
)

// Terminal says whether a run has ended.
func (s RunStatus) Terminal() bool {
	return s == RunCompleted || s == RunFailed || s == RunAborted
}

// Known says whether s is one of the statuses above.
func (s RunStatus) Known() bool {
	return s == RunRunning || s == RunInterrupted || s.Terminal()
}

// RunError is why a run failed.
type RunError struct {
	Message string `json:"message"`
	Code    string `json:"code,omitempty"` // what programs branch on; empty is absent
}

// Run is the record of one run. Times are Unix milliseconds; nil is absent.
type Run struct {
	ID              string          `json:"runId"`
	ThreadID        string          `json:"threadId"`
	Status          RunStatus       `json:"status"`
	StartedAt       int64           `json:"startedAt"`
	FinishedAt      *int64          `json:"finishedAt,omitempty"` // only with a terminal status
	Error           *RunError       `json:"error,omitempty"`
	Usage           json.RawMessage `json:"usage,omitempty"` // an object
	SandboxKey      *string         `json:"sandboxKey,omitempty"`
	DetachedSince   *int64          `json:"detachedSince,omitempty"`   // when the last viewer left
	CancelRequested *bool           `json:"cancelRequested,omitempty"` // false is not absent
	DriverEpoch     *uint64         `json:"driverEpoch,omitempty"`     // of the last claim; absent when never claimed
}

// RunField names a field of a run that a patch may change, as it is called on the wire.
type RunField string

// The fields of a patch.
const (
	FieldStatus          RunField = "status"
	FieldFinishedAt      RunField = "finishedAt"
	FieldError           RunField = "error"
	FieldUsage           RunField = "usage"
	FieldSandboxKey      RunField = "sandboxKey"
	FieldDetachedSince   RunField = "detachedSince"
	FieldCancelRequested RunField = "cancelRequested"
	FieldDriverEpoch     RunField = "driverEpoch"
)

// RunFields are values for fields of a run; nil leaves a field as it is.
type RunFields struct {
	Status          *RunStatus      `json:"status,omitempty"`
	FinishedAt      *int64          `json:"finishedAt,omitempty"`
	Error           *RunError       `json:"error,omitempty"`
	Usage           json.RawMessage `json:"usage,omitempty"`
	SandboxKey      *string         `json:"sandboxKey,omitempty"`
	DetachedSince   *int64          `json:"detachedSince,omitempty"`
	CancelRequested *bool           `json:"cancelRequested,omitempty"`
	DriverEpoch     *uint64         `json:"driverEpoch,omitempty"`
}

// RunPatch changes fields of a run: those in Set get a value, those in Clear become absent, those in Now
// get the time of the store's clock, all others stay. A field is in one of them at most. The status can't
// be cleared; only FieldFinishedAt and FieldDetachedSince can be Now.
type RunPatch struct {
	Set   RunFields  `json:"set"`
	Clear []RunField `json:"clear,omitempty"`
	Now   []RunField `json:"now,omitempty"`
}

// Validate says what is wrong with a patch; the error wraps ErrInvalid.
func (p *RunPatch) Validate() error {
	seen := map[RunField]bool{
		FieldStatus: p.Set.Status != nil, FieldFinishedAt: p.Set.FinishedAt != nil, FieldError: p.Set.Error != nil,
		FieldUsage: p.Set.Usage != nil, FieldSandboxKey: p.Set.SandboxKey != nil, FieldDetachedSince: p.Set.DetachedSince != nil,
		FieldCancelRequested: p.Set.CancelRequested != nil, FieldDriverEpoch: p.Set.DriverEpoch != nil,
	}
	once := func(field RunField) error {
		given, known := seen[field]
		switch {
		case !known:
			return fmt.Errorf("%w: a run has no field %q that can be changed", ErrInvalid, field)
		case given:
			return fmt.Errorf("%w: field %q is in a patch twice", ErrInvalid, field)
		}
		seen[field] = true
		return nil
	}
	for _, field := range p.Clear {
		if field == FieldStatus {
			return fmt.Errorf("%w: the status of a run can't be cleared", ErrInvalid)
		}
		if err := once(field); err != nil {
			return err
		}
	}
	for _, field := range p.Now {
		if err := once(field); err != nil {
			return err
		}
		if field != FieldFinishedAt && field != FieldDetachedSince {
			return fmt.Errorf("%w: field %q of a run is no time", ErrInvalid, field)
		}
	}
	if s := p.Set.Status; s != nil && !s.Known() {
		return fmt.Errorf("%w: %q is no status of a run", ErrInvalid, *s)
	}
	if p.Set.Usage != nil && !json.Valid(p.Set.Usage) {
		return fmt.Errorf("%w: the usage of a run is no JSON", ErrInvalid)
	}
	return nil
}

// RunSecret is random bytes that belong to a run and that nobody but its drivers may see. It formats as
// [redacted].
type RunSecret []byte

// String returns "[redacted]".
func (RunSecret) String() string { return "[redacted]" }

// GoString returns "[redacted]".
func (RunSecret) GoString() string { return "[redacted]" }

// Format writes "[redacted]" whatever the verb.
func (RunSecret) Format(f fmt.State, _ rune) {
	_, _ = f.Write([]byte("[redacted]")) //nolint:errcheck // as fmt itself: there is nobody to tell
}

// MarshalText returns "[redacted]".
func (RunSecret) MarshalText() ([]byte, error) { return []byte("[redacted]"), nil }

// NewRun is a run that is about to begin.
type NewRun struct {
	ID         string
	ThreadID   string
	Status     RunStatus // empty: RunRunning
	StartedAt  *int64    // Unix milliseconds; nil: the store's clock
	SandboxKey *string   // nil is absent
	// Secret is kept beside the record and given out by Runs.Secret only. Feature: Secret.
	Secret RunSecret
}

// RunFeatures are the optional abilities of a Runs. A method without its feature returns ErrUnsupported.
type RunFeatures struct {
	Fenced          bool // Claim and PatchIf
	ListByThread    bool
	List            bool
	ListReclaimable bool
	CountBySandbox  bool
	Secret          bool // NewRun.Secret and Runs.Secret
	Delete          bool
}

// ClaimOutcome says what came of a claim.
type ClaimOutcome string

// The outcomes of a claim.
const (
	Claimed       ClaimOutcome = "claimed"
	ClaimUnknown  ClaimOutcome = "unknown"  // there is no such run
	ClaimTerminal ClaimOutcome = "terminal" // it has ended, or has a status that this version does not know
)

// Claim is the answer to a claim. A refused one has changed nothing.
type Claim struct {
	Outcome ClaimOutcome
	Epoch   uint64 // when Claimed: one more than ever before, given to nobody else
	Run     Run    // as it is now; zero when ClaimUnknown
}

// PatchResult is the answer to a conditional patch.
type PatchResult struct {
	Applied bool
	Existed bool // false: there is no such run
	Run     Run  // as it is now; zero when it did not exist
}

// PageOptions bounds a page of a listing. Zero lets the store choose.
type PageOptions struct {
	Cursor []byte // of the page before; empty starts at the beginning
	Limit  int    // most records
}

// RunPage is one page of runs.
type RunPage struct {
	Runs   []Run
	Cursor []byte
	More   bool
}

// RunListOptions filters a listing. What is empty or nil is not given.
type RunListOptions struct {
	ThreadID       string
	Status         RunStatus
	FinishedBefore *int64 // runs with an earlier FinishedAt, Unix milliseconds
	Cursor         []byte // of the page before; empty starts at the beginning
	Limit          int    // most records; 0 lets the store choose
}

// ReclaimOptions says which runs wait for somebody to look after them.
type ReclaimOptions struct {
	// Status is RunRunning (also when empty), for runs that run and have DetachedSince, or
	// RunInterrupted, for those that wait for a human.
	Status RunStatus
	// TTL is how long ago they were detached, or interrupted, at least. 0 lists all of them. Fractions of
	// a millisecond don't count.
	TTL time.Duration
	// Now is the time to reckon from, Unix milliseconds. 0, which is right unless somebody else decides, is
	// the store's clock.
	Now    int64
	Cursor []byte // of the page before; empty starts at the beginning
	Limit  int    // most runs; 0 lets the store choose
}

// ReclaimableRun is a run that waits, and since when.
type ReclaimableRun struct {
	Run
	Since int64 `json:"since"` // DetachedSince, or when it was interrupted; Unix milliseconds
}

// ReclaimPage is one page of runs by (Since, ID), the longest waiting first.
type ReclaimPage struct {
	Runs   []ReclaimableRun
	Now    int64 // what was reckoned from, Unix milliseconds
	Cursor []byte
	More   bool
}

// Runs stores the record of each run. Implementations are safe for concurrent use, and what one wrote is
// there for all who read later.
type Runs interface {
	Features() RunFeatures
	// CreateOrGet makes a run or returns the one of this id, unchanged and whatever else is asked for,
	// and whether it made it.
	CreateOrGet(ctx context.Context, run NewRun) (Run, bool, error)
	// Patch changes a run and returns whether it is there; the last who writes wins. It does not look at
	// what the run's status was.
	Patch(ctx context.Context, id string, patch RunPatch) (bool, error)
	// Get returns a run, and false when there is none.
	Get(ctx context.Context, id string) (Run, bool, error)
	// FindActive returns the running run of a thread that started last, and false when none runs. Of
	// several that started at once it is the one with the last id, by bytes.
	FindActive(ctx context.Context, threadID string) (Run, bool, error)

	// PatchIf is Patch if the run has this driver epoch and has not ended. The patch must not have
	// FieldDriverEpoch. Feature: Fenced.
	PatchIf(ctx context.Context, id string, epoch uint64, patch RunPatch) (PatchResult, error)
	// Claim makes the caller the run's driver: the epoch goes up by one in one step with the look at the
	// status. Feature: Fenced.
	Claim(ctx context.Context, id string) (Claim, error)
	// ListByThread pages through a thread's runs by (StartedAt, ID), oldest first. Feature: ListByThread.
	ListByThread(ctx context.Context, threadID string, opts PageOptions) (RunPage, error)
	// List pages through all runs, newest first. Feature: List.
	List(ctx context.Context, opts RunListOptions) (RunPage, error)
	// ListReclaimable pages through runs that wait. Feature: ListReclaimable.
	ListReclaimable(ctx context.Context, opts ReclaimOptions) (ReclaimPage, error)
	// CountBySandbox counts the runs that have not ended and have this SandboxKey, leaving one out
	// (empty: none). Feature: CountBySandbox.
	CountBySandbox(ctx context.Context, sandboxKey, exceptRun string) (int, error)
	// Secret returns what NewRun.Secret was when the run was made, and false when there is no such run or
	// it has none. Feature: Secret.
	Secret(ctx context.Context, id string) (RunSecret, bool, error)
	// Delete removes a run that has ended, with its secret, and returns whether it was there. One that
	// has not ended is ErrConflict. Its log stays; but one whose events were truncated may go with it. Feature: Delete.
	Delete(ctx context.Context, id string) (bool, error)
}
