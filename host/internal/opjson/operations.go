package opjson

import (
	"reflect"

	"github.com/alineo-labs/alineo-host/abi"
)

// Operation is one operation of a guest.
type Operation struct {
	Op abi.Op

	request, reply func() abi.Message // nil: the message without fields
	page           string             // the columns of the rows that it answers with
}

// Name is the operation's name in the manual.
func (o Operation) Name() string { return o.Op.String() }

// NewReply returns what the guest's reply is to be read into, nil when there is nothing in it.
func (o Operation) NewReply() abi.Message {
	if o.reply == nil {
		return nil
	}
	return o.reply()
}

// MessageNames are the names of the request and reply in package abi: "Empty" for those without fields, "any
// bytes" for those that are no message.
func (o Operation) MessageNames() (request, reply string) {
	name := func(message func() abi.Message) string {
		if message == nil {
			return "Empty"
		}
		if t := reflect.TypeOf(message()).Elem(); t != reflect.TypeFor[bytesMessage]() {
			return t.Name()
		}
		return "any bytes"
	}
	return name(o.request), name(o.reply)
}

// of makes a message of a type.
func of[T any, P interface {
	*T
	abi.Message
}]() func() abi.Message {
	return func() abi.Message { return P(new(T)) }
}

// bytesMessage is a message that is its own wire form: that of echo.
type bytesMessage struct{ Bytes []byte }

// AppendTo appends the bytes.
func (b *bytesMessage) AppendTo(dst []byte) []byte { return append(dst, b.Bytes...) }

// Unmarshal takes the bytes.
func (b *bytesMessage) Unmarshal(src []byte) error {
	b.Bytes = src
	return nil
}

// Operations returns all operations of guests, in the order of their numbers.
func Operations() []Operation {
	rows := of[abi.RowsReply]()
	key := of[abi.KeyRequest]()
	sandbox := of[abi.SandboxRequest]()
	run := of[abi.RunReply]()
	return []Operation{
		{abi.OpDescribe, nil, of[abi.Manifest](), ""},
		{abi.OpConfigure, of[abi.ConfigureRequest](), of[abi.ConfigureReply](), ""},
		{abi.OpClose, nil, nil, ""},
		{abi.OpHealth, nil, of[abi.HealthReply](), ""},
		{abi.OpEcho, of[bytesMessage](), of[bytesMessage](), ""},
		{abi.OpLedgerOpen, of[abi.LedgerOpenRequest](), of[abi.Head](), ""},
		{abi.OpLedgerAppend, of[abi.LedgerAppendRequest](), of[abi.LedgerAppendReply](), ""},
		{abi.OpLedgerRead, of[abi.LedgerReadRequest](), rows, "Row"},
		{abi.OpLedgerLastCheckpoint, of[abi.LastCheckpointRequest](), rows, "Row"},
		{abi.OpLedgerListCheckpoints, of[abi.SandboxPageRequest](), rows, "Checkpoint"},
		{abi.OpLedgerListSandboxes, of[abi.ListSandboxesRequest](), rows, "Sandbox"},
		{abi.OpLedgerGetSandbox, sandbox, rows, "Sandbox"},
		{abi.OpLedgerFindSandbox, of[abi.FindSandboxRequest](), rows, "Sandbox"},
		{abi.OpLedgerDeleteSandbox, sandbox, of[abi.DeleteReply](), ""},
		{abi.OpLedgerListHeads, of[abi.PageRequest](), rows, "Head"},
		{abi.OpLedgerListSegments, of[abi.SandboxPageRequest](), rows, "Stored"},
		{abi.OpLedgerListTombstones, of[abi.PageRequest](), rows, "Tombstone"},
		{abi.OpLedgerUsage, sandbox, of[abi.Usage](), ""},
		{abi.OpLedgerStats, nil, of[abi.Stats](), ""},
		{abi.OpEnvironmentGet, of[abi.EnvironmentRequest](), of[abi.Environment](), ""},
		{abi.OpEnvironmentSave, of[abi.Environment](), nil, ""},
		{abi.OpEnvironmentDelete, of[abi.EnvironmentRequest](), nil, ""},
		{abi.OpEnvironmentList, nil, rows, "Environment"},
		{abi.OpInstancesGet, key, rows, "Instance"},
		{abi.OpInstancesPut, of[abi.Instance](), nil, ""},
		{abi.OpInstancesDelete, key, nil, ""},
		{abi.OpInstancesPutIf, of[abi.InstancePutIf](), of[abi.Applied](), ""},
		{abi.OpInstancesDeleteIf, of[abi.InstanceDeleteIf](), of[abi.Applied](), ""},
		{abi.OpInstancesList, of[abi.InstanceListRequest](), rows, "Instance"},
		{abi.OpRunsCreateOrGet, of[abi.RunCreate](), run, "Run"},
		{abi.OpRunsPatch, of[abi.RunPatch](), run, "Run"},
		{abi.OpRunsGet, key, rows, "Run"},
		{abi.OpRunsFindActive, key, rows, "Run"},
		{abi.OpRunsPatchIf, of[abi.RunPatch](), run, "Run"},
		{abi.OpRunsClaim, key, run, "Run"},
		{abi.OpRunsListByThread, of[abi.RunListRequest](), rows, "Run"},
		{abi.OpRunsList, of[abi.RunListRequest](), rows, "Run"},
		{abi.OpRunsListReclaimable, of[abi.ReclaimRequest](), rows, "Reclaim"},
		{abi.OpRunsCountBySandbox, of[abi.SandboxCountRequest](), of[abi.Count](), ""},
		{abi.OpRunsSecret, key, of[abi.RunSecret](), ""},
		{abi.OpRunsDelete, key, run, "Run"},
		{abi.OpLogAppend, of[abi.LogAppendRequest](), of[abi.LogTail](), ""},
		{abi.OpLogRead, of[abi.LogReadRequest](), of[abi.LogPage](), "Log"},
		{abi.OpLogClose, key, nil, ""},
		{abi.OpLogTruncate, key, of[abi.DeleteReply](), ""},
		{abi.OpLocksTryAcquire, of[abi.LockRequest](), of[abi.LockReply](), ""},
		{abi.OpLocksRenew, of[abi.LeaseRequest](), of[abi.Applied](), ""},
		{abi.OpLocksRelease, of[abi.LeaseRequest](), of[abi.Applied](), ""},
		{abi.OpBrokerSet, of[abi.BrokerSetRequest](), nil, ""},
		{abi.OpBrokerPatch, of[abi.BrokerPatchRequest](), nil, ""},
		{abi.OpBrokerRemove, of[abi.BrokerRemoveRequest](), nil, ""},
		{abi.OpBrokerListBindings, of[abi.BrokerListRequest](), of[abi.BrokerListReply](), ""},
		{abi.OpBrokerResolve, of[abi.BrokerResolveRequest](), of[abi.BrokerResolveReply](), ""},
	}
}

// Find returns the operation of a name.
func Find(name string) (Operation, bool) {
	for _, o := range Operations() {
		if o.Name() == name {
			return o, true
		}
	}
	return Operation{}, false
}

// handle is what a field that names something by a handle stands for.
type handle uint8

const (
	noHandle handle = iota
	batchHandle
	pageHandle
	secretHandle
	endpointHandle
)

// handles says which fields of messages are handles, by their names in Go, and of which columns a batch is.
func handles(message reflect.Type, field string) (handle, string) {
	switch {
	case message == reflect.TypeFor[abi.LedgerAppendRequest]() && field == "Entries":
		return batchHandle, "Entry"
	case message == reflect.TypeFor[abi.LedgerAppendRequest]() && field == "Segments":
		return batchHandle, "Segment"
	case message == reflect.TypeFor[abi.LogAppendRequest]() && field == "Events":
		return batchHandle, "LogEvent"
	case field == "Rows" && hasTable(message):
		return pageHandle, ""
	case field == "Egress":
		return endpointHandle, ""
	case field == "Value" && message == reflect.TypeFor[abi.BrokerResolveReply](),
		field == "Value" && (message == reflect.TypeFor[abi.BrokerSetRequest]() || message == reflect.TypeFor[abi.BrokerPatchRequest]()):
		return secretHandle, ""
	}
	return noHandle, ""
}

func hasTable(message reflect.Type) bool {
	_, ok := message.FieldByName("Table")
	return ok
}

// words are those of an enumeration, from 0; nil: the type is none.
func words(t reflect.Type) []string {
	switch t {
	case reflect.TypeFor[abi.GuestState]():
		return []string{"none", "volatile", "exclusive"}
	case reflect.TypeFor[abi.RunOutcome]():
		return []string{"unchanged", "changed", "unknown"}
	}
	return nil
}

// skipped are fields that a page's rows stand for.
func skipped(message reflect.Type, field string) bool { return field == "Table" && hasTable(message) }
