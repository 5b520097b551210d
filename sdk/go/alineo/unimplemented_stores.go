package alineo

import "github.com/alineo-labs/alineo-host/abi"

var (
	_ Instances = UnimplementedInstances{}
	_ Runs      = UnimplementedRuns{}
	_ RunLog    = UnimplementedRunLog{}
	_ Locks     = UnimplementedLocks{}
)

// UnimplementedInstances is a Instances that has no operation, to be embedded.
type UnimplementedInstances struct{}

// Get answers unsupported.
func (UnimplementedInstances) Get(*abi.KeyRequest) (*abi.RowsReply, error) {
	return nil, missing(abi.OpInstancesGet)
}

// Put answers unsupported.
func (UnimplementedInstances) Put(*abi.Instance) error {
	return missing(abi.OpInstancesPut)
}

// Delete answers unsupported.
func (UnimplementedInstances) Delete(*abi.KeyRequest) error {
	return missing(abi.OpInstancesDelete)
}

// PutIf answers unsupported.
func (UnimplementedInstances) PutIf(*abi.InstancePutIf) (*abi.Applied, error) {
	return nil, missing(abi.OpInstancesPutIf)
}

// DeleteIf answers unsupported.
func (UnimplementedInstances) DeleteIf(*abi.InstanceDeleteIf) (*abi.Applied, error) {
	return nil, missing(abi.OpInstancesDeleteIf)
}

// List answers unsupported.
func (UnimplementedInstances) List(*abi.InstanceListRequest) (*abi.RowsReply, error) {
	return nil, missing(abi.OpInstancesList)
}

// UnimplementedRuns is a Runs that has no operation, to be embedded.
type UnimplementedRuns struct{}

// CreateOrGet answers unsupported.
func (UnimplementedRuns) CreateOrGet(*abi.RunCreate) (*abi.RunReply, error) {
	return nil, missing(abi.OpRunsCreateOrGet)
}

// Patch answers unsupported.
func (UnimplementedRuns) Patch(*abi.RunPatch) (*abi.RunReply, error) {
	return nil, missing(abi.OpRunsPatch)
}

// Get answers unsupported.
func (UnimplementedRuns) Get(*abi.KeyRequest) (*abi.RowsReply, error) {
	return nil, missing(abi.OpRunsGet)
}

// FindActive answers unsupported.
func (UnimplementedRuns) FindActive(*abi.KeyRequest) (*abi.RowsReply, error) {
	return nil, missing(abi.OpRunsFindActive)
}

// PatchIf answers unsupported.
func (UnimplementedRuns) PatchIf(*abi.RunPatch) (*abi.RunReply, error) {
	return nil, missing(abi.OpRunsPatchIf)
}

// Claim answers unsupported.
func (UnimplementedRuns) Claim(*abi.KeyRequest) (*abi.RunReply, error) {
	return nil, missing(abi.OpRunsClaim)
}

// ListByThread answers unsupported.
func (UnimplementedRuns) ListByThread(*abi.RunListRequest) (*abi.RowsReply, error) {
	return nil, missing(abi.OpRunsListByThread)
}

// List answers unsupported.
func (UnimplementedRuns) List(*abi.RunListRequest) (*abi.RowsReply, error) {
	return nil, missing(abi.OpRunsList)
}

// ListReclaimable answers unsupported.
func (UnimplementedRuns) ListReclaimable(*abi.ReclaimRequest) (*abi.RowsReply, error) {
	return nil, missing(abi.OpRunsListReclaimable)
}

// CountBySandbox answers unsupported.
func (UnimplementedRuns) CountBySandbox(*abi.SandboxCountRequest) (*abi.Count, error) {
	return nil, missing(abi.OpRunsCountBySandbox)
}

// Secret answers unsupported.
func (UnimplementedRuns) Secret(*abi.KeyRequest) (*abi.RunSecret, error) {
	return nil, missing(abi.OpRunsSecret)
}

// Delete answers unsupported.
func (UnimplementedRuns) Delete(*abi.KeyRequest) (*abi.RunReply, error) {
	return nil, missing(abi.OpRunsDelete)
}

// UnimplementedRunLog is a RunLog that has no operation, to be embedded.
type UnimplementedRunLog struct{}

// Append answers unsupported.
func (UnimplementedRunLog) Append(*abi.LogAppendRequest) (*abi.LogTail, error) {
	return nil, missing(abi.OpLogAppend)
}

// Read answers unsupported.
func (UnimplementedRunLog) Read(*abi.LogReadRequest) (*abi.LogPage, error) {
	return nil, missing(abi.OpLogRead)
}

// Close answers unsupported.
func (UnimplementedRunLog) Close(*abi.KeyRequest) error {
	return missing(abi.OpLogClose)
}

// Truncate answers unsupported.
func (UnimplementedRunLog) Truncate(*abi.KeyRequest) (*abi.DeleteReply, error) {
	return nil, missing(abi.OpLogTruncate)
}

// UnimplementedLocks is a Locks that has no operation, to be embedded.
type UnimplementedLocks struct{}

// TryAcquire answers unsupported.
func (UnimplementedLocks) TryAcquire(*abi.LockRequest) (*abi.LockReply, error) {
	return nil, missing(abi.OpLocksTryAcquire)
}

// Renew answers unsupported.
func (UnimplementedLocks) Renew(*abi.LeaseRequest) (*abi.Applied, error) {
	return nil, missing(abi.OpLocksRenew)
}

// Release answers unsupported.
func (UnimplementedLocks) Release(*abi.LeaseRequest) (*abi.Applied, error) {
	return nil, missing(abi.OpLocksRelease)
}
