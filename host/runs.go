package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/durable"
)

// Runs returns the durable runs that [runs] configures, in the stores of RunStores and in the sandboxes of
// Sandboxes. A failed first call is tried again by the next. Closing the Host lets go of the runs that
// it drives. It sweeps nothing by itself: see [durable.Runs.ReapLoop].
func (h *Host) Runs(ctx context.Context) (*durable.Runs, error) {
	client, err := h.Sandboxes(ctx)
	if err != nil {
		return nil, err
	}
	wire, err := h.Wire(ctx)
	if err != nil {
		return nil, err
	}
	cfg := h.cfg.Runs
	opts := durable.Options{
		Machines: durable.NewServer(client, wire, time.Duration(h.cfg.Sandbox.Timeout)), Logger: h.log.Named("runs"),
		Keep: keep(cfg.Keep), DetachedTTL: time.Duration(cfg.DetachedTTL), InterruptedTTL: time.Duration(cfg.InterruptedTTL),
		SandboxTTL: time.Duration(cfg.SandboxTTL), Retention: time.Duration(cfg.Retention), Lease: time.Duration(cfg.Lease),
		AllowUnfenced: cfg.AllowUnfenced,
	}
	if opts.Keep != durable.KeepNothing {
		if opts.Stores, err = h.durableStores(ctx); err != nil {
			return nil, err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	if h.runs == nil {
		if h.runs, err = durable.New(opts); err != nil {
			return nil, err
		}
	}
	return h.runs, nil
}

// keep is what to keep, as the file says it. What is kept of a chat is not this program's.
func keep(word string) durable.Keep {
	switch word {
	case config.KeepSandbox:
		return durable.KeepSandbox
	case config.KeepChat, config.KeepNothing:
		return durable.KeepNothing
	default:
		return durable.KeepEverything
	}
}

// durableStores are the stores of runs, with all that runs can't do without.
func (h *Host) durableStores(ctx context.Context) (durable.Stores, error) {
	s, err := h.RunStores(ctx)
	if err != nil {
		return durable.Stores{}, err
	}
	var missing []error
	for _, part := range [...]struct {
		name  string
		there bool
	}{{"instances", s.Instances != nil}, {"runs", s.Runs != nil}} {
		if !part.there {
			missing = append(missing, fmt.Errorf("%w: it keeps no %s", ErrNoRunStores, part.name))
		}
	}
	if err := errors.Join(missing...); err != nil {
		return durable.Stores{}, fmt.Errorf("opening durable runs in plugin %q: %w", s.Plugin, err)
	}
	return durable.Stores{Instances: s.Instances, Runs: s.Runs, Log: s.Log, Locks: s.Locks}, nil
}
