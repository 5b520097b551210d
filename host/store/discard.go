package store

import (
	"context"
	"fmt"
)

// Discard is the ledger that is off: what is appended is let go, and nothing is ever found. Sandboxes work
// as usual with it, but none can be resumed, taken over or found again by its name. No hashes are computed
// for it, and for what a command prints no payloads made.
type Discard struct{}

var _ Ledger = Discard{}

func (Discard) nothing(doing string) error {
	return fmt.Errorf("%s: the ledger is off: %w", doing, ErrNotFound)
}

// OpenLedger returns the head of an empty ledger.
func (Discard) OpenLedger(context.Context, Key) (Head, error) {
	return Head{Epoch: 1, LastStep: -1}, nil
}

// Append does nothing.
func (Discard) Append(context.Context, *Batch) error { return nil }

// Read returns nothing.
func (Discard) Read(context.Context, Key, ReadOptions) (Page, error) { return Page{}, nil }

// ReadAll returns nothing.
func (Discard) ReadAll(context.Context, ReadOptions) (Page, error) { return Page{}, nil }

// LastCheckpoint returns ErrNotFound.
func (d Discard) LastCheckpoint(context.Context, Key, string) (Entry, error) {
	return Entry{}, d.nothing("looking for a checkpoint")
}

// ListCheckpoints returns nothing.
func (Discard) ListCheckpoints(context.Context, Key, ReadOptions) (CheckpointPage, error) {
	return CheckpointPage{}, nil
}

// ListSandboxes returns nothing.
func (Discard) ListSandboxes(context.Context, ListOptions) (DetailsPage, error) {
	return DetailsPage{}, nil
}

// GetSandbox returns ErrNotFound.
func (d Discard) GetSandbox(_ context.Context, key Key) (Details, error) {
	return Details{}, d.nothing("looking for sandbox " + key.String())
}

// FindSandbox returns ErrNotFound.
func (d Discard) FindSandbox(_ context.Context, sandboxID string) (Details, error) {
	return Details{}, d.nothing("looking for sandbox " + sandboxID)
}

// DeleteSandbox has nothing to delete.
func (Discard) DeleteSandbox(context.Context, Key) (uint64, error) { return 0, nil }

// GetEnvironment returns ErrNotFound.
func (d Discard) GetEnvironment(_ context.Context, name string) (Environment, error) {
	return Environment{}, d.nothing("looking for environment " + name)
}

// SaveEnvironment returns ErrUnsupported: whoever builds an environment wants to find it again.
func (Discard) SaveEnvironment(_ context.Context, env Environment) error {
	return fmt.Errorf("saving environment %s: the ledger is off: %w", env.Name, ErrUnsupported)
}

// DeleteEnvironment has nothing to delete.
func (Discard) DeleteEnvironment(context.Context, string) error { return nil }

// ListEnvironments returns nothing.
func (Discard) ListEnvironments(context.Context) ([]Environment, error) { return nil, nil }

// Close does nothing.
func (Discard) Close(context.Context) error { return nil }
