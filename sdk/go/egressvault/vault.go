package egressvault

import (
	"time"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// DefaultSettle is how long a sidecar of OpenSandbox may go on with what its vault was before.
const DefaultSettle = 600 * time.Millisecond

// LiveHeader is what a sidecar's answer has, with the value true, when a change is in force with it.
const LiveHeader = "X-Credential-Vault-Live"

// Vault is an alineo.Broker.
type Vault struct {
	// Settle is how long to wait after a change, unless the sidecar says that there is no need to.
	Settle time.Duration
	// Waits are the pauses before each attempt while a sidecar is starting.
	Waits []time.Duration
	// Conflicts is how often a change is tried because somebody else was faster.
	Conflicts int
}

var _ alineo.Broker = (*Vault)(nil)

// New returns a Vault that waits as long as sidecars of OpenSandbox need.
func New() *Vault {
	const conflicts = 6
	return &Vault{
		Settle: DefaultSettle, Conflicts: conflicts,
		Waits: []time.Duration{0, 300 * time.Millisecond, 600 * time.Millisecond, 1200 * time.Millisecond, 2400 * time.Millisecond},
	}
}

// SetCredential binds a credential, in the place of one of that name.
func (v *Vault) SetCredential(req *abi.BrokerSetRequest) error {
	body := []abi.HTTPPart{alineo.Literal(`{"credentials":[`)}
	body = append(body, credential(req.Name, req.Value)...)
	body = append(body, alineo.Literal(`],"bindings":[`+binding(req.Name, &req.Binding)+`]}`))
	reply, err := v.send(req.Egress, "POST", body)
	switch {
	case err != nil:
		return err
	case reply.Status == statusConflict: // there is one
		return v.change(req.Egress, req.Name, func(st *state) ([]abi.HTTPPart, error) {
			return mutation(st, section(st.credential(req.Name), credential(req.Name, req.Value)),
				section(st.binding(req.Name), []abi.HTTPPart{alineo.Literal(binding(req.Name, &req.Binding))})), nil
		})
	case reply.Status == statusNotFound:
		return noProxy("it has no credential vault")
	}
	return v.done(reply)
}

// PatchCredential changes the value, the binding or both of what is bound.
func (v *Vault) PatchCredential(req *abi.BrokerPatchRequest) error {
	return v.change(req.Egress, req.Name, func(st *state) ([]abi.HTTPPart, error) {
		if !st.credential(req.Name) {
			return nil, notBound(req.Name)
		}
		var credentials, bindings []abi.HTTPPart
		if req.Value != 0 {
			credentials = section(true, credential(req.Name, req.Value))
		}
		if len(req.Binding.Hosts) > 0 {
			bindings = section(st.binding(req.Name), []abi.HTTPPart{alineo.Literal(binding(req.Name, &req.Binding))})
		}
		if credentials == nil && bindings == nil {
			return nil, nil
		}
		return mutation(st, credentials, bindings), nil
	})
}

// RemoveCredential ends what is bound under a name.
func (v *Vault) RemoveCredential(req *abi.BrokerRemoveRequest) error {
	err := v.change(req.Egress, req.Name, func(st *state) ([]abi.HTTPPart, error) {
		gone := []abi.HTTPPart{alineo.Literal(`"delete":[` + quote(req.Name) + `]`)}
		var credentials, bindings []abi.HTTPPart
		if st.credential(req.Name) {
			credentials = gone
		}
		if st.binding(req.Name) {
			bindings = gone
		}
		if credentials == nil && bindings == nil {
			return nil, nil
		}
		return mutation(st, credentials, bindings), nil
	})
	if isCode(err, abi.CodeNotFound) {
		return nil
	}
	return err
}

// ListBindings says what is bound, as far as the sidecar tells.
func (v *Vault) ListBindings(req *abi.BrokerListRequest) (*abi.BrokerListReply, error) {
	st, err := v.read(req.Egress)
	switch {
	case err != nil:
		return nil, err
	case st == nil:
		return &abi.BrokerListReply{}, nil
	}
	return st.list(), nil
}

// change reads the state, forms a mutation of it, and sends that, anew when the vault was changed in
// between. No mutation is no change.
func (v *Vault) change(egress uint64, name string, form func(*state) ([]abi.HTTPPart, error)) error {
	for range v.Conflicts {
		st, err := v.read(egress)
		if err != nil {
			return err
		}
		if st == nil {
			return notBound(name)
		}
		body, err := form(st)
		if err != nil || body == nil {
			return err
		}
		reply, err := v.send(egress, "PATCH", body)
		if err != nil {
			return err
		}
		if reply.Status == statusConflict {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		return v.done(reply)
	}
	return &abi.Error{Code: abi.CodeConflict, Retryable: true, Message: "somebody else changed the sandbox's credential vault each time that it was to be changed"}
}

// done waits until a change is in force.
func (v *Vault) done(reply *abi.HTTPReply) error {
	if err := failure(reply); err != nil {
		return err
	}
	if alineo.HeaderValue(reply, LiveHeader) != "true" && v.Settle > 0 {
		time.Sleep(v.Settle)
	}
	return nil
}

func notBound(name string) error {
	return &abi.Error{Code: abi.CodeNotFound, Message: "no credential " + quote(name) + " is bound in this sandbox"}
}

// noProxy is the error of a sandbox that has no place for credentials.
func noProxy(why string) error {
	return &abi.Error{
		Code: abi.CodeUnsupported, Details: map[string]string{abi.DetailNoProxy: "true"},
		Message: "the sandbox takes no credentials: " + why + "; create it with the credential proxy (credentialProxy and a networkPolicy)",
	}
}
