package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// driven is a sandbox that runs already, opened by a command: the command is its driver now, and what
// it does is recorded after what the ledger has.
type driven struct {
	*sandbox.Handle

	a     *app
	host  *host.Host
	boxes *sandbox.Client
}

// drive opens a sandbox of the ledger and lets go of it when f has returned. It goes on running.
func (a *app) drive(ctx context.Context, id string, opts sandbox.ConnectOptions, f func(context.Context, *driven) error) error {
	return a.withHost(ctx, func(ctx context.Context, h *host.Host) error {
		details, err := a.findSandbox(ctx, h.Store(), id)
		if err != nil {
			return err
		}
		return a.driveOn(ctx, h, details, opts, f)
	})
}

// driveOn is drive of a sandbox that was found.
func (a *app) driveOn(ctx context.Context, h *host.Host, details store.Details, opts sandbox.ConnectOptions, f func(context.Context, *driven) error) error {
	boxes, err := a.sandboxes(ctx, h)
	if err != nil {
		return err
	}
	opts.Name = details.Name
	if opts.Resources, err = recordedResources(ctx, h.Store(), store.Key{Name: details.Name, SandboxID: details.SandboxID}, opts.Resources); err != nil {
		return err
	}
	sb, err := boxes.Connect(ctx, details.SandboxID, opts)
	if err != nil {
		return a.connectHint(ctx, h, err, details.SandboxID)
	}
	return letGo(ctx, sb, f(ctx, &driven{sb, a, h, boxes}))
}

// letGo detaches from a sandbox also when ctx has ended.
func letGo(ctx context.Context, sb *sandbox.Handle, err error) error {
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer cancel()
	if leaveErr := sb.Detach(leaving); leaveErr != nil && !errors.Is(leaveErr, sandbox.ErrClosed) {
		return errors.Join(err, leaveErr)
	}
	return err
}

// recordedResources fills in what the ledger says that a sandbox was given.
func recordedResources(ctx context.Context, st store.Ledger, key store.Key, want sandbox.Resources) (sandbox.Resources, error) {
	lineage, _, err := ledger.Lineage(ctx, st, key)
	if err != nil {
		return want, err
	}
	var created struct {
		Resources sandbox.Resources `json:"resources"`
	}
	if raw := lineage[len(lineage)-1].Created; raw != nil {
		_ = json.Unmarshal(raw, &created) // what another program wrote may hold anything; then nothing is known
	}
	if want.CPU == "" {
		want.CPU = created.Resources.CPU
	}
	if want.Memory == "" {
		want.Memory = created.Resources.Memory
	}
	if want.GPU == "" {
		want.GPU = created.Resources.GPU
	}
	return want, nil
}

// connectHint says what to do about a sandbox that can't be opened.
func (a *app) connectHint(ctx context.Context, h *host.Host, err error, id string) error {
	switch {
	case errors.Is(err, opensandbox.ErrNotFound):
		return fmt.Errorf("%w\n(it is gone from the server; %s resume %.8s goes on after its last checkpoint, when it has one)", err, a.self(), id)
	case errors.Is(err, opensandbox.ErrConflict):
		if wire, wireErr := h.Wire(ctx); wireErr == nil {
			if box, askErr := wire.GetSandbox(ctx, id); askErr == nil && box.Status.State == opensandbox.StatePaused {
				return fmt.Errorf("sandbox %s: %w (%s unpause %.8[1]s)", id, sandbox.ErrPaused, a.self())
			}
		}
	}
	return err
}

// look opens a sandbox for a command that records nothing. Whoever drives it goes on doing so.
func (a *app) look(ctx context.Context, id string, f func(context.Context, *sandbox.Handle) error) error {
	return a.withLooker(ctx, func(ctx context.Context, l *looker) error {
		sb, err := l.open(ctx, id)
		if err != nil {
			return err
		}
		return letGo(ctx, sb, f(ctx, sb))
	})
}

// lookAtTwo is look for two sandboxes, which may be the same.
func (a *app) lookAtTwo(ctx context.Context, one, other string, f func(_ context.Context, one, other *sandbox.Handle) error) error {
	return a.withLooker(ctx, func(ctx context.Context, l *looker) error {
		first, err := l.open(ctx, one)
		if err != nil {
			return err
		}
		second, err := l.open(ctx, other)
		if err == nil {
			err = letGo(ctx, second, f(ctx, first, second))
		}
		return letGo(ctx, first, err)
	})
}

// changed is a sandbox of which a command changes what its driver is asked for. The handle looks.
type changed struct {
	*sandbox.Operator

	look *sandbox.Handle
	host *host.Host
}

// change opens a sandbox for a command that changes what it may reach or what its requests are given.
// Whoever drives it goes on doing so, and records that.
func (a *app) change(ctx context.Context, id string, f func(context.Context, *changed) error) error {
	return a.withLooker(ctx, func(ctx context.Context, l *looker) error {
		look, err := l.open(ctx, id)
		if err != nil {
			return err
		}
		var opts sandbox.ConnectOptions
		if opts.Resources, err = recordedResources(ctx, l.host.Store(), look.Key(), opts.Resources); err != nil {
			return letGo(ctx, look, err)
		}
		operator := l.client.Operate(look.Key(), opts)
		err = f(ctx, &changed{operator, look, l.host})
		leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
		defer cancel()
		return letGo(ctx, look, errors.Join(err, operator.Close(leaving)))
	})
}

// looker is a client for commands that record nothing.
type looker struct {
	a      *app
	host   *host.Host
	wire   *opensandbox.Client
	client *sandbox.Client
}

func (a *app) withLooker(ctx context.Context, f func(context.Context, *looker) error) error {
	return a.withHost(ctx, func(ctx context.Context, h *host.Host) error {
		client, err := a.sandboxes(ctx, h)
		if err != nil {
			return err
		}
		wire, err := h.Wire(ctx)
		if err != nil {
			return err
		}
		return f(ctx, &looker{a, h, wire, client})
	})
}

// open opens the sandbox of an id or the beginning of one.
func (l *looker) open(ctx context.Context, id string) (*sandbox.Handle, error) {
	details, err := l.a.findSandbox(ctx, l.host.Store(), id)
	if err != nil {
		return nil, err
	}
	sb, err := l.client.Connect(ctx, details.SandboxID, sandbox.ConnectOptions{Name: details.Name, LookOnly: true})
	if err != nil {
		return nil, l.a.connectHint(ctx, l.host, err, details.SandboxID)
	}
	return sb, nil
}
