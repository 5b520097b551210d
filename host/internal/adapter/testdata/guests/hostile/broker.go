package main

import (
	"strings"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// SetCredential does nothing, or answers as the mode says. Modes of a broker begin with "broker-".
func (l *ledger) SetCredential(req *abi.BrokerSetRequest) error {
	switch l.mode {
	case "broker-code":
		return &abi.Error{Code: 4711, Message: "no such code"}
	case "broker-text":
		return &abi.Error{Code: abi.CodeInvalid, Message: "\x1b]0;owned\x07" + strings.Repeat("x", 1<<20)}
	case "broker-spin":
		spin(1 << 40)
	case "broker-exit":
		exit(3)
	case "broker-elsewhere": // where it was never granted to send the value
		_, err := alineo.Send(&abi.HTTPRequest{URL: "http://169.254.169.254/", Body: []abi.HTTPPart{alineo.Secret(req.Value).Raw()}})
		return err
	case "broker-header": // that the endpoint's own must win over
		reply, err := alineo.Send(&abi.HTTPRequest{
			Endpoint: req.Egress, URL: "/credential-vault", Headers: []abi.HTTPHeader{alineo.Header("OpenSandbox-Egress-Auth", "guessed")},
		})
		if err == nil && reply.Status == 401 {
			return &abi.Error{Code: abi.CodeDenied, Message: "its own header won"}
		}
		return err
	case "broker-steal": // what another call left
		_, err := alineo.Send(&abi.HTTPRequest{Endpoint: req.Egress, URL: "/credential-vault", Body: []abi.HTTPPart{alineo.Secret(req.Value + 1).Raw()}})
		return err
	}
	return nil
}

// PatchCredential and RemoveCredential do nothing.
func (l *ledger) PatchCredential(*abi.BrokerPatchRequest) error { return nil }

// RemoveCredential does nothing.
func (l *ledger) RemoveCredential(*abi.BrokerRemoveRequest) error { return nil }

// ListBindings lists what the mode says.
func (l *ledger) ListBindings(*abi.BrokerListRequest) (*abi.BrokerListReply, error) {
	good := abi.NamedBinding{Name: "a", Binding: abi.Binding{Hosts: []string{"a.example"}, Auth: abi.AuthBearer}}
	reply := &abi.BrokerListReply{Bindings: []abi.NamedBinding{good}}
	bad := &reply.Bindings[0]
	switch l.mode {
	case "broker-many":
		for len(reply.Bindings) < 2000 {
			reply.Bindings = append(reply.Bindings, good)
		}
	case "broker-twice":
		reply.Bindings = append(reply.Bindings, good)
	case "broker-name":
		bad.Name = "a\nb"
	case "broker-host":
		bad.Binding.Hosts = []string{"https://a.example/x"}
	case "broker-port":
		bad.Binding.Ports = []uint64{1 << 40}
	case "broker-auth":
		bad.Binding.Auth = "magic"
	case "broker-places":
		bad.Binding.Auth, bad.Binding.Substitutions = abi.AuthPassthrough, make([]abi.Substitution, 2)
	}
	return reply, nil
}

// ResolveCredential answers with a secret that it does not hold, unless the mode says otherwise.
func (l *ledger) ResolveCredential(*abi.BrokerResolveRequest) (*abi.BrokerResolveReply, error) {
	if l.mode == "broker-none" {
		return nil, nil
	}
	return &abi.BrokerResolveReply{Value: 7, ExpiresMS: 1<<64 - 1}, nil
}
