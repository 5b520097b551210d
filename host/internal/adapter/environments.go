package adapter

import (
	"context"
	"fmt"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/store"
)

// GetEnvironment returns one environment.
func (l *Ledger) GetEnvironment(ctx context.Context, name string) (store.Environment, error) {
	var reply abi.Environment
	err := l.guest.Call(ctx, abi.OpEnvironmentGet, &abi.EnvironmentRequest{Name: name}, nil, &reply)
	if err == nil && reply.Name != name {
		err = l.brokenf(abi.OpEnvironmentGet, "the plugin answered with another environment, %q", reply.Name)
	}
	if err != nil {
		return store.Environment{}, fmt.Errorf("getting environment %q: %w", name, mapError(err))
	}
	return store.Environment(reply), nil
}

// SaveEnvironment adds or replaces one environment.
func (l *Ledger) SaveEnvironment(ctx context.Context, env store.Environment) error {
	req := abi.Environment(env)
	if err := l.guest.Call(ctx, abi.OpEnvironmentSave, &req, nil, nil); err != nil {
		return fmt.Errorf("saving environment %q: %w", env.Name, mapError(err))
	}
	return nil
}

// DeleteEnvironment removes one environment, if it is there.
func (l *Ledger) DeleteEnvironment(ctx context.Context, name string) error {
	err := l.guest.Call(ctx, abi.OpEnvironmentDelete, &abi.EnvironmentRequest{Name: name}, nil, nil)
	if err != nil {
		return fmt.Errorf("deleting environment %q: %w", name, mapError(err))
	}
	return nil
}

// ListEnvironments returns every environment, newest first.
func (l *Ledger) ListEnvironments(ctx context.Context) ([]store.Environment, error) {
	rows, _, err := l.rows(ctx, abi.OpEnvironmentList, nil, shape{columns: abi.EnvironmentColumns})
	if err != nil {
		return nil, fmt.Errorf("listing environments: %w", err)
	}
	list := make([]store.Environment, rows.Len())
	for i := range list {
		c := cells{rows: rows, row: i}
		list[i] = store.Environment{
			Name: c.text(abi.EnvironmentName), SnapshotID: c.text(abi.EnvironmentSnapshot),
			Image: c.text(abi.EnvironmentImage), BuiltAt: c.int(abi.EnvironmentBuilt),
		}
		if c.err != nil {
			return nil, fmt.Errorf("listing environments: %w", l.broken(abi.OpEnvironmentList, c.err))
		}
	}
	return list, nil
}
