package main

import (
	"strings"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/plugins/internal/runkit"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// runMemory is what some faults know of the calls before.
type runMemory struct {
	last    string          // what came last
	four    int             // patches of all four durable fields
	put     bool            // the first record was put
	ended   bool            // a conditional patch was applied
	touched map[string]bool // runs that this instance made, and whether it changed them since
	claims  uint64
	epochs  map[string]uint64 // of the last claim
	tails   map[string]uint64 // after the last append
	own     map[string]uint64 // epochs of appends that were accepted
}

// stores are the right ones, with the fault.
func (w *wrong) stores(statements func() runkit.Statements) *runkit.Stores {
	right := w.RunStores(statements)
	return &runkit.Stores{
		Instances: &wrongInstances{right.Instances, w}, Runs: &wrongRuns{right.Runs, w},
		Log: &wrongLog{right.Log, w}, Locks: &wrongLocks{right.Locks, w},
	}
}

// changedRuns puts the fault into a statement, or returns false when it is none of a statement.
func changedRuns(sql *runkit.Statements, fault string) bool {
	instances, runs, log, locks := &sql.Instances, &sql.Runs, &sql.Log, &sql.Locks
	switch fault {
	case "instances/SI-4": // merges
		instances.Put = replaced(instances.Put, "latest_snapshot_id = excluded.latest_snapshot_id",
			"latest_snapshot_id = coalesce(excluded.latest_snapshot_id, latest_snapshot_id)")
	case "instances/SI-5": // does not tell upper from lower case
		instances.Get = replaced(instances.Get, "WHERE key = ?1", "WHERE lower(key) = lower(?1) ORDER BY key LIMIT 1")
	case "instances/SI-6": // deletes only what is alone
		instances.Delete += " AND (SELECT count(*) FROM sandbox_instances) < 2"
	case "instances/clock": // has none
		instances.Put = replaced(instances.Put, "nullif(CAST(?7 AS INTEGER), 0)", "CAST(?7 AS INTEGER)")
	case "instances/put-if": // does not look
		instances.PutOver = replaced(instances.PutOver, "AND provider_sandbox_id = ?8", "AND ?8 IS NOT NULL")
	case "instances/delete-if": // does not look
		instances.DeleteIf = replaced(instances.DeleteIf, "AND provider_sandbox_id = ?2", "AND ?2 IS NOT NULL")
	case "instances/list": // has its own order among those of one time
		instances.List = replaced(instances.List, "ORDER BY updated_at, key", "ORDER BY updated_at, key DESC")

	case "runs/PS-R2": // revives what has ended
		runs.Create = replaced(runs.Create, "DO NOTHING", "DO UPDATE SET status = excluded.status WHERE status = 'completed'")
	case "runs/PS-R3": // takes the first for the last
		runs.Active = replaced(runs.Active, "started_at DESC", "started_at")
	case "runs/PS-R4": // has another order
		runs.ByThread = replaced(runs.ByThread, "ORDER BY started_at, run_id", "ORDER BY run_id")
	case "runs/PS-R5": // takes those that wait for a human for theirs
		runs.Waiting = replaced(runs.Waiting, "status = 'running'", "status IN ('running', 'interrupted')")
	case "runs/reclaim-order": // has its own order among those of one time
		runs.Waiting = replaced(runs.Waiting, "ORDER BY detached_since, run_id", "ORDER BY detached_since, run_id DESC")
	case "runs/list": // has its own order among those of one time
		runs.Newest = replaced(runs.Newest, "run_id DESC", "run_id")
	case "runs/count": // counts the one that asks
		runs.Count = replaced(runs.Count, "AND run_id <> ?2", "AND ?2 IS NOT NULL")
	case "runs/secret": // takes another one later
		runs.Create = replaced(runs.Create, "DO NOTHING", "DO UPDATE SET secret = excluded.secret WHERE excluded.secret IS NOT NULL")
	case "runs/delete": // deletes anything
		runs.Delete = strings.SplitN(runs.Delete, " AND ", 2)[0]

	case "fenced/claim": // not of one that waits for a human
		runs.Claim = replaced(runs.Claim, "status IN ('running', 'interrupted')", "status = 'running'")
	case "fenced/claim-refused": // takes aborted for no end
		runs.Claim = replaced(runs.Claim, "'interrupted')", "'interrupted', 'aborted')")
	case "fenced/patch-if": // lets later drivers in
		runs.Fence = replaced(runs.Fence, "driver_epoch =", "driver_epoch <=")
	case "fenced/patch-if-ended": // takes aborted for no end
		runs.Ended = replaced(runs.Ended, ", 'aborted'", "")

	case "log/verbatim": // loses a byte of one length
		log.Read = replaced(log.Read, "data FROM", "CASE WHEN length(data) = 256 THEN substr(data, 1, 255) ELSE data END FROM")
	case "log/after": // begins at the offset, when one event is asked for
		log.Read = replaced(log.Read, "place > ?2", "place > ?2 - CASE WHEN ?3 = 2 THEN 1 ELSE 0 END")
	case "log/epoch": // lets one epoch in
		log.Advance = replaced(log.Advance, "l.epoch <= excluded.epoch", "(l.epoch <= excluded.epoch OR excluded.epoch = 6)")
	case "log/expected": // takes what is behind the end for the end
		log.Advance = replaced(log.Advance, "l.tail = coalesce", "l.tail <= coalesce")
	case "log/closed": // closes only what is there
		log.Close = `UPDATE alineo_host_logs SET closed = 1 WHERE run_id = ?1`
	case "log/truncate": // does not remember it
		log.Dropped += " AND FALSE"

	case "locks/LK-1": // gives it to its holder again
		locks.Acquire = replaced(locks.Acquire, "WHERE l.token = ''", "WHERE l.owner = excluded.owner OR l.token = ''")
	case "locks/LK-2": // says that it did, and keeps it
		locks.Release = replaced(locks.Release, "token = '', expires_at = ",
			"token = CASE WHEN owner = 'again' THEN token ELSE '' END, expires_at = CASE WHEN owner = 'again' THEN expires_at ELSE 0 END + 0 * ")
	case "locks/LK-5": // does not wait for the end of one holder's lease
		locks.Acquire = replaced(locks.Acquire, "OR l.expires_at <= ", "OR l.expires_at - CASE WHEN l.owner = 'a' THEN 150 ELSE 0 END <= ")
	case "locks/LK-7": // adds instead of beginning anew
		locks.Renew = replaced(locks.Renew, "SET expires_at = ", "SET expires_at = CASE WHEN CAST(?3 AS INTEGER) > 60000 THEN expires_at - ("+now+") ELSE 0 END + ")
	case "locks/LK-10": // does not look at the token
		locks.Renew = replaced(locks.Renew, "AND token = ?2", "AND ?2 IS NOT NULL")
	case "locks/fence": // does not grow after a lease that was over
		locks.Acquire = replaced(locks.Acquire, "fence = l.fence + 1", "fence = l.fence + (l.token = '')")
	default:
		return false
	}
	return true
}

// now is SQLite's clock as the statements have it.
const now = `CAST(unixepoch('subsec') * 1000 AS INTEGER)`

// isRunMethod tells whether a fault is one of the methods below.
func isRunMethod(fault string) bool {
	switch fault {
	case "instances/SI-1", "instances/SI-2", "instances/SI-3", "instances/SI-7", "instances/text", "instances/put-if-race",
		"runs/PS-R1", "runs/DR-0", "runs/DR-1", "runs/DR-2", "runs/DR-3", "runs/DR-4", "runs/DR-5", "runs/DR-6",
		"runs/unknown", "runs/now", "runs/error", "runs/handles", "runs/reclaim-clock", "runs/interrupted",
		"fenced/claim-race", "fenced/patch-if-race", "fenced/superseded",
		"log/offsets", "log/snapshot", "log/bytes", "log/shut-out", "log/no-end", "log/many", "log/race", "log/superseded",
		"locks/LK-4", "locks/LK-8":
		return true
	}
	return false
}

// wrongInstances are right but for the fault.
type wrongInstances struct {
	alineo.Instances
	w *wrong
}

// Get is right but for the fault.
func (s *wrongInstances) Get(req *abi.KeyRequest) (*abi.RowsReply, error) {
	if s.w.fault == "instances/SI-1" && req.Key == "nobody" {
		return nil, &abi.Error{Code: abi.CodeNotFound, Message: "there is no such record"}
	}
	return s.Instances.Get(req)
}

// Put is right but for the fault.
func (s *wrongInstances) Put(req *abi.Instance) error {
	changed := *req
	switch {
	case s.w.fault == "instances/SI-2" && req.LatestSnapshotID != nil && *req.LatestSnapshotID != "" && req.LatestRunID != nil:
		changed.LatestSnapshotID = nil
	case s.w.fault == "instances/SI-3" && req.LatestRunID != nil && *req.LatestRunID == "":
		changed.LatestRunID = nil
	case s.w.fault == "instances/text" && len(req.Key) > 1000:
		return &abi.Error{Code: abi.CodeInvalid, Message: "the key is too long"}
	}
	return s.Instances.Put(&changed)
}

// Delete is right but for the fault.
func (s *wrongInstances) Delete(req *abi.KeyRequest) error {
	if s.w.fault == "instances/SI-7" && req.Key == "nobody" {
		return &abi.Error{Code: abi.CodeNotFound, Message: "there is no such record"}
	}
	return s.Instances.Delete(req)
}

// PutIf is right but for the fault.
func (s *wrongInstances) PutIf(req *abi.InstancePutIf) (*abi.Applied, error) {
	done, err := s.Instances.PutIf(req)
	if s.w.fault == "instances/put-if-race" && err == nil && req.Expected == nil && !s.w.past.put {
		s.w.past.put = true
		if !done.Applied { // what another put meanwhile is not seen
			return &abi.Applied{Applied: true}, s.Instances.Put(&req.Instance)
		}
	}
	return done, err
}

// wrongLocks are right but for the fault.
type wrongLocks struct {
	alineo.Locks
	w *wrong
}

// TryAcquire is right but for the fault.
func (s *wrongLocks) TryAcquire(req *abi.LockRequest) (*abi.LockReply, error) {
	changed := *req
	if s.w.fault == "locks/LK-4" {
		changed.Key = strings.ToLower(req.Key)
	}
	got, err := s.Locks.TryAcquire(&changed)
	if s.w.fault == "locks/LK-8" && err == nil && !got.Acquired && strings.HasPrefix(req.Owner, "host-") {
		return &abi.LockReply{Acquired: true, Token: "mine too", Fence: 1, Owner: req.Owner, Now: got.Now}, nil
	}
	return got, err
}
