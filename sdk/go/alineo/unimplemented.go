package alineo

import "github.com/alineo-labs/alineo-host/abi"

// Unimplemented is a Ledger, a Maintenance, a Broker and a Resolver that has no operation. Embed it to write a plugin step by step, or one
// whose store lacks some.
type Unimplemented struct{}

var (
	_ Ledger      = Unimplemented{}
	_ Maintenance = Unimplemented{}
	_ Broker      = Unimplemented{}
	_ Resolver    = Unimplemented{}
)

func missing(op abi.Op) error {
	return &abi.Error{Code: abi.CodeUnsupported, Message: "this plugin has no operation " + op.String()}
}

// Open answers unsupported.
func (Unimplemented) Open(*abi.LedgerOpenRequest) (*abi.Head, error) {
	return nil, missing(abi.OpLedgerOpen)
}

// Append answers unsupported.
func (Unimplemented) Append(*abi.LedgerAppendRequest) (*abi.LedgerAppendReply, error) {
	return nil, missing(abi.OpLedgerAppend)
}

// Read answers unsupported.
func (Unimplemented) Read(*abi.LedgerReadRequest) (*abi.RowsReply, error) {
	return nil, missing(abi.OpLedgerRead)
}

// LastCheckpoint answers unsupported.
func (Unimplemented) LastCheckpoint(*abi.LastCheckpointRequest) (*abi.RowsReply, error) {
	return nil, missing(abi.OpLedgerLastCheckpoint)
}

// ListCheckpoints answers unsupported.
func (Unimplemented) ListCheckpoints(*abi.SandboxPageRequest) (*abi.RowsReply, error) {
	return nil, missing(abi.OpLedgerListCheckpoints)
}

// ListSandboxes answers unsupported.
func (Unimplemented) ListSandboxes(*abi.ListSandboxesRequest) (*abi.RowsReply, error) {
	return nil, missing(abi.OpLedgerListSandboxes)
}

// GetSandbox answers unsupported.
func (Unimplemented) GetSandbox(*abi.SandboxRequest) (*abi.RowsReply, error) {
	return nil, missing(abi.OpLedgerGetSandbox)
}

// FindSandbox answers unsupported.
func (Unimplemented) FindSandbox(*abi.FindSandboxRequest) (*abi.RowsReply, error) {
	return nil, missing(abi.OpLedgerFindSandbox)
}

// DeleteSandbox answers unsupported.
func (Unimplemented) DeleteSandbox(*abi.SandboxRequest) (*abi.DeleteReply, error) {
	return nil, missing(abi.OpLedgerDeleteSandbox)
}

// ListHeads answers unsupported.
func (Unimplemented) ListHeads(*abi.PageRequest) (*abi.RowsReply, error) {
	return nil, missing(abi.OpLedgerListHeads)
}

// ListSegments answers unsupported.
func (Unimplemented) ListSegments(*abi.SandboxPageRequest) (*abi.RowsReply, error) {
	return nil, missing(abi.OpLedgerListSegments)
}

// ListTombstones answers unsupported.
func (Unimplemented) ListTombstones(*abi.PageRequest) (*abi.RowsReply, error) {
	return nil, missing(abi.OpLedgerListTombstones)
}

// Usage answers unsupported.
func (Unimplemented) Usage(*abi.SandboxRequest) (*abi.Usage, error) {
	return nil, missing(abi.OpLedgerUsage)
}

// Stats answers unsupported.
func (Unimplemented) Stats() (*abi.Stats, error) {
	return nil, missing(abi.OpLedgerStats)
}

// GetEnvironment answers unsupported.
func (Unimplemented) GetEnvironment(*abi.EnvironmentRequest) (*abi.Environment, error) {
	return nil, missing(abi.OpEnvironmentGet)
}

// SaveEnvironment answers unsupported.
func (Unimplemented) SaveEnvironment(*abi.Environment) error {
	return missing(abi.OpEnvironmentSave)
}

// DeleteEnvironment answers unsupported.
func (Unimplemented) DeleteEnvironment(*abi.EnvironmentRequest) error {
	return missing(abi.OpEnvironmentDelete)
}

// ListEnvironments answers unsupported.
func (Unimplemented) ListEnvironments() (*abi.RowsReply, error) {
	return nil, missing(abi.OpEnvironmentList)
}
