package sandbox

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// Operator changes what a sandbox may reach and what its requests are given, whoever drives it. A driver
// on this machine, in whatever process, is asked to do it and to record it among its own events, and what
// it runs goes on. Where none is found, the first change makes the operator the driver, until Close. It
// is safe for concurrent use; changes happen one at a time.
type Operator struct {
	c    *Client
	key  store.Key
	opts ConnectOptions

	mu   sync.Mutex
	own  *Handle // nil unless nobody else drives the sandbox
	past uint64  // the epochs up to this one are over
}

// Operate returns the operator of a sandbox. It does no I/O. The options are what it would connect with;
// the sandbox's name is that of key, and LookOnly counts for nothing.
func (c *Client) Operate(key store.Key, opts ConnectOptions) *Operator {
	opts.Name, opts.LookOnly = key.Name, false
	return &Operator{c: c, key: key, opts: opts}
}

// AddNetworkRules is that of [Handle].
func (o *Operator) AddNetworkRules(ctx context.Context, rules ...opensandbox.NetworkRule) (*opensandbox.PolicyStatus, error) {
	return o.change(ctx, Change{AddRules: rules})
}

// RemoveNetworkRules is that of [Handle].
func (o *Operator) RemoveNetworkRules(ctx context.Context, targets ...string) (*opensandbox.PolicyStatus, error) {
	if len(targets) == 0 {
		return nil, o.fail("removing network rules", fmt.Errorf("%w: no target is named", ErrInvalid))
	}
	return o.change(ctx, Change{RemoveRules: targets})
}

// SetCredential is SetResolved of [Credentials]. The driver knows the value from then on, so that it is in
// nothing that it records.
func (o *Operator) SetCredential(
	ctx context.Context, name string, resolved credential.Resolved, binding credential.Binding, source *credential.Source,
) error {
	return o.changeCredential(ctx, CredentialChange{Name: name, Set: true, CredentialPatch: CredentialPatch{
		Value: &resolved.Value, Expires: resolved.Expires, Binding: &binding, Source: source,
	}})
}

// PatchCredential is Patch of [Credentials].
func (o *Operator) PatchCredential(ctx context.Context, name string, patch CredentialPatch) error {
	return o.changeCredential(ctx, CredentialChange{Name: name, CredentialPatch: patch})
}

// RemoveCredential is Remove of [Credentials].
func (o *Operator) RemoveCredential(ctx context.Context, name string) error {
	return o.changeCredential(ctx, CredentialChange{Name: name, Remove: true})
}

// RefreshCredential is Refresh of [Credentials]. The value is had here, not where the driver is.
func (o *Operator) RefreshCredential(ctx context.Context, name string, resolve credential.Resolver) error {
	failed := func(err error) error { return o.fail(fmt.Sprintf("refreshing credential %q", name), err) }
	found, err := o.c.readControls(ctx, o.key)
	if err != nil {
		return failed(err)
	}
	bound, ok := found.credentials.find(name)
	switch {
	case !found.created.credentialProxy:
		return failed(credential.ErrNoProxy)
	case !ok:
		return failed(fmt.Errorf("the ledger has none of that name: %w", credential.ErrNotFound))
	}
	resolved, err := o.c.resolution(resolve).Resolve(ctx, o.key.SandboxID, name, bound.Source)
	if err != nil {
		return failed(ofBroker(o.key.SandboxID, err))
	}
	return o.PatchCredential(ctx, name, CredentialPatch{Value: &resolved.Value, Expires: resolved.Expires})
}

func (o *Operator) changeCredential(ctx context.Context, change CredentialChange) error {
	if change.Value != nil {
		defer o.c.redactor().Add(*change.Value)() // no refusal says it
	}
	_, err := o.change(ctx, Change{Credential: &change})
	return err
}

// Close lets go of a sandbox that the operator has come to drive. It goes on.
func (o *Operator) Close(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	own := o.own
	o.own = nil
	if own == nil {
		return nil
	}
	return own.Detach(ctx)
}

// change asks one driver after the other until there is one who still drives.
func (o *Operator) change(ctx context.Context, change Change) (*opensandbox.PolicyStatus, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		driver, epoch, err := o.driver(ctx)
		if err != nil {
			return nil, err
		}
		status, err := driver(ctx, change)
		if !errors.Is(err, ErrDriverGone) || ctx.Err() != nil {
			return status, o.c.redactor().Error(err)
		}
		if o.past = epoch; o.own != nil {
			_ = o.own.Detach(ctx) // it was taken over
			o.own = nil
		}
	}
}

var errDriven = errors.New("somebody drives the sandbox")

// driver returns who drives the sandbox, which is the operator itself when nobody else does.
func (o *Operator) driver(ctx context.Context) (Ask, uint64, error) {
	if o.own != nil {
		return o.own.asked, o.own.stream.Head().Epoch, nil
	}
	driver, epoch, err := o.find(ctx)
	if driver != nil || err != nil {
		return driver, epoch, err
	}
	opts := o.opts
	opts.unless = func(ctx context.Context) error { // one may have come meanwhile
		if driver, epoch, err = o.find(ctx); driver != nil {
			return errDriven
		}
		return err
	}
	own, err := o.c.Connect(ctx, o.key.SandboxID, opts)
	switch {
	case errors.Is(err, errDriven):
		return driver, epoch, nil
	case err != nil:
		return nil, 0, err
	}
	o.own = own
	return own.asked, own.stream.Head().Epoch, nil
}

func (o *Operator) find(ctx context.Context) (Ask, uint64, error) {
	if o.c.opts.Drivers == nil {
		return nil, 0, nil
	}
	driver, epoch, err := o.c.opts.Drivers.Find(ctx, o.key, o.past)
	if err != nil {
		return nil, 0, o.fail("finding its driver", err)
	}
	return driver, epoch, nil
}

func (o *Operator) fail(op string, err error) error { return o.c.fail(op, o.key.SandboxID, err) }
