package durable

import (
	"context"
	"fmt"
)

// AwaitLaunch waits until the command of a run that this host drives has been started, or is known not to be:
// a host that lets go of a run before that leaves one that ends with CodeNotStarted. It returns at once when
// this host doesn't drive the run. How the run went is in its record.
func (r *Runs) AwaitLaunch(ctx context.Context, runID string) error {
	d := r.driverOf(runID)
	if d == nil {
		return nil
	}
	select {
	case <-d.launched:
	case <-d.done:
	case <-ctx.Done():
		return fmt.Errorf("waiting for the command of run %q to start: %w", runID, context.Cause(ctx))
	}
	return nil
}

// AwaitRelease waits until this host doesn't drive a run any more: then all is done about its end that this host
// was to do, the end of its sandbox included.
func (r *Runs) AwaitRelease(ctx context.Context, runID string) error {
	d := r.driverOf(runID)
	if d == nil {
		return nil
	}
	select {
	case <-d.done:
	case <-ctx.Done():
		return fmt.Errorf("waiting for this host to be done with run %q: %w", runID, context.Cause(ctx))
	}
	return nil
}

// driverOf returns this host's driver of a run, nil when it has none.
func (r *Runs) driverOf(runID string) *driver {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.local[runID]; p != nil {
		return p.driver
	}
	return nil
}
