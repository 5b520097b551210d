package store

import "context"

// Instance is which sandbox of a provider belongs to a key, so that it can be reached again.
type Instance struct {
	Key               string  `json:"key"`
	Provider          string  `json:"provider"` // who owns ProviderSandboxID
	ProviderSandboxID string  `json:"providerSandboxId"`
	LatestSnapshotID  *string `json:"latestSnapshotId,omitempty"` // of the provider's own; nil is absent
	ThreadID          string  `json:"threadId"`
	LatestRunID       *string `json:"latestRunId,omitempty"` // nil is absent
	// UpdatedAt is when the record was last written, Unix milliseconds. A record that is put with 0 is
	// stamped with the store's clock.
	UpdatedAt int64 `json:"updatedAt"`
}

// InstanceFeatures are the optional abilities of an Instances. A method without its feature returns
// ErrUnsupported.
type InstanceFeatures struct {
	Conditional bool // PutIf and DeleteIf
	List        bool
}

// InstanceListOptions filters a listing.
type InstanceListOptions struct {
	UpdatedBefore *int64 // strictly, Unix milliseconds; nil: any
	Cursor        []byte // of the page before; empty starts at the beginning
	Limit         int    // most records; 0 lets the store choose
}

// InstancePage is one page of instances, by (UpdatedAt, Key).
type InstancePage struct {
	Instances []Instance
	Now       int64 // the store's clock when the page was read, Unix milliseconds
	Cursor    []byte
	More      bool
}

// Instances stores one record a key. Implementations are safe for concurrent use, and what one wrote is
// there for all who read later.
type Instances interface {
	Features() InstanceFeatures
	// Get returns a record, and false when there is none.
	Get(ctx context.Context, key string) (Instance, bool, error)
	// Put inserts or replaces the whole record: what is absent in the new one is absent in the stored.
	Put(ctx context.Context, record Instance) error
	// Delete removes a record; a key that is not there is no error.
	Delete(ctx context.Context, key string) error

	// PutIf is Put if the stored record has that ProviderSandboxID or, when it is nil, if there is no
	// record. It returns whether it did. Feature: Conditional.
	PutIf(ctx context.Context, record Instance, expected *string) (bool, error)
	// DeleteIf is Delete if the stored record has that ProviderSandboxID. It returns whether it did.
	// Feature: Conditional.
	DeleteIf(ctx context.Context, key, expected string) (bool, error)
	// List pages through all records. Feature: List.
	List(ctx context.Context, opts InstanceListOptions) (InstancePage, error)
}
