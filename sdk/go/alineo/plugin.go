package alineo

import "github.com/alineo-labs/alineo-host/abi"

// Plugin is what a guest is made of. Parts that are nil answer CodeUnsupported.
type Plugin struct {
	Manifest abi.Manifest
	// Configure gets [plugins.NAME.config] as a JSON object, once, before anything else. Nil accepts
	// any configuration.
	Configure func(req *abi.ConfigureRequest) (*abi.ConfigureReply, error)
	// Health says how the plugin is. Nil says nothing.
	Health func() (string, error)
	// Close is called before the host lets an instance go that did not fail. Nil does nothing.
	Close func() error
	// Ledger is the plugin's ledger, when its manifest has the kind "ledger".
	Ledger Ledger
}

// Ledger is the group of operations of a ledger; ABI.md says what each must do. A plugin answers
// pages by handle (RowsReply.Rows) or as a table (RowsReply.Table).
type Ledger interface {
	Open(req *abi.LedgerOpenRequest) (*abi.Head, error)
	Append(req *abi.LedgerAppendRequest) (*abi.LedgerAppendReply, error)
	Read(req *abi.LedgerReadRequest) (*abi.RowsReply, error)
	LastCheckpoint(req *abi.LastCheckpointRequest) (*abi.RowsReply, error)
	ListCheckpoints(req *abi.SandboxRequest) (*abi.RowsReply, error)
	ListSandboxes(req *abi.ListSandboxesRequest) (*abi.RowsReply, error)
	GetSandbox(req *abi.SandboxRequest) (*abi.RowsReply, error)
	FindSandbox(req *abi.FindSandboxRequest) (*abi.RowsReply, error)
	DeleteSandbox(req *abi.SandboxRequest) (*abi.DeleteReply, error)

	GetEnvironment(req *abi.EnvironmentRequest) (*abi.Environment, error)
	SaveEnvironment(env *abi.Environment) error
	DeleteEnvironment(req *abi.EnvironmentRequest) error
	ListEnvironments() (*abi.RowsReply, error)
}

// served is the plugin of this module. A guest is one plugin in a memory of its own.
var served Plugin

// Serve hands the plugin over. It is called once, from init.
func Serve(p Plugin) { served = p }
