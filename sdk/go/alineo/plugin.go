package alineo

import (
	"slices"

	"github.com/alineo-labs/alineo-host/abi"
)

// Plugin is what a guest is: its manifest and what it can do. What is nil the guest does not have;
// the host is answered "unsupported".
type Plugin struct {
	// Manifest is the answer to describe. Serve adds the kinds of what is set below.
	Manifest abi.Manifest
	// Configure is called once before anything else, with [plugins.NAME.config] as a JSON object. The
	// reply's diagnostics refuse the configuration key by key. Nil accepts anything.
	Configure func(req *abi.ConfigureRequest) (*abi.ConfigureReply, error)
	// Health reports in a sentence how the guest is; an error says that it is not well.
	Health func() (string, error)
	// Close releases what the guest holds outside. No call follows it.
	Close func() error
	// Ledger makes the guest one of kind "ledger".
	Ledger Ledger
	// Maintenance is what the ledger offers those who operate it. Serve declares its operations as
	// optional ones that the guest has.
	Maintenance Maintenance
	// Instances, Runs, RunLog and Locks make the guest one of these kinds: they are what durable runs are
	// kept in.
	Instances Instances
	Runs      Runs
	RunLog    RunLog
	Locks     Locks
	// Optional are those of their optional operations that the plugin has. Any other is answered
	// "unsupported", whatever its method does.
	Optional []abi.Op
	// Broker makes the guest one of kind "broker".
	Broker Broker
	// Resolver finds values for the broker's credentials. Serve declares it as an optional operation that
	// the guest has.
	Resolver Resolver
}

// Ledger stores entries. ABI.md says what each operation must do; every method answers one
// operation of its name, one call at a time. Requests are views that end with the call: clone what
// has to stay. A page is answered as a handle (RowsReply.Rows) or as a table (RowsReply.Table). An
// error that is or wraps an *abi.Error crosses as that
// error, any other as code internal. A nil reply without an error is the empty message.
type Ledger interface {
	Open(req *abi.LedgerOpenRequest) (*abi.Head, error)
	Append(req *abi.LedgerAppendRequest) (*abi.LedgerAppendReply, error)
	Read(req *abi.LedgerReadRequest) (*abi.RowsReply, error)
	LastCheckpoint(req *abi.LastCheckpointRequest) (*abi.RowsReply, error)
	ListCheckpoints(req *abi.SandboxPageRequest) (*abi.RowsReply, error)
	ListSandboxes(req *abi.ListSandboxesRequest) (*abi.RowsReply, error)
	GetSandbox(req *abi.SandboxRequest) (*abi.RowsReply, error)
	FindSandbox(req *abi.FindSandboxRequest) (*abi.RowsReply, error)
	DeleteSandbox(req *abi.SandboxRequest) (*abi.DeleteReply, error)

	Environments
}

// Maintenance lists what a ledger keeps beside its entries, and sums it up. A ledger need not have it.
type Maintenance interface {
	ListHeads(req *abi.PageRequest) (*abi.RowsReply, error)
	ListSegments(req *abi.SandboxPageRequest) (*abi.RowsReply, error)
	ListTombstones(req *abi.PageRequest) (*abi.RowsReply, error)
	Usage(req *abi.SandboxRequest) (*abi.Usage, error)
	Stats() (*abi.Stats, error)
}

// Environments stores prebuilt snapshots by name.
type Environments interface {
	GetEnvironment(req *abi.EnvironmentRequest) (*abi.Environment, error)
	SaveEnvironment(env *abi.Environment) error
	DeleteEnvironment(req *abi.EnvironmentRequest) error
	ListEnvironments() (*abi.RowsReply, error)
}

// Broker hands credentials to where the requests of a sandbox leave it. Values
// are secret handles: put them into requests with [Send], the guest never sees them. What is said of
// [Ledger] about requests, errors and replies is so here too.
type Broker interface {
	SetCredential(req *abi.BrokerSetRequest) error
	PatchCredential(req *abi.BrokerPatchRequest) error
	RemoveCredential(req *abi.BrokerRemoveRequest) error
	ListBindings(req *abi.BrokerListRequest) (*abi.BrokerListReply, error)
}

// Resolver finds the values of credentials where their sources say. A broker need not have it.
type Resolver interface {
	ResolveCredential(req *abi.BrokerResolveRequest) (*abi.BrokerResolveReply, error)
}

// Kinds of plugins, for Manifest.Kinds: that of one that has a Ledger, and of one that has a Broker.
const (
	KindLedger = "ledger"
	KindBroker = "broker"
)

// Serve makes p what this guest is. Call it once, from init: the host runs a guest's init functions
// before its first call, and never its main.
func Serve(p Plugin) {
	if p.Ledger != nil {
		p.Manifest.Kinds = with(p.Manifest.Kinds, KindLedger)
	}
	if p.Broker != nil {
		p.Manifest.Kinds = with(p.Manifest.Kinds, KindBroker)
	}
	if p.Resolver != nil {
		p.Manifest.Optional = with(p.Manifest.Optional, abi.OpBrokerResolve.String())
	}
	if p.Maintenance != nil {
		for op := abi.OpLedgerListHeads; op <= abi.OpLedgerStats; op++ {
			p.Manifest.Optional = with(p.Manifest.Optional, op.String())
		}
	}
	for _, store := range [...]struct {
		kind string
		has  bool
	}{{KindInstances, p.Instances != nil}, {KindRuns, p.Runs != nil}, {KindLog, p.RunLog != nil}, {KindLocks, p.Locks != nil}} {
		if store.has {
			p.Manifest.Kinds = with(p.Manifest.Kinds, store.kind)
		}
	}
	for _, op := range p.Optional {
		p.Manifest.Optional = with(p.Manifest.Optional, op.String())
	}
	guest.plugin, guest.served = p, true
}

func with(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(slices.Clip(names), name)
}
