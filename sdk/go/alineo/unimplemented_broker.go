package alineo

import "github.com/alineo-labs/alineo-host/abi"

// SetCredential answers unsupported.
func (Unimplemented) SetCredential(*abi.BrokerSetRequest) error { return missing(abi.OpBrokerSet) }

// PatchCredential answers unsupported.
func (Unimplemented) PatchCredential(*abi.BrokerPatchRequest) error {
	return missing(abi.OpBrokerPatch)
}

// RemoveCredential answers unsupported.
func (Unimplemented) RemoveCredential(*abi.BrokerRemoveRequest) error {
	return missing(abi.OpBrokerRemove)
}

// ListBindings answers unsupported.
func (Unimplemented) ListBindings(*abi.BrokerListRequest) (*abi.BrokerListReply, error) {
	return nil, missing(abi.OpBrokerListBindings)
}

// ResolveCredential answers unsupported.
func (Unimplemented) ResolveCredential(*abi.BrokerResolveRequest) (*abi.BrokerResolveReply, error) {
	return nil, missing(abi.OpBrokerResolve)
}
