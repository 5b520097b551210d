package alineo

import "github.com/alineo-labs/alineo-host/abi"

// Kinds of a plugin that has one of the stores of durable runs, for Manifest.Kinds.
const (
	KindInstances = "instances"
	KindRuns      = "runs"
	KindLog       = "log"
	KindLocks     = "locks"
)

// Instances stores which sandbox of a provider belongs to a key. ABI.md says what each operation must do; what Ledger's
// comment says holds here too. Those behind the gap are optional, see Plugin.Optional.
type Instances interface {
	Get(req *abi.KeyRequest) (*abi.RowsReply, error)
	Put(req *abi.Instance) error
	Delete(req *abi.KeyRequest) error

	PutIf(req *abi.InstancePutIf) (*abi.Applied, error)
	DeleteIf(req *abi.InstanceDeleteIf) (*abi.Applied, error)
	List(req *abi.InstanceListRequest) (*abi.RowsReply, error)
}

// Runs stores the record of each run. ABI.md says what each operation must do; what Ledger's
// comment says holds here too. Those behind the gap are optional, see Plugin.Optional.
type Runs interface {
	CreateOrGet(req *abi.RunCreate) (*abi.RunReply, error)
	Patch(req *abi.RunPatch) (*abi.RunReply, error)
	Get(req *abi.KeyRequest) (*abi.RowsReply, error)
	FindActive(req *abi.KeyRequest) (*abi.RowsReply, error)

	PatchIf(req *abi.RunPatch) (*abi.RunReply, error)
	Claim(req *abi.KeyRequest) (*abi.RunReply, error)
	ListByThread(req *abi.RunListRequest) (*abi.RowsReply, error)
	List(req *abi.RunListRequest) (*abi.RowsReply, error)
	ListReclaimable(req *abi.ReclaimRequest) (*abi.RowsReply, error)
	CountBySandbox(req *abi.SandboxCountRequest) (*abi.Count, error)
	Secret(req *abi.KeyRequest) (*abi.RunSecret, error)
	Delete(req *abi.KeyRequest) (*abi.RunReply, error)
}

// RunLog stores the log of each run. ABI.md says what each operation must do; what Ledger's
// comment says holds here too. Those behind the gap are optional, see Plugin.Optional.
type RunLog interface {
	Append(req *abi.LogAppendRequest) (*abi.LogTail, error)
	Read(req *abi.LogReadRequest) (*abi.LogPage, error)
	Close(req *abi.KeyRequest) error

	Truncate(req *abi.KeyRequest) (*abi.DeleteReply, error)
}

// Locks stores leases on keys. ABI.md says what each operation must do; what Ledger's
// comment says holds here too.
type Locks interface {
	TryAcquire(req *abi.LockRequest) (*abi.LockReply, error)
	Renew(req *abi.LeaseRequest) (*abi.Applied, error)
	Release(req *abi.LeaseRequest) (*abi.Applied, error)
}
