package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// A sandbox has one driver, who alone writes to its ledger: the handle that claimed it last. What others
// want to change they ask it for, so that they need not become the driver in its place.

// Change is what a driver is asked for: one of its fields is set.
type Change struct {
	AddRules    []opensandbox.NetworkRule
	RemoveRules []string // their targets
	Credential  *CredentialChange
}

// CredentialChange is [Credentials.SetResolved], Remove, or else Patch. With Try nothing is changed: it is
// recorded that a request is about to be made to there, to see what the credential does.
type CredentialChange struct {
	Name        string
	Set, Remove bool
	Try         string
	CredentialPatch
}

// Ask has a driver make a change and record it. The status is that of changed network rules.
type Ask func(ctx context.Context, change Change) (*opensandbox.PolicyStatus, error)

// Drivers is how the processes of a machine find who drives a sandbox.
type Drivers interface {
	// Enter lets a driver be found, under the epoch of its claim, until leave is called, which waits until
	// what it was asked for is done. One that can't be found is taken over, as without Drivers.
	Enter(key store.Key, epoch uint64, driver Ask) (leave func(ctx context.Context))
	// Find returns the driver with the highest epoch, if that is above past; nil for none.
	Find(ctx context.Context, key store.Key, past uint64) (driver Ask, epoch uint64, err error)
	// Alone lets one after the other become a driver, so that none comes up behind the back of who looked
	// for one.
	Alone(ctx context.Context, become func() error) error
}

// enter lets the handle be found by those who want something changed.
func (h *Handle) enter() {
	if h.c.opts.Drivers != nil {
		h.leave = h.c.opts.Drivers.Enter(h.Key(), h.stream.Head().Epoch, h.asked)
	}
}

// depart ends that.
func (h *Handle) depart(ctx context.Context) {
	close(h.departed)
	if h.leave == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	h.leave(ctx)
}

// asked makes a change for somebody else.
func (h *Handle) asked(ctx context.Context, change Change) (*opensandbox.PolicyStatus, error) {
	status, err := h.change(ctx, change)
	if err == nil {
		return status, nil
	}
	h.mu.Lock()
	closing, fenced := h.closing, h.fenced
	h.mu.Unlock()
	switch {
	case fenced != nil && errors.Is(err, store.ErrConflict):
		return nil, fmt.Errorf("%w: %w", ErrDriverGone, err)
	case closing && errors.Is(err, ErrClosed):
		// What runs is still being waited for, and who drives the sandbox next would end it.
		late := time.NewTimer(closeTimeout)
		defer late.Stop()
		select {
		case <-h.departed:
			return nil, fmt.Errorf("%w: %w", ErrDriverGone, err)
		case <-late.C:
		case <-ctx.Done():
		}
	}
	return status, err
}

func (h *Handle) change(ctx context.Context, change Change) (*opensandbox.PolicyStatus, error) {
	of := change.Credential
	switch {
	case of == nil && len(change.RemoveRules) > 0:
		return h.RemoveNetworkRules(ctx, change.RemoveRules...)
	case of == nil:
		return h.AddNetworkRules(ctx, change.AddRules...)
	case of.Try != "":
		return nil, h.Credentials().tried(ctx, of.Name, of.Try)
	case of.Remove:
		return nil, h.Credentials().Remove(ctx, of.Name)
	case !of.Set:
		return nil, h.Credentials().Patch(ctx, of.Name, of.CredentialPatch)
	case of.Value == nil || of.Binding == nil:
		return nil, h.fail(fmt.Sprintf("setting credential %q", of.Name), fmt.Errorf("%w: it has no value or no binding", ErrInvalid))
	}
	resolved := credential.Resolved{Value: *of.Value, Expires: of.Expires}
	return nil, h.Credentials().SetResolved(ctx, of.Name, resolved, *of.Binding, of.Source)
}
