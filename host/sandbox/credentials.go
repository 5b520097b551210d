package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
)

// Credentials are what the requests of one sandbox are given on their way out, without the sandbox
// seeing it. It is safe for concurrent use; changes happen one at a time.
//
// The ledger is told first, so that nothing is ever bound that it doesn't know. When the broker then
// says that it has changed nothing, the ledger is told that, too: there is a credential.bound, and a
// credential.revoked or the former credential.bound behind it. When nobody knows what the broker did,
// the ledger keeps what was asked for, and the error wraps [credential.ErrUnknownOutcome] or is the
// broker's own: set it again, or remove it. Removing is the other way around: the ledger has it until
// it is gone.
type Credentials struct{ h *Handle }

// Credentials returns the sandbox's credentials. It does no I/O. Using them is
// [credential.ErrNoProxy] unless the sandbox was created with CredentialProxy.
func (h *Handle) Credentials() *Credentials { return &Credentials{h} }

// CredentialPatch says what changes. What is nil stays as it is, but a new Value has the old Source
// only when that still leads to it: give the new one else.
type CredentialPatch struct {
	Value   *credential.Secret
	Expires time.Time // when Value ends, as with SetResolved; zero: it doesn't, or nobody knows
	Binding *credential.Binding
	Source  *credential.Source
}

// CredentialStatus is one credential of a sandbox.
type CredentialStatus struct {
	credential.Bound
	// Live says that the broker has it, Recorded that the ledger does. It is both unless something
	// went wrong, or somebody else was at work.
	Live     bool `json:"live"`
	Recorded bool `json:"recorded"`
}

// Set binds a value, in place of what was bound under the name. source says where the value can be had
// again when the sandbox is resumed or forked; nil: whoever does that has to know it. When Set returns,
// matching requests have the value.
func (c *Credentials) Set(ctx context.Context, name string, value credential.Secret, binding credential.Binding, source *credential.Source) error {
	return c.SetResolved(ctx, name, credential.Resolved{Value: value}, binding, source)
}

// SetResolved is Set with a value that may end. One that does is taken from its source again in time, as
// Refresh does it, as long as the handle is open.
func (c *Credentials) SetResolved(
	ctx context.Context, name string, resolved credential.Resolved, binding credential.Binding, source *credential.Source,
) error {
	const op = "setting credential"
	defer c.h.c.redactor().Add(resolved.Value)() // no refusal says it
	bound := credential.Bound{Name: name, Binding: binding, Source: source}
	return c.change(ctx, op, name, func(state *bindings) error {
		err := c.h.check(bound, &resolved.Value)
		if err == nil {
			err = c.h.knowsOthers(ctx, state, bound)
		}
		if err != nil {
			return err
		}
		state.release(name)
		if err := c.h.bind(ctx, state, bound, resolved.Value); err != nil {
			return err
		}
		if source != nil {
			c.h.lease(state, name, resolved)
		}
		return nil
	})
}

// Patch changes the value, the binding or both of a credential that is bound; [credential.ErrNotFound]
// when none is. A new value alone is not recorded, because nothing that is recorded has changed.
func (c *Credentials) Patch(ctx context.Context, name string, patch CredentialPatch) error {
	const op = "changing credential"
	if patch.Value != nil {
		defer c.h.c.redactor().Add(*patch.Value)()
	}
	return c.change(ctx, op, name, func(state *bindings) error {
		before, ok := state.list.find(name)
		if !ok {
			return fmt.Errorf("the ledger has none of that name: %w", credential.ErrNotFound)
		}
		after := before
		if patch.Binding != nil {
			after.Binding = *patch.Binding
		}
		if patch.Source != nil {
			after.Source = patch.Source
		}
		if patch.Value == nil && patch.Binding == nil && patch.Source == nil {
			return fmt.Errorf("%w: nothing is to be changed", ErrInvalid)
		}
		err := c.h.check(after, patch.Value)
		if err == nil && patch.Binding != nil {
			err = c.h.knowsOthers(ctx, state, after)
		}
		if err != nil {
			return err
		}
		if patch.Value != nil {
			state.release(name)
		}
		if err := c.h.patch(ctx, state, before, after, patch); err != nil {
			return err
		}
		if patch.Value != nil && after.Source != nil {
			c.h.lease(state, name, credential.Resolved{Value: *patch.Value, Expires: patch.Expires})
		}
		return nil
	})
}

// Remove ends a credential. One that is not bound is a success.
func (c *Credentials) Remove(ctx context.Context, name string) error {
	const op = "removing credential"
	return c.change(ctx, op, name, func(state *bindings) error {
		if err := credential.ValidateName(name); err != nil {
			return err
		}
		if err := c.h.c.broker().Remove(ctx, c.h.brokerSandbox(), name); err != nil {
			return c.h.ofBroker(err)
		}
		state.release(name)
		if _, ok := state.list.find(name); !ok {
			return nil
		}
		// It is gone, and that is to be recorded whether or not its caller still waits.
		if err := c.h.record(context.WithoutCancel(ctx), state, store.EventCredentialRevoked, revokedPayload{name}); err != nil {
			return fmt.Errorf("it is removed, but that is not recorded: %w", err)
		}
		state.list.revoke(name)
		return nil
	})
}

// ListBindings returns the sandbox's credentials in the order in which they were bound. What they are
// bound to is the ledger's word; the broker says which of them there really are.
func (c *Credentials) ListBindings(ctx context.Context) ([]CredentialStatus, error) {
	const op = "listing credentials"
	if err := c.h.open(); err != nil {
		return nil, c.h.fail(op, err)
	}
	state, done, err := c.h.bindings(ctx)
	if err != nil {
		return nil, c.h.fail(op, err)
	}
	defer done()
	live, err := c.h.c.broker().ListBindings(ctx, c.h.brokerSandbox())
	if err != nil {
		return nil, c.h.fail(op, c.h.ofBroker(err))
	}
	all := make([]CredentialStatus, 0, len(live))
	for _, b := range state.list {
		at := slices.IndexFunc(live, func(l credential.Bound) bool { return l.Name == b.Name })
		all = append(all, CredentialStatus{Bound: b.Bound, Recorded: true, Live: at >= 0})
		if at >= 0 {
			live = slices.Delete(live, at, at+1)
		}
	}
	for _, b := range live {
		all = append(all, CredentialStatus{Bound: b, Live: true})
	}
	return all, nil
}

// Refresh takes the value of a credential from its source again, as after it was changed there. Where
// the broker says when the value ends, this and what a resumed or forked sandbox begins with are taken
// again in time by themselves, as long as the handle is open.
// resolve is asked as in Resume; nil: the client's.
func (c *Credentials) Refresh(ctx context.Context, name string, resolve credential.Resolver) error {
	return c.refresh(ctx, name, resolve, func(*bindings) error { return nil })
}

// refresh does so if that is still wanted when its turn has come.
func (c *Credentials) refresh(ctx context.Context, name string, resolve credential.Resolver, wanted func(*bindings) error) error {
	const op = "refreshing credential"
	return c.change(ctx, op, name, func(state *bindings) error {
		if err := wanted(state); err != nil {
			return err
		}
		bound, ok := state.list.find(name)
		if !ok {
			return fmt.Errorf("the ledger has none of that name: %w", credential.ErrNotFound)
		}
		resolved, err := c.h.c.resolution(resolve).Resolve(ctx, c.h.id, name, bound.Source)
		if err != nil {
			return c.h.ofBroker(err)
		}
		if err := c.h.check(bound, &resolved.Value); err != nil {
			return err
		}
		if err := c.h.patch(ctx, state, bound, bound, CredentialPatch{Value: &resolved.Value}); err != nil {
			return err
		}
		c.h.lease(state, name, resolved)
		return nil
	})
}

// change runs one change while no other does.
func (c *Credentials) change(ctx context.Context, op, name string, do func(*bindings) error) error {
	failed := func(err error) error { return c.h.fail(fmt.Sprintf("%s %q", op, name), err) }
	if err := c.h.drives(); err != nil {
		return failed(err)
	}
	state, done, err := c.h.bindings(ctx)
	if err != nil {
		return failed(err)
	}
	defer done()
	return failed(do(state))
}

// check refuses what could not be bound, or not be recorded as it is.
func (h *Handle) check(bound credential.Bound, value *credential.Secret) error {
	problems := []error{credential.ValidateName(bound.Name), bound.Binding.Validate()}
	if bound.Source != nil {
		problems = append(problems, bound.Source.Validate())
	}
	if value != nil {
		problems = append(problems, credential.ValidateValue(*value, bound.Binding.Injection))
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	payload, err := encode(bound)
	if err != nil {
		return err
	}
	known := credential.NewRedactor()
	if value != nil {
		known.Add(*value)
	}
	for _, r := range [...]*credential.Redactor{known, h.c.redactor()} {
		if !slices.Equal(r.JSON(payload, true), payload) {
			return fmt.Errorf("%w: the name, the binding or the source has the value of a credential in it", ErrInvalid)
		}
	}
	return nil
}

// knowsOthers refuses a binding that names another credential which isn't there, before that is recorded: it
// may be a value that somebody has put in the place of a name.
func (h *Handle) knowsOthers(ctx context.Context, state *bindings, bound credential.Bound) error {
	var live []credential.Bound
	for _, header := range bound.Binding.Injection.Headers {
		_, known := state.list.find(header.Credential)
		if known || header.Credential == "" || header.Credential == bound.Name {
			continue
		}
		if live == nil {
			var err error
			if live, err = h.c.broker().ListBindings(ctx, h.brokerSandbox()); err != nil {
				return h.ofBroker(err)
			}
		}
		if !slices.ContainsFunc(live, func(b credential.Bound) bool { return b.Name == header.Credential }) {
			return fmt.Errorf("%w: header %q is to have the value of another credential, and none of that name is bound", credential.ErrInvalid, header.Name)
		}
	}
	return nil
}

// bind binds a credential that was checked, ledger first.
func (h *Handle) bind(ctx context.Context, state *bindings, bound credential.Bound, value credential.Secret) error {
	state.learn(h.c.redactor(), value, bound.Binding)
	before, had := state.list.find(bound.Name)
	if err := h.record(ctx, state, store.EventCredentialBound, bound); err != nil {
		return err
	}
	state.list.bind(bound)
	if err := h.c.broker().Set(ctx, h.brokerSandbox(), bound.Name, value, bound.Binding); err != nil {
		err = h.ofBroker(err)
		if !had {
			return h.takeBack(ctx, state, err, store.EventCredentialRevoked, revokedPayload{bound.Name}, func() { state.list.revoke(bound.Name) })
		}
		return h.takeBack(ctx, state, err, store.EventCredentialBound, before, func() { state.list.bind(before) })
	}
	return guard("CredentialInjected", func() { state.hooks(h).credentialInjected(h.id, bound.Name, bound.Binding) })
}

func (h *Handle) patch(ctx context.Context, state *bindings, before, after credential.Bound, patch CredentialPatch) error {
	if patch.Value != nil {
		state.learn(h.c.redactor(), *patch.Value, after.Binding)
	}
	told := patch.Binding != nil || patch.Source != nil
	if told {
		if err := h.record(ctx, state, store.EventCredentialBound, after); err != nil {
			return err
		}
		state.list.bind(after)
	}
	if patch.Value == nil && patch.Binding == nil {
		return nil // where it comes from is nothing to the broker
	}
	err := h.ofBroker(h.c.broker().Patch(ctx, h.brokerSandbox(), after.Name, credential.Change{Value: patch.Value, Binding: patch.Binding}))
	switch {
	case err != nil && told:
		return h.takeBack(ctx, state, err, store.EventCredentialBound, before, func() { state.list.bind(before) })
	case err != nil:
		return err
	case patch.Binding != nil:
		return guard("CredentialInjected", func() { h.hooks.credentialInjected(h.id, after.Name, after.Binding) })
	}
	return nil
}

// record writes an event of a credential.
func (h *Handle) record(ctx context.Context, state *bindings, event string, payload any) error {
	raw, err := encode(payload)
	if err != nil {
		return err
	}
	err = h.append(ctx, ledger.Event{Step: -1, Name: event, Payload: raw})
	if err != nil && !unwritten(err) {
		state.loaded = false // the ledger is to be asked
	}
	return err
}

// takeBack records that what was recorded did not come to be, if that is certain.
func (h *Handle) takeBack(ctx context.Context, state *bindings, cause error, event string, payload any, undo func()) error {
	if !unchanged(cause) {
		return fmt.Errorf("it may hold or not, and the ledger has it; set it again or remove it: %w", cause)
	}
	if err := h.record(context.WithoutCancel(ctx), state, event, payload); err != nil {
		return errors.Join(cause, fmt.Errorf("the ledger still has what failed: %w", err))
	}
	undo()
	return cause
}

// unchanged reports whether a broker's error says that nothing was changed.
func unchanged(err error) bool {
	for _, sure := range [...]error{
		credential.ErrInvalid, credential.ErrNotFound, credential.ErrConflict, credential.ErrDenied,
		credential.ErrUnavailable, credential.ErrUnsupported, credential.ErrNoProxy,
	} {
		if errors.Is(err, sure) {
			return !errors.Is(err, credential.ErrUnknownOutcome)
		}
	}
	return false
}

type revokedPayload struct {
	Name string `json:"name"`
}
