package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/internal/adapter"
)

// ErrNoBroker is wrapped by errors of Broker when [credentials] broker names none.
var ErrNoBroker = errors.New("no credential broker is configured")

// Broker returns the credential broker that [credentials] names. Its plugin is loaded when it is first
// asked for; the Host closes it.
func (h *Host) Broker(ctx context.Context) (credential.Broker, error) {
	h.brokering.Lock()
	defer h.brokering.Unlock()
	if h.broker != nil {
		return h.broker, nil
	}
	name := h.cfg.Credentials.Broker
	if name == "" {
		return nil, fmt.Errorf("opening the credential broker: %w: name one below [credentials]", ErrNoBroker)
	}
	p, err := h.load(ctx, name)
	if err == nil {
		err = p.needKind("broker")
	}
	if err != nil { // so nothing was changed
		return nil, fmt.Errorf("opening the credential broker: %w: %w", credential.ErrUnavailable, err)
	}
	h.broker = adapter.NewBroker(p.seat)
	return h.broker, nil
}

// lateBroker is the broker that [credentials] names, loaded when it is first used: most sandboxes have no
// credentials.
type lateBroker struct{ h *Host }

var _ credential.Broker = lateBroker{}

// Features says that values may be found by reference; Resolve knows whether they are.
func (lateBroker) Features() credential.Features { return credential.Features{Resolve: true} }

// Set binds a value.
func (l lateBroker) Set(ctx context.Context, sandbox credential.Sandbox, name string, value credential.Secret, binding credential.Binding) error {
	b, err := l.h.Broker(ctx)
	if err != nil {
		return err
	}
	return b.Set(ctx, sandbox, name, value, binding)
}

// Patch changes what is bound.
func (l lateBroker) Patch(ctx context.Context, sandbox credential.Sandbox, name string, change credential.Change) error {
	b, err := l.h.Broker(ctx)
	if err != nil {
		return err
	}
	return b.Patch(ctx, sandbox, name, change)
}

// Remove unbinds.
func (l lateBroker) Remove(ctx context.Context, sandbox credential.Sandbox, name string) error {
	b, err := l.h.Broker(ctx)
	if err != nil {
		return err
	}
	return b.Remove(ctx, sandbox, name)
}

// ListBindings returns what is bound.
func (l lateBroker) ListBindings(ctx context.Context, sandbox credential.Sandbox) ([]credential.Bound, error) {
	b, err := l.h.Broker(ctx)
	if err != nil {
		return nil, err
	}
	return b.ListBindings(ctx, sandbox)
}

// Resolve finds a value. A broker that finds none knows none, and others may be asked.
func (l lateBroker) Resolve(ctx context.Context, name string, source credential.Source) (credential.Resolved, error) {
	b, err := l.h.Broker(ctx)
	switch {
	case errors.Is(err, ErrNoBroker):
	case err != nil:
		return credential.Resolved{}, err
	case b.Features().Resolve:
		return b.Resolve(ctx, name, source)
	}
	return credential.Resolved{}, fmt.Errorf("resolving credential %q: no broker finds values: %w", name, credential.ErrNotFound)
}
