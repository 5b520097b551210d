package main

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
	"github.com/alineo-labs/alineo-host/sdk/go/egressvault"
)

func main() {}

func init() {
	w := &wrong{Vault: egressvault.New(), first: map[string]string{}, mine: map[string]bool{}}
	alineo.Serve(alineo.Plugin{
		Manifest: abi.Manifest{
			Name: "wrongbroker", Version: "1.0.0",
			ConfigSchema: `{"type":"object","additionalProperties":false,"properties":{"fault":{"type":"string","description":"the case that must fail"}}}`,
			Capabilities: []abi.Want{{Name: "secret", Reason: "finds values there", Optional: true}},
		},
		Configure: w.configure, Broker: w, Resolver: w,
	})
}

// wrong is a right broker with a fault.
type wrong struct {
	*egressvault.Vault
	fault string
	first map[string]string // which sandbox a name was first set in
	mine  map[string]bool   // names that this instance has set
}

func (w *wrong) configure(req *abi.ConfigureRequest) (*abi.ConfigureReply, error) {
	var s struct {
		Fault string `json:"fault"`
	}
	if err := json.Unmarshal([]byte(req.Config), &s); err != nil {
		return nil, err
	}
	w.fault = s.Fault
	switch w.fault {
	case "set/live":
		w.Settle = 0
	case "fault/starting":
		w.Waits = w.Waits[:1]
	case "fault/interference":
		w.Conflicts = 1
	case "fault/failing":
		w.Waits = make([]time.Duration, 40)
	}
	return nil, nil
}

// hasty returns the Vault without its wait when that is the fault.
func (w *wrong) hasty(fault string) *egressvault.Vault {
	if w.fault != fault {
		return w.Vault
	}
	v := *w.Vault
	v.Settle = 0
	return &v
}

// bent is an error as the fault makes it.
func (w *wrong) bent(err error) error {
	e, ok := err.(*abi.Error) //nolint:errorlint // egressvault wraps none
	if !ok {
		return err
	}
	switch {
	case w.fault == "match/refused" && e.Code == abi.CodeInvalid:
		return nil
	case w.fault == "fault/no-proxy":
		e.Details = nil
	case w.fault == "fault/refused":
		e.Message = "refused"
	case w.fault == "fault/plain":
		e.Code = abi.CodeInternal
	}
	return e
}

// instead asks for what the fault sets in the place of what was asked for.
func (w *wrong) instead(req *abi.BrokerSetRequest) {
	b := &req.Binding
	switch w.fault {
	case "set/binds":
		b.Hosts = append(b.Hosts, "*."+b.Hosts[0])
	case "set/names":
		req.Name = ascii(req.Name)
	case "match/kinds":
		if b.Auth == abi.AuthBasic {
			b.Auth = abi.AuthBearer
		}
	case "match/others":
		for i := range b.Headers {
			b.Headers[i].Credential = ""
		}
	case "match/paths":
		b.Paths = nil
	case "match/rest":
		b.Methods = nil
	}
}

// ascii drops what is not plain.
func ascii(text string) string {
	var out []byte
	for _, c := range []byte(text) {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' {
			out = append(out, c)
		}
	}
	return "name-" + string(out)
}

// SetCredential binds, wrongly.
func (w *wrong) SetCredential(req *abi.BrokerSetRequest) error {
	w.instead(req)
	if w.first[req.Name] == "" {
		w.first[strings.Clone(req.Name)] = strings.Clone(req.SandboxID)
	}
	w.mine[strings.Clone(req.Name)] = true
	switch w.fault {
	case "set/replaces":
		err := w.Vault.PatchCredential(&abi.BrokerPatchRequest{SandboxID: req.SandboxID, Name: req.Name, Egress: req.Egress, Value: req.Value})
		if err == nil {
			return nil
		}
	case "set/several", "set/concurrent":
		if _, err := alineo.Send(&abi.HTTPRequest{Endpoint: req.Egress, URL: egressvault.Path, Method: "DELETE"}); err != nil {
			return err
		}
	case "set/values":
		return w.raw(req)
	}
	return w.bent(w.Vault.SetCredential(req))
}

// raw puts the value into the document as it is.
func (w *wrong) raw(req *abi.BrokerSetRequest) error {
	reply, err := alineo.Send(&abi.HTTPRequest{
		Endpoint: req.Egress, URL: egressvault.Path, Method: "POST", Body: []abi.HTTPPart{
			alineo.Literal(`{"credentials":[{"name":"` + req.Name + `","source":{"type":"inline","value":"`), alineo.Secret(req.Value).Raw(),
			alineo.Literal(`"}}],"bindings":[]}`),
		},
	})
	if err != nil {
		return err
	}
	if reply.Status > 299 && reply.Status != 409 {
		return &abi.Error{Code: abi.CodeInvalid, Message: "the sidecar could not read it"}
	}
	return w.Vault.SetCredential(req)
}

// PatchCredential changes, wrongly.
func (w *wrong) PatchCredential(req *abi.BrokerPatchRequest) error {
	rebinds := len(req.Binding.Hosts) > 0
	switch {
	case w.fault == "patch/value" && !rebinds, w.fault == "patch/binding" && req.Value == 0:
		return nil
	case w.fault == "patch/both" && rebinds:
		req.Value = 0
	case w.fault == "set/stateless" && !w.mine[req.Name]:
		return &abi.Error{Code: abi.CodeNotFound, Message: "this instance does not know it"}
	}
	err := w.hasty("patch/live").PatchCredential(req)
	if e, ok := err.(*abi.Error); ok && e.Code == abi.CodeNotFound && w.fault == "patch/unbound" { //nolint:errorlint // as above
		return w.Vault.SetCredential(&abi.BrokerSetRequest{SandboxID: req.SandboxID, Name: req.Name, Egress: req.Egress, Value: req.Value, Binding: req.Binding})
	}
	return err
}

// RemoveCredential unbinds, wrongly.
func (w *wrong) RemoveCredential(req *abi.BrokerRemoveRequest) error {
	switch w.fault {
	case "remove/ends":
		return nil
	case "set/apart":
		if w.first[req.Name] != req.SandboxID {
			return nil
		}
	case "set/names":
		req.Name = ascii(req.Name)
	case "remove/unknown":
		list, err := w.Vault.ListBindings(&abi.BrokerListRequest{SandboxID: req.SandboxID, Egress: req.Egress})
		if err != nil {
			return err
		}
		for i := range list.Bindings {
			if list.Bindings[i].Name == req.Name {
				return w.Vault.RemoveCredential(req)
			}
		}
		return &abi.Error{Code: abi.CodeNotFound, Message: "it is not bound"}
	case "remove/others":
		_, err := alineo.Send(&abi.HTTPRequest{Endpoint: req.Egress, URL: egressvault.Path, Method: "DELETE"})
		return err
	}
	return w.hasty("remove/live").RemoveCredential(req)
}

// ListBindings lists, wrongly.
func (w *wrong) ListBindings(req *abi.BrokerListRequest) (*abi.BrokerListReply, error) {
	reply, err := w.Vault.ListBindings(req)
	switch {
	case w.fault == "fault/garbage" && err != nil:
		return nil, nil //nolint:nilerr // that is the fault
	case err != nil:
		return nil, err
	case w.fault == "list/empty" && len(reply.Bindings) == 0:
		return nil, &abi.Error{Code: abi.CodeNotFound, Message: "nothing is bound"}
	case w.fault == "list/whole":
		for i := range reply.Bindings {
			reply.Bindings[i].Binding.Paths = nil
		}
	case w.fault == "list/order":
		for i, j := 0, len(reply.Bindings)-1; i < j; i, j = i+1, j-1 {
			reply.Bindings[i], reply.Bindings[j] = reply.Bindings[j], reply.Bindings[i]
		}
	}
	return reply, nil
}

// ResolveCredential finds, wrongly. What is right is secret:NAME.
func (w *wrong) ResolveCredential(req *abi.BrokerResolveRequest) (*abi.BrokerResolveReply, error) {
	const prefix = "secret:"
	name := req.Source.Ref
	if len(name) < len(prefix) || name[:len(prefix)] != prefix || name == prefix {
		if w.fault != "resolve/unknown" {
			return nil, &abi.Error{Code: abi.CodeNotFound, Message: "there is no such reference"}
		}
		name = prefix + "one"
	}
	name = name[len(prefix):]
	switch w.fault {
	case "resolve/known":
		name = "one" // whatever was asked for
	case "resolve/rotated":
		if kept, err := alineo.KeptSecret(name); err == nil {
			return &abi.BrokerResolveReply{Value: uint64(kept.Secret)}, nil
		}
	}
	value, _, err := alineo.GrantedSecret(name)
	if err != nil {
		return nil, err
	}
	if err := alineo.KeepSecret(name, value, 0, nil); err != nil {
		return nil, err
	}
	return &abi.BrokerResolveReply{Value: uint64(value)}, nil
}
