package adapter

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
)

// What an answer of a broker may be at most.
const (
	maxBindings = 1000
	// maxLease is the longest time that counts as an end.
	maxLease = 100 * 365 * 24 * time.Hour
)

// Broker is a guest as a credential broker. It is safe for concurrent use.
type Broker struct {
	guest Guest
}

var _ credential.Broker = (*Broker)(nil)

// NewBroker returns the broker that a guest of kind "broker" is.
func NewBroker(guest Guest) *Broker { return &Broker{guest: guest} }

// Close closes the guest.
func (b *Broker) Close(ctx context.Context) error { return b.guest.Close(ctx) }

// Features says what the guest declares.
func (b *Broker) Features() credential.Features {
	return credential.Features{Resolve: slices.Contains(b.guest.Manifest().Optional, abi.OpBrokerResolve.String())}
}

// Set binds a value.
func (b *Broker) Set(ctx context.Context, sandbox credential.Sandbox, name string, value credential.Secret, binding credential.Binding) error {
	var call capability.Call
	req := abi.BrokerSetRequest{
		SandboxID: sandbox.ID, Name: name, Egress: lend(&call, sandbox), Value: call.PutSecret(value), Binding: wireBinding(name, binding),
	}
	return b.change(ctx, abi.OpBrokerSet, &req, &call, &credential.Error{Op: "setting credential", SandboxID: sandbox.ID, Name: name}, value)
}

// Patch changes what is bound.
func (b *Broker) Patch(ctx context.Context, sandbox credential.Sandbox, name string, change credential.Change) error {
	var call capability.Call
	var value credential.Secret
	req := abi.BrokerPatchRequest{SandboxID: sandbox.ID, Name: name, Egress: lend(&call, sandbox)}
	at := &credential.Error{Op: "changing credential", SandboxID: sandbox.ID, Name: name}
	if change.Value == nil && change.Binding == nil {
		at.Err = fmt.Errorf("%w: neither value nor binding is to be changed", credential.ErrInvalid)
		return at
	}
	if change.Value != nil {
		value = *change.Value
		req.Value = call.PutSecret(value)
	}
	if change.Binding != nil {
		req.Binding = wireBinding(name, *change.Binding)
	}
	return b.change(ctx, abi.OpBrokerPatch, &req, &call, at, value)
}

// Remove unbinds.
func (b *Broker) Remove(ctx context.Context, sandbox credential.Sandbox, name string) error {
	var call capability.Call
	req := abi.BrokerRemoveRequest{SandboxID: sandbox.ID, Name: name, Egress: lend(&call, sandbox)}
	at := &credential.Error{Op: "removing credential", SandboxID: sandbox.ID, Name: name}
	return b.change(ctx, abi.OpBrokerRemove, &req, &call, at, credential.Secret{})
}

// ListBindings returns what is bound.
func (b *Broker) ListBindings(ctx context.Context, sandbox credential.Sandbox) ([]credential.Bound, error) {
	const op = abi.OpBrokerListBindings
	var call capability.Call
	var reply abi.BrokerListReply
	at := &credential.Error{Op: "listing credentials", SandboxID: sandbox.ID}
	err := b.guest.Call(ctx, op, &abi.BrokerListRequest{SandboxID: sandbox.ID, Egress: lend(&call, sandbox)}, &call, &reply)
	if err != nil {
		return nil, brokerError(at, err, &call)
	}
	if len(reply.Bindings) > maxBindings {
		at.Err = b.brokenf(op, "the plugin answered with %d bindings; a sandbox has at most %d", len(reply.Bindings), maxBindings)
		return nil, at
	}
	list := make([]credential.Bound, len(reply.Bindings))
	for i := range reply.Bindings {
		if list[i], err = hostBinding(&reply.Bindings[i]); err != nil {
			at.Err = b.brokenf(op, "binding %d of the plugin's answer: %w", i, err)
			return nil, at
		}
		if i > 0 && list[i-1].Name >= list[i].Name {
			at.Err = b.brokenf(op, "binding %q of the plugin's answer does not follow %q", list[i].Name, list[i-1].Name)
			return nil, at
		}
	}
	return list, nil
}

// Resolve finds a value.
func (b *Broker) Resolve(ctx context.Context, name string, source credential.Source) (credential.Resolved, error) {
	const op = abi.OpBrokerResolve
	at := &credential.Error{Op: "resolving credential", Name: name}
	if !b.Features().Resolve {
		at.Err = fmt.Errorf("plugin %q finds no values: %w", b.guest.Name(), credential.ErrUnsupported)
		return credential.Resolved{}, at
	}
	var call capability.Call
	var reply abi.BrokerResolveReply
	asked := time.Now()
	req := abi.BrokerResolveRequest{Name: name, Source: abi.Source{Type: source.Type, VarName: source.VarName, Ref: source.Ref}}
	if err := b.guest.Call(ctx, op, &req, &call, &reply); err != nil {
		return credential.Resolved{}, brokerError(at, err, &call)
	}
	value, ok := call.Secret(reply.Value)
	if !ok {
		at.Err = b.brokenf(op, "the plugin answered with secret %d, which it does not hold", reply.Value)
		return credential.Resolved{}, at
	}
	found := credential.Resolved{Value: value}
	if reply.ExpiresMS > 0 && reply.ExpiresMS < uint64(maxLease/time.Millisecond) {
		found.Expires = asked.Add(time.Duration(reply.ExpiresMS) * time.Millisecond)
	}
	return found, nil
}

// change calls an operation without a reply.
func (b *Broker) change(ctx context.Context, op abi.Op, req abi.Message, call *capability.Call, at *credential.Error, value credential.Secret) error {
	if err := b.guest.Call(ctx, op, req, call, nil); err != nil {
		return hideValue(brokerError(at, err, call), value)
	}
	return nil
}

// lend gives the guest the way to the sandbox's sidecar.
func lend(call *capability.Call, sandbox credential.Sandbox) uint64 {
	if sandbox.Egress == nil {
		return 0
	}
	return call.PutEndpoint(sandbox.Egress)
}

// wireBinding writes a binding in the words of the ABI.
func wireBinding(name string, b credential.Binding) abi.Binding {
	wire := abi.Binding{Schemes: b.Schemes, Hosts: b.Hosts, Methods: b.Methods, Paths: b.Paths}
	for _, port := range b.Ports {
		wire.Ports = append(wire.Ports, uint64(max(port, 0)))
	}
	switch b.Injection.Type {
	case credential.TypeHeader:
		wire.Auth, wire.Header = abi.AuthAPIKey, b.Injection.Header
	case credential.TypeSubstitution:
		wire.Auth = abi.AuthPassthrough
		wire.Substitutions = []abi.Substitution{{Placeholder: b.Injection.Placeholder, In: b.Injection.In}}
	case credential.TypeCustomHeaders:
		wire.Auth = abi.AuthCustomHeaders
		for _, h := range b.Injection.Headers {
			if h.Credential == name {
				h.Credential = ""
			}
			wire.Headers = append(wire.Headers, abi.AuthHeader{Name: h.Name, Credential: h.Credential})
		}
	default:
		wire.Auth = b.Injection.Type // bearer and basic are called the same
	}
	return wire
}

// hostBinding reads a binding of a guest's answer.
func hostBinding(from *abi.NamedBinding) (credential.Bound, error) {
	wire := &from.Binding
	bound := credential.Bound{Name: from.Name, Binding: credential.Binding{
		Schemes: wire.Schemes, Hosts: wire.Hosts, Methods: wire.Methods, Paths: wire.Paths,
	}}
	for _, port := range wire.Ports {
		if port > 65535 {
			return bound, fmt.Errorf("there is no port %d", port)
		}
		bound.Binding.Ports = append(bound.Binding.Ports, int(port))
	}
	in := &bound.Binding.Injection
	switch wire.Auth {
	case abi.AuthAPIKey:
		in.Type, in.Header = credential.TypeHeader, wire.Header
	case abi.AuthPassthrough:
		in.Type = credential.TypeSubstitution
		for i, s := range wire.Substitutions {
			if i > 0 {
				return bound, fmt.Errorf("credential %q has %d substitutions, and one is what there can be", from.Name, len(wire.Substitutions))
			}
			in.Placeholder, in.In = s.Placeholder, s.In
		}
	case abi.AuthCustomHeaders:
		in.Type = credential.TypeCustomHeaders
		for _, h := range wire.Headers {
			if h.Credential == from.Name {
				h.Credential = ""
			}
			in.Headers = append(in.Headers, credential.HeaderValue{Name: h.Name, Credential: h.Credential})
		}
	default:
		in.Type = wire.Auth
	}
	if err := credential.ValidateName(from.Name); err != nil {
		return bound, err
	}
	if from.Partial {
		return bound, nil // what is missing can't be held against it
	}
	return bound, bound.Binding.Validate()
}
