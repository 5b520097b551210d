package opensandbox

import (
	"bytes"
	"encoding/json"
	"time"
)

// States of a sandbox. Servers have others; treat those as neither ready nor final.
const (
	StatePending    = "Pending"
	StateRunning    = "Running"
	StatePausing    = "Pausing"
	StatePaused     = "Paused"
	StateResuming   = "Resuming"
	StateStopping   = "Stopping"
	StateFailed     = "Failed"
	StateTerminated = "Terminated"
)

// States of a snapshot.
const (
	SnapshotCreating = "Creating"
	SnapshotReady    = "Ready"
	SnapshotFailed   = "Failed"
	SnapshotDeleting = "Deleting"
)

// Time is a point in time as servers write it: RFC 3339 with any fraction and offset. One that
// can't be read is zero, because a date is no reason to lose a sandbox that was just created.
type Time struct{ time.Time }

// UnmarshalJSON never fails.
func (t *Time) UnmarshalJSON(raw []byte) error {
	t.Time = time.Time{}
	value := string(bytes.Trim(raw, `"`))
	// The second form has no offset; servers mean UTC.
	for _, layout := range [...]string{time.RFC3339Nano, "2006-01-02T15:04:05"} {
		if parsed, err := time.Parse(layout, value); err == nil {
			t.Time = parsed
			return nil
		}
	}
	return nil
}

// MarshalJSON writes RFC 3339 in UTC.
func (t Time) MarshalJSON() ([]byte, error) {
	return json.Marshal(t.UTC())
}

// Status is a state and why.
type Status struct {
	State            string `json:"state"`
	Reason           string `json:"reason,omitempty"`
	Message          string `json:"message,omitempty"`
	LastTransitionAt *Time  `json:"lastTransitionAt,omitempty"`
}

// Sandbox is what the server says about one.
type Sandbox struct {
	ID         string            `json:"id"`
	Image      *Image            `json:"image,omitempty"`
	SnapshotID string            `json:"snapshotId,omitempty"`
	Platform   *Platform         `json:"platform,omitempty"`
	Status     Status            `json:"status"`
	Metadata   map[string]string `json:"metadata,omitempty"`
	Entrypoint []string          `json:"entrypoint,omitempty"`
	ExpiresAt  *Time             `json:"expiresAt,omitempty"`
	CreatedAt  Time              `json:"createdAt"`
}

// SandboxFilter narrows a listing. The zero value lists everything.
type SandboxFilter struct {
	States   []string          // any of them
	Metadata map[string]string // all of them
}

// SnapshotFilter narrows a listing. The zero value lists everything.
type SnapshotFilter struct {
	SandboxID string
	States    []string // any of them; servers compare case
}

// Snapshot is what the server says about one.
type Snapshot struct {
	ID        string `json:"id"`
	SandboxID string `json:"sandboxId"`
	Name      string `json:"name,omitempty"`
	Status    Status `json:"status"`
	CreatedAt Time   `json:"createdAt"`
}

// pagination is the part of a listing's envelope that matters.
type pagination struct {
	HasNextPage bool `json:"hasNextPage"`
}
