package main

import (
	"bytes"
	"errors"
	"strings"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// isMethod tells whether a fault is none of a statement.
func isMethod(fault string) bool {
	switch fault {
	case "append/many", "append/several-sandboxes", "append/atomic", "head/stands",
		"fencing/epoch", "fencing/previous", "fencing/unclaimed", "fencing/independent", "fencing/deleted",
		"retry/identical", "retry/after-claim", "retry/alone", "retry/late", "retry/refused",
		"read/paging", "read/bytes", "read/tail", "read/growing", "read/cursor", "read/last", "read/last-bounds",
		"read-all/order", "read-all/tail", "read-all/bytes", "read-all/last",
		"list/status", "list/run", "list/before", "list/limit", "list/paging",
		"sandbox/delete", "sandbox/delete-large", "sandbox/delete-others", "environment/unknown",
		"handle/concurrent", "handle/close", "handle/several", "handle/takeover", "handle/retry", "handle/readers", "handle/reopened",
		"heads/paging", "segments/paging", "segments/retry", "tombstones/paging", "usage/sums", "stats/counts",
		"maintenance/cursor", "maintenance/readers", "plugin/describe", "plugin/memory":
		return true
	}
	return false
}

func missing() error {
	return &abi.Error{Code: abi.CodeUnsupported, Message: "this ledger does not have that"}
}

// Open is right but for the fault.
func (w *wrong) Open(req *abi.LedgerOpenRequest) (*abi.Head, error) {
	head, err := w.Ledger.Open(req)
	if err != nil {
		return nil, err
	}
	switch w.fault {
	case "head/stands": // does not say which segment was last
		head.SegmentID = nil
	case "fencing/independent": // takes name and id for one text
		err = exec(`UPDATE alineo_host_heads SET epoch = epoch + 1
 WHERE name || '/' || sandbox_id = ?1 || '/' || ?2 AND name <> ?1`, ledgerkit.Key(req.Key)...)
	case "fencing/epoch", "handle/takeover":
		w.claims[kept(req.Key)] = int64(head.Epoch)
	case "fencing/deleted":
		delete(w.deleted, req.Key)
	}
	return head, err
}

// kept is a key that outlives the call.
func kept(key abi.SandboxKey) abi.SandboxKey {
	return abi.SandboxKey{Name: strings.Clone(key.Name), SandboxID: strings.Clone(key.SandboxID)}
}

// ListSandboxes is right but for the fault.
func (w *wrong) ListSandboxes(req *abi.ListSandboxesRequest) (*abi.RowsReply, error) {
	changed := *req
	switch w.fault {
	case "list/status": // has one filter too few
		if req.Name != "" {
			changed.Status = ""
		}
	case "list/run": // does not know teams
		changed.TeamID = ""
	case "list/before": // takes 0 for not given
		if req.Before != nil && *req.Before == 0 {
			changed.Before = nil
		}
	case "list/limit": // takes 0 for not given
		if req.Limit != nil && *req.Limit == 0 {
			changed.Limit = nil
		}
	case "list/paging": // forgets filters behind the first page
		if len(req.Cursor) > 0 {
			changed.Name, changed.RunID = "", ""
		}
	}
	return w.Ledger.ListSandboxes(&changed)
}

// GetSandbox is right but for the fault.
func (w *wrong) GetSandbox(req *abi.SandboxRequest) (*abi.RowsReply, error) {
	if w.fault == "plugin/memory" { // keeps something of each call
		w.leak = append(w.leak, make([]byte, 2<<10))
	}
	return w.Ledger.GetSandbox(req)
}

// DeleteSandbox is right but for the fault.
func (w *wrong) DeleteSandbox(req *abi.SandboxRequest) (*abi.DeleteReply, error) {
	var epoch, hash abi.Value
	if w.fault == "fencing/deleted" {
		if _, err := ledgerkit.Row(database, "SELECT epoch, hash FROM alineo_host_heads WHERE name = ? AND sandbox_id = ?",
			ledgerkit.Key(req.Key), &epoch, &hash); err != nil {
			return nil, err
		}
		w.deleted[kept(req.Key)] = oldHead{epoch: epoch.Int, hash: bytes.Clone(hash.Bytes)}
	}
	reply, err := w.Ledger.DeleteSandbox(req)
	if err != nil {
		return nil, err
	}
	switch w.fault {
	case "sandbox/delete": // does not count
		reply.Rows = 0
	case "sandbox/delete-large": // says of a part that it is all
		reply.More = false
	case "sandbox/delete-others": // takes an environment of the same name along
		err = exec("DELETE FROM alineo_environments WHERE name = ?", alineo.Text(req.Key.Name))
	}
	return reply, err
}

// GetEnvironment is right but for what the ledger lacks.
func (w *wrong) GetEnvironment(req *abi.EnvironmentRequest) (*abi.Environment, error) {
	if w.lacks == "environments" {
		return nil, missing()
	}
	return w.Ledger.GetEnvironment(req)
}

// SaveEnvironment is right but for what the ledger lacks.
func (w *wrong) SaveEnvironment(env *abi.Environment) error {
	if w.lacks == "environments" {
		return missing()
	}
	return w.Ledger.SaveEnvironment(env)
}

// DeleteEnvironment is right but for the fault.
func (w *wrong) DeleteEnvironment(req *abi.EnvironmentRequest) error {
	if w.lacks == "environments" {
		return missing()
	}
	if w.fault == "environment/unknown" { // refuses what is not there
		if _, err := w.Ledger.GetEnvironment(req); err != nil {
			return err
		}
	}
	return w.Ledger.DeleteEnvironment(req)
}

// ListEnvironments is right but for what the ledger lacks.
func (w *wrong) ListEnvironments() (*abi.RowsReply, error) {
	if w.lacks == "environments" {
		return nil, missing()
	}
	return w.Ledger.ListEnvironments()
}

// close is right but for the fault.
func (w *wrong) close() error {
	switch w.fault {
	case "handle/close": // fails when nothing was ever done
		there, err := number("SELECT count(*) FROM sqlite_master")
		if err == nil && there == 0 {
			return errors.New("there is nothing to close")
		}
	case "handle/reopened": // leaves nothing behind
		there, err := number("SELECT count(*) FROM sqlite_master")
		if err != nil || there == 0 {
			return err
		}
		return exec("DELETE FROM alineo_events")
	}
	return nil
}
