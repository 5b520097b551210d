package sandbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

const opConnect = "connecting to"

// ConnectOptions says what is known about a sandbox that runs already.
type ConnectOptions struct {
	// Name under which the ledger has it; empty: the ledger is asked, and one that it does not know is
	// called sandbox- and the beginning of the id.
	Name       string
	Resources  Resources // without cpu and memory, Fork is ErrNoFork
	RunID      string    // default the ledger's
	ResourceID string
	TeamID     string
	// AllowPaused takes one that is paused, too; Unpause it before it is used.
	AllowPaused bool
	// LookOnly does not claim the sandbox's ledger: whoever drives it goes on doing so. The handle has
	// files, ports, metrics and what else is not recorded; what would be recorded is ErrLookOnly. It takes
	// no place under MaxConcurrency, and its Close is [Handle.Detach].
	LookOnly bool
	Shell    string // of its execs; default /bin/sh
	Hooks    *Hooks

	// unless keeps the sandbox from being claimed. Nobody else claims it meanwhile.
	unless func(context.Context) error
}

// Connect opens a handle on a sandbox that runs already, made by whomever. One that the server does
// not know is opensandbox.ErrNotFound, and one that is not running opensandbox.ErrConflict. It writes
// nothing; execs are numbered after the last one in the ledger, and nothing is replayed. Whoever
// held the sandbox before can't write to its ledger any more, unless LookOnly is set.
//
// The handle's Close deletes the sandbox; see [Handle.Detach] for leaving it.
func (c *Client) Connect(ctx context.Context, sandboxID string, opts ConnectOptions) (*Handle, error) {
	fail := func(err error) error { return c.fail(opConnect, sandboxID, err) }
	done, err := c.begin()
	if err != nil {
		return nil, fail(err)
	}
	defer done()
	box, err := c.wire.GetSandbox(ctx, sandboxID)
	if err != nil {
		return nil, fail(err)
	}
	paused := box.Status.State == opensandbox.StatePaused
	switch {
	case paused && opts.AllowPaused, box.Status.State == opensandbox.StateRunning:
	case paused:
		return nil, fail(fmt.Errorf("%w: it is paused, and AllowPaused is not set", opensandbox.ErrConflict))
	default:
		return nil, fail(fmt.Errorf("%w: it is not running, but %s", opensandbox.ErrConflict, describe(box.Status)))
	}
	release := func() {}
	if !opts.LookOnly {
		if release, err = c.acquire(ctx); err != nil {
			return nil, fail(err)
		}
	}
	handle, err := c.adopt(ctx, box.ID, paused, opts, release)
	if err != nil {
		release()
		return nil, fail(err)
	}
	return handle, nil
}

func (c *Client) adopt(ctx context.Context, id string, paused bool, opts ConnectOptions, release func()) (*Handle, error) {
	details, err := c.recorded(ctx, id, opts.Name)
	if err != nil {
		return nil, err
	}
	if !paused {
		if err := c.awaitExecd(ctx, id); err != nil {
			return nil, err
		}
	}
	l := &launch{
		name: details.Name, shell: opts.Shell, hooks: c.opts.Hooks.and(opts.Hooks), resources: opts.Resources,
		identity: identity{opts.RunID, opts.ResourceID, opts.TeamID}.or(identity{details.RunID, details.ResourceID, details.TeamID}),
	}
	var handle *Handle
	open := func(stream *ledger.Stream) {
		handle = c.newHandle(l, id, stream, release)
		handle.bound.loaded = false
		handle.lifetime = c.opts.Lifetime
		handle.paused, handle.policed = paused, true
	}
	if opts.LookOnly {
		open(nil)
	} else if err := c.claim(ctx, store.Key{Name: details.Name, SandboxID: id}, opts.unless, func(stream *ledger.Stream) {
		l.after = max(stream.LastStep(), 0)
		open(stream)
		handle.enter()
	}); err != nil {
		return nil, err
	}
	if err := handle.learnBound(ctx); err != nil {
		handle.depart(ctx)
		return nil, err
	}
	if paused {
		handle.execd.ExpectSilence(true)
	}
	return handle, nil
}

// claim opens the ledger of a sandbox and calls claimed, unless something is against it; all of that while
// nobody else does so.
func (c *Client) claim(ctx context.Context, key store.Key, unless func(context.Context) error, claimed func(*ledger.Stream)) error {
	become := func() error {
		if unless != nil {
			if err := unless(ctx); err != nil {
				return err
			}
		}
		stream, err := c.opts.Ledger.Open(ctx, key)
		if err == nil {
			claimed(stream)
		}
		return err
	}
	if c.opts.Drivers == nil {
		return become()
	}
	return c.opts.Drivers.Alone(ctx, become)
}

// recorded returns what the ledger knows about a sandbox, which may be nothing but its name.
func (c *Client) recorded(ctx context.Context, id, name string) (store.Details, error) {
	var details store.Details
	var err error
	if name == "" {
		details, err = c.store.FindSandbox(ctx, id)
		name = autoName("", id)
	} else {
		details, err = c.store.GetSandbox(ctx, store.Key{Name: name, SandboxID: id})
	}
	if errors.Is(err, store.ErrNotFound) {
		return store.Details{Name: name, SandboxID: id}, nil
	}
	return details, err
}
