package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/alineo-labs/alineo-host/host/internal/adapter"
	"github.com/alineo-labs/alineo-host/host/store"
)

// ErrNoRunStores is returned by RunStores when the plugin that is to keep durable runs keeps none of what
// they need.
var ErrNoRunStores = errors.New("the plugin keeps no durable runs")

// RunStores are what durable runs are kept in. What the plugin does not have is nil; what it has of the
// rest each of them says in Features.
type RunStores struct {
	Plugin    string // that they are of; empty: the program's own
	Instances store.Instances
	Runs      store.Runs
	Log       store.RunLog
	Locks     store.Locks
}

// WithRunStores keeps durable runs in the embedder's own stores instead of a plugin's.
func WithRunStores(stores RunStores) Option {
	return func(h *Host) { h.runStores = &stores }
}

// RunStores returns what durable runs are kept in: that of the plugin which [runs] store names, else of
// the ledger's. The first call loads the plugin unless it is the ledger's; a failed one is tried again
// by the next. The Host closes them.
func (h *Host) RunStores(ctx context.Context) (RunStores, error) {
	h.opening.Lock()
	defer h.opening.Unlock()
	h.mu.Lock()
	stores, closed := h.runStores, h.closed
	h.mu.Unlock()
	if closed {
		return RunStores{}, ErrClosed
	}
	if stores != nil {
		return *stores, nil
	}
	name := h.cfg.RunsPlugin()
	p, err := h.load(ctx, name)
	if err != nil {
		return RunStores{}, fmt.Errorf("opening the store of durable runs: %w", err)
	}
	s := adapter.NewStores(p.seat)
	stores = &RunStores{Plugin: name, Instances: s.Instances, Runs: s.Runs, Log: s.Log, Locks: s.Locks}
	if s == (adapter.Stores{}) {
		return RunStores{}, fmt.Errorf("opening the store of durable runs: %w: %q says that it is: %v; name another as [runs] store",
			ErrNoRunStores, name, p.seat.Manifest().Kinds)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runStores = stores
	return *stores, nil
}
