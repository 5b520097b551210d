package main

import (
	"strings"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
	"github.com/alineo-labs/alineo-host/sdk/go/egressvault"
)

func main() {} // the host calls exports, never main

func init() {
	alineo.Serve(alineo.Plugin{
		Manifest: abi.Manifest{
			Name: "broker-static", Version: "1.0.0",
			Capabilities: []abi.Want{{Name: "secret", Reason: "gives them to sandboxes as credentials", Optional: true}},
		},
		Broker:   egressvault.New(), // puts credentials where the sandbox's requests leave
		Resolver: static{},          // finds their values
	})
}

// static finds values among the secrets that the operator granted: the reference static:NAME leads to the
// secret NAME. It gets handles, and never sees a value.
type static struct{}

// ResolveCredential finds the value that a credential's source names.
func (static) ResolveCredential(req *abi.BrokerResolveRequest) (*abi.BrokerResolveReply, error) {
	name, ok := strings.CutPrefix(req.Source.Ref, "static:")
	if !ok {
		return nil, &abi.Error{Code: abi.CodeNotFound, Message: "this broker knows references of the form static:NAME"}
	}
	value, _, err := alineo.GrantedSecret(name) // read from its file each time, so that it can be rotated
	if err != nil {
		return nil, err
	}
	return &abi.BrokerResolveReply{Value: uint64(value)}, nil
}
