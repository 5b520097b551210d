package abi

import "strconv"

// Symbols of version 1. They exist once, here; ABI.md lists their exact signatures.
const (
	// HostModule is the module name of every host import.
	HostModule = "alineo_v1"
	// ImportCall, ImportTake and ImportLog are the host's three functions.
	ImportCall = "call"
	ImportTake = "take"
	ImportLog  = "log"
	// ExportMarker says which version a guest speaks. It is never called.
	ExportMarker = "alineo_abi_v1"
	// ExportBuffer and ExportCall are the guest's two entry points.
	ExportBuffer = "alineo_buffer"
	ExportCall   = "alineo_call"
	// ExportInitialize is run once after instantiation when a toolchain makes one.
	ExportInitialize = "_initialize"
	// ExportMemory is the guest's linear memory.
	ExportMemory = "memory"
)

// Op names an operation: of alineo_call (host to guest) below 0x1000, of the host function call
// (guest to host) from 0x1000 on.
type Op uint32

// Operations of a guest, by group. Numbers are frozen; gaps between groups are reserved for them.
const (
	OpDescribe  Op = 0x01
	OpConfigure Op = 0x02
	OpClose     Op = 0x03
	OpHealth    Op = 0x04
	OpEcho      Op = 0x05

	OpLedgerOpen            Op = 0x10
	OpLedgerAppend          Op = 0x11
	OpLedgerRead            Op = 0x12
	OpLedgerLastCheckpoint  Op = 0x13
	OpLedgerListCheckpoints Op = 0x14
	OpLedgerListSandboxes   Op = 0x15
	OpLedgerGetSandbox      Op = 0x16
	OpLedgerFindSandbox     Op = 0x17
	OpLedgerDeleteSandbox   Op = 0x18
	OpLedgerListHeads       Op = 0x19
	OpLedgerListSegments    Op = 0x1a
	OpLedgerListTombstones  Op = 0x1b
	OpLedgerUsage           Op = 0x1c
	OpLedgerStats           Op = 0x1d

	OpEnvironmentGet    Op = 0x20
	OpEnvironmentSave   Op = 0x21
	OpEnvironmentDelete Op = 0x22
	OpEnvironmentList   Op = 0x23

	OpInstancesGet      Op = 0x30
	OpInstancesPut      Op = 0x31
	OpInstancesDelete   Op = 0x32
	OpInstancesPutIf    Op = 0x33
	OpInstancesDeleteIf Op = 0x34
	OpInstancesList     Op = 0x35

	OpRunsCreateOrGet     Op = 0x40
	OpRunsPatch           Op = 0x41
	OpRunsGet             Op = 0x42
	OpRunsFindActive      Op = 0x43
	OpRunsPatchIf         Op = 0x44
	OpRunsClaim           Op = 0x45
	OpRunsListByThread    Op = 0x46
	OpRunsList            Op = 0x47
	OpRunsListReclaimable Op = 0x48
	OpRunsCountBySandbox  Op = 0x49
	OpRunsSecret          Op = 0x4a
	OpRunsDelete          Op = 0x4b

	OpLogAppend   Op = 0x50
	OpLogRead     Op = 0x51
	OpLogClose    Op = 0x52
	OpLogTruncate Op = 0x53

	OpLocksTryAcquire Op = 0x60
	OpLocksRenew      Op = 0x61
	OpLocksRelease    Op = 0x62

	OpBrokerSet          Op = 0x70
	OpBrokerPatch        Op = 0x71
	OpBrokerRemove       Op = 0x72
	OpBrokerListBindings Op = 0x73
	OpBrokerResolve      Op = 0x74
)

// Operations of the host, by capability.
const (
	OpSQLExec   Op = 0x1000
	OpBatchRead Op = 0x1010
	OpBatchCell Op = 0x1011

	OpHTTPSend Op = 0x1020

	OpSecretGet  Op = 0x1030
	OpSecretKeep Op = 0x1031
)

var opNames = [...]struct {
	op   Op
	name string
}{
	{OpDescribe, "describe"},
	{OpConfigure, "configure"},
	{OpClose, "close"},
	{OpHealth, "health"},
	{OpEcho, "echo"},
	{OpLedgerOpen, "ledger.open"},
	{OpLedgerAppend, "ledger.append"},
	{OpLedgerRead, "ledger.read"},
	{OpLedgerLastCheckpoint, "ledger.last_checkpoint"},
	{OpLedgerListCheckpoints, "ledger.list_checkpoints"},
	{OpLedgerListSandboxes, "ledger.list_sandboxes"},
	{OpLedgerGetSandbox, "ledger.get_sandbox"},
	{OpLedgerFindSandbox, "ledger.find_sandbox"},
	{OpLedgerDeleteSandbox, "ledger.delete_sandbox"},
	{OpLedgerListHeads, "ledger.list_heads"},
	{OpLedgerListSegments, "ledger.list_segments"},
	{OpLedgerListTombstones, "ledger.list_tombstones"},
	{OpLedgerUsage, "ledger.usage"},
	{OpLedgerStats, "ledger.stats"},
	{OpEnvironmentGet, "environment.get"},
	{OpEnvironmentSave, "environment.save"},
	{OpEnvironmentDelete, "environment.delete"},
	{OpEnvironmentList, "environment.list"},
	{OpInstancesGet, "instances.get"},
	{OpInstancesPut, "instances.put"},
	{OpInstancesDelete, "instances.delete"},
	{OpInstancesPutIf, "instances.put_if"},
	{OpInstancesDeleteIf, "instances.delete_if"},
	{OpInstancesList, "instances.list"},
	{OpRunsCreateOrGet, "runs.create_or_get"},
	{OpRunsPatch, "runs.patch"},
	{OpRunsGet, "runs.get"},
	{OpRunsFindActive, "runs.find_active"},
	{OpRunsPatchIf, "runs.patch_if"},
	{OpRunsClaim, "runs.claim"},
	{OpRunsListByThread, "runs.list_by_thread"},
	{OpRunsList, "runs.list"},
	{OpRunsListReclaimable, "runs.list_reclaimable"},
	{OpRunsCountBySandbox, "runs.count_by_sandbox"},
	{OpRunsSecret, "runs.secret"},
	{OpRunsDelete, "runs.delete"},
	{OpLogAppend, "log.append"},
	{OpLogRead, "log.read"},
	{OpLogClose, "log.close"},
	{OpLogTruncate, "log.truncate"},
	{OpLocksTryAcquire, "locks.try_acquire"},
	{OpLocksRenew, "locks.renew"},
	{OpLocksRelease, "locks.release"},
	{OpBrokerSet, "broker.set"},
	{OpBrokerPatch, "broker.patch"},
	{OpBrokerRemove, "broker.remove"},
	{OpBrokerListBindings, "broker.list_bindings"},
	{OpBrokerResolve, "broker.resolve"},
	{OpSQLExec, "sql.exec"},
	{OpBatchRead, "batch.read"},
	{OpBatchCell, "batch.cell"},
	{OpHTTPSend, "http.send"},
	{OpSecretGet, "secret.get"},
	{OpSecretKeep, "secret.keep"},
}

// String returns the operation's name in ABI.md, or its number in hex.
func (o Op) String() string {
	for i := range opNames {
		if e := &opNames[i]; e.op == o {
			return e.name
		}
	}
	return "0x" + strconv.FormatUint(uint64(o), 16)
}

// Optional says whether a guest that has an operation's group may lack the operation itself, and so
// names it in its manifest when it has it.
func (o Op) Optional() bool {
	switch {
	case o >= OpLedgerListHeads && o <= OpLedgerStats,
		o >= OpInstancesPutIf && o <= OpInstancesList,
		o >= OpRunsPatchIf && o <= OpRunsDelete,
		o == OpLogTruncate, o == OpBrokerResolve:
		return true
	default:
		return false
	}
}
