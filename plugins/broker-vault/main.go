package main

import (
	"strings"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
	"github.com/alineo-labs/alineo-host/sdk/go/egressvault"
)

func main() {}

func init() {
	b := &broker{Vault: egressvault.New()}
	alineo.Serve(alineo.Plugin{
		Manifest: abi.Manifest{
			Name: "broker-vault", Version: "1.0.0", ConfigSchema: schema,
			Capabilities: []abi.Want{
				{Name: "http", Reason: "asks the Vault or OpenBao that config.vault names for values", Optional: true},
				{Name: "secret", Reason: "logs in there, and gives credentials of the kind secret:NAME", Optional: true},
			},
		},
		Configure: b.configure, Health: b.health, Broker: b, Resolver: b,
	})
}

// broker is one instance.
type broker struct {
	*egressvault.Vault
	keeper *keeper // nil: no Vault is configured
}

// ResolveCredential finds a value.
func (b *broker) ResolveCredential(req *abi.BrokerResolveRequest) (*abi.BrokerResolveReply, error) {
	if req.Source.Type != "" && req.Source.Type != abi.SourceExternal {
		return nil, unknown(req.Source)
	}
	kind, rest, _ := strings.Cut(req.Source.Ref, ":")
	switch kind {
	case "secret":
		value, _, err := alineo.GrantedSecret(rest)
		if err != nil {
			return nil, err
		}
		return &abi.BrokerResolveReply{Value: uint64(value)}, nil
	case "vault":
		if b.keeper == nil {
			return nil, fail(abi.CodeInvalid, "the reference "+req.Source.Ref+" is one of a Vault, and there is no [plugins.broker-vault.config.vault]")
		}
		ref, err := parseReference(rest)
		if err != nil {
			return nil, err
		}
		return b.keeper.value(ref)
	}
	return nil, unknown(req.Source)
}

func unknown(source abi.Source) error {
	return fail(abi.CodeNotFound, "the reference \""+source.Ref+"\" is none that this broker knows (secret:NAME, or vault:MOUNT/PATH#KEY)")
}

// health says which Vault values come from. It asks for nothing but, when it is time, a renewal, and a Vault
// that is gone keeps nobody from delivering.
func (b *broker) health() (string, error) {
	if b.keeper == nil {
		return "delivers to egress sidecars; no Vault is configured", nil
	}
	b.keeper.refresh()
	return "delivers to egress sidecars; values come from " + b.keeper.address, nil
}

func fail(code abi.Code, message string) *abi.Error {
	return &abi.Error{Code: code, Message: message, Retryable: code == abi.CodeUnavailable || code == abi.CodeResourceExhausted}
}
