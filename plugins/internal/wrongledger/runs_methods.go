package main

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// wrongRuns are right but for the fault.
type wrongRuns struct {
	alineo.Runs
	w *wrong
}

// other is a run with something else in the place of some columns.
func other(id string, columns string) (*abi.RowsReply, error) {
	done, err := database.Read(alineo.Keep(`SELECT run_id, thread_id, `+columns+` FROM alineo_host_runs WHERE run_id = ?`, alineo.Text(id)))
	if err != nil {
		return nil, err
	}
	return &abi.RowsReply{Rows: done.Steps[0].Handle}, nil
}

// CreateOrGet is right.
func (s *wrongRuns) CreateOrGet(req *abi.RunCreate) (*abi.RunReply, error) {
	got, err := s.Runs.CreateOrGet(req)
	s.w.past.last = "look"
	if err == nil && got.Outcome == abi.RunChanged && s.w.fault != "" {
		s.w.past.touched[strings.Clone(req.RunID)] = false
		s.w.past.last = "create"
	}
	return got, err
}

// Get is right but for the fault.
func (s *wrongRuns) Get(req *abi.KeyRequest) (*abi.RowsReply, error) {
	last := s.w.past.last
	s.w.past.last = "get"
	touched, made := s.w.past.touched[req.Key]
	const rest = `started_at, finished_at, error_message, error_code, usage, `
	switch {
	case s.w.fault == "runs/DR-0" && last == "create": // false for absent
		return other(req.Key, `status, `+rest+`sandbox_key, detached_since, 0, driver_epoch`)
	case s.w.fault == "runs/DR-1" && last == "four" && s.w.past.four == 1, s.w.fault == "runs/DR-5" && last == "four" && s.w.past.four == 2:
		return other(req.Key, `status, `+rest+`NULL, detached_since, cancel_requested, driver_epoch`)
	case s.w.fault == "runs/handles" && made && !touched: // does not see what others do
		return other(req.Key, `'running', `+rest+`sandbox_key, detached_since, cancel_requested, driver_epoch`)
	}
	return s.Runs.Get(req)
}

// Patch is right but for the fault.
func (s *wrongRuns) Patch(req *abi.RunPatch) (*abi.RunReply, error) {
	p := *req
	set := [...]bool{req.SandboxKey != nil, req.DetachedSince != nil, req.CancelRequested != nil, req.DriverEpoch != nil}
	all := set == [...]bool{true, true, true, true}
	s.w.past.last = "patch"
	if all {
		s.w.past.last = "four"
		s.w.past.four++
	}
	if s.w.fault != "" {
		s.w.past.touched[strings.Clone(req.RunID)] = true
	}
	switch s.w.fault {
	case "runs/PS-R1": // loses what comes with the end
		if req.FinishedAt != nil {
			p.Usage = nil
		}
	case "runs/DR-2": // takes what is not named for absent
		if set == [...]bool{3: true} {
			p.Clear = append(p.Clear, abi.RunFieldCancelRequested)
		}
	case "runs/DR-3": // clears more than it should
		if len(req.Clear) == 1 && req.Clear[0] == abi.RunFieldDetachedSince {
			p.Clear = append(p.Clear, abi.RunFieldCancelRequested)
		}
	case "runs/DR-4": // takes false for absent
		if req.CancelRequested != nil && !*req.CancelRequested {
			p.CancelRequested, p.Clear = nil, append(p.Clear, abi.RunFieldCancelRequested)
		}
	case "runs/DR-6": // clears three at most
		if len(req.Clear) > 3 {
			p.Clear = req.Clear[:3]
		}
	case "runs/now": // takes the beginning for now
		if i := slices.Index(p.Now, abi.RunFieldFinishedAt); i >= 0 {
			p.Now, p.FinishedAt = slices.Delete(slices.Clone(p.Now), i, i+1), new(int64(0))
		}
	case "runs/error": // keeps a code that it knows
		if req.ErrorMessage != nil && req.ErrorCode == nil {
			p.ErrorCode = new("E1")
		}
	}
	got, err := s.Runs.Patch(&p)
	switch {
	case err != nil:
	case s.w.fault == "runs/unknown" && got.Outcome == abi.RunUnknown: // makes it
		_, err = s.Runs.CreateOrGet(&abi.RunCreate{RunID: req.RunID, ThreadID: "t", Status: "running"})
	case s.w.fault == "runs/interrupted": // takes any change for the beginning
		err = exec(`UPDATE alineo_host_runs SET status_at = status_at + 1 WHERE run_id = ? AND status = 'interrupted'`, alineo.Text(req.RunID))
	}
	return got, err
}

// PatchIf is right but for the fault.
func (s *wrongRuns) PatchIf(req *abi.RunPatch) (*abi.RunReply, error) {
	got, err := s.Runs.PatchIf(req)
	if s.w.fault == "" || err != nil {
		return got, err
	}
	s.w.past.touched[strings.Clone(req.RunID)] = true
	if got.Outcome == abi.RunChanged {
		s.w.past.ended = true
		return got, nil
	}
	epoch, err := number(`SELECT driver_epoch FROM alineo_host_runs WHERE run_id = ?`, alineo.Text(req.RunID))
	switch {
	case err != nil:
	case s.w.fault == "fenced/patch-if-race" && !s.w.past.ended && req.Epoch != nil && int64(*req.Epoch) == epoch && epoch > 0:
		s.w.past.ended, got.Outcome = true, abi.RunChanged // did not see that another ended it
	case s.w.fault == "fenced/superseded" && req.Epoch != nil && *req.Epoch > 0 && s.w.past.epochs[req.RunID] == *req.Epoch:
		patch := *req // does not see that another claimed it
		patch.Epoch = new(uint64(epoch))
		return s.Runs.PatchIf(&patch)
	}
	return got, err
}

// Claim is right but for the fault.
func (s *wrongRuns) Claim(req *abi.KeyRequest) (*abi.RunReply, error) {
	got, err := s.Runs.Claim(req)
	if s.w.fault == "" || err != nil || got.Outcome != abi.RunChanged {
		return got, err
	}
	id := strings.Clone(req.Key)
	s.w.past.touched[id] = true
	if id == "run-1" {
		s.w.past.claims++
	}
	if n := s.w.past.claims; s.w.fault == "fenced/claim-race" && n >= 3 && id == "run-1" { // counts for itself
		if err := exec(`UPDATE alineo_host_runs SET driver_epoch = ? WHERE run_id = ?`, alineo.Int(int64(n)), alineo.Text(id)); err != nil {
			return nil, err
		}
		rows, err := s.Runs.Get(req)
		if err != nil {
			return nil, err
		}
		return &abi.RunReply{Outcome: abi.RunChanged, Rows: rows.Rows}, nil
	}
	epoch, err := number(`SELECT driver_epoch FROM alineo_host_runs WHERE run_id = ?`, alineo.Text(id))
	s.w.past.epochs[id] = uint64(epoch)
	return got, err
}

// ListReclaimable is right but for the fault.
func (s *wrongRuns) ListReclaimable(req *abi.ReclaimRequest) (*abi.RowsReply, error) {
	changed := *req
	if s.w.fault == "runs/reclaim-clock" && req.Now == 0 && req.Status == "running" {
		changed.TTLMS = 0
	}
	return s.Runs.ListReclaimable(&changed)
}

// wrongLog is right but for the fault.
type wrongLog struct {
	alineo.RunLog
	w *wrong
}

// Append is right but for the fault.
func (s *wrongLog) Append(req *abi.LogAppendRequest) (*abi.LogTail, error) {
	if s.w.fault == "" {
		return s.RunLog.Append(req)
	}
	run, id := strings.Clone(req.RunID), alineo.Text(req.RunID)
	before, err := number(`SELECT tail FROM alineo_host_logs WHERE run_id = ?`, id)
	if err != nil && !isAbsent(err) {
		return nil, err
	}
	known, err := number(`SELECT count(*) FROM sqlite_master WHERE name = 'alineo_host_logs'`)
	if err == nil && known > 0 {
		known, err = number(`SELECT count(*) FROM alineo_host_logs WHERE run_id = ?`, id)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case s.w.fault == "log/offsets" && known == 0 && req.Epoch == 7: // goes on where another log ends
		if _, err := s.RunLog.Append(&abi.LogAppendRequest{RunID: req.RunID, Epoch: 1}); err != nil {
			return nil, err
		}
		if err := exec(`UPDATE alineo_host_logs SET tail = 1, dropped = 1 WHERE run_id = ?`, id); err != nil {
			return nil, err
		}
	case s.w.fault == "log/shut-out" && known == 0 && req.Events == 0 && req.Epoch == 2: // has nothing to do
		return &abi.LogTail{}, nil
	}
	got, err := s.RunLog.Append(req)
	var failed *abi.Error
	if s.w.fault == "log/superseded" && errors.As(err, &failed) && failed.Code == abi.CodeConflict && req.After == nil &&
		failed.Details[abi.DetailClosed] == "" && s.w.past.own[run] == req.Epoch && req.Epoch > 0 {
		again := *req // does not see that another came
		again.Epoch, _ = strconv.ParseUint(failed.Details[abi.DetailEpoch], 10, 64)
		return s.RunLog.Append(&again)
	}
	if err != nil {
		return nil, err
	}
	mine, wrote := s.w.past.tails[run]
	s.w.past.tails[run], s.w.past.own[run] = got.Tail, req.Epoch
	switch {
	case s.w.fault == "log/race" && wrote && uint64(before) != mine: // does not see what others wrote
		got.Tail++
	case s.w.fault == "log/no-end":
		err = exec(`UPDATE alineo_host_logs SET closed = 1 WHERE run_id = ?1
 AND EXISTS (SELECT 1 FROM alineo_host_log_events WHERE run_id = ?1 AND kind = 'RUN_FINISHED')`, id)
	case s.w.fault == "log/many" && req.Count > 1000:
		err = exec(`UPDATE alineo_host_log_events SET data = x'39' WHERE run_id = ? AND place = 700`, id)
	}
	return got, err
}

// isAbsent tells whether a table is not there yet.
func isAbsent(err error) bool { return strings.Contains(err.Error(), "no such table") }

// Read is right but for the fault.
func (s *wrongLog) Read(req *abi.LogReadRequest) (*abi.LogPage, error) {
	changed := *req
	if s.w.fault == "log/bytes" && req.MaxBytes > 2000 {
		changed.MaxBytes = 0
	}
	got, err := s.RunLog.Read(&changed)
	if s.w.fault == "log/snapshot" && err == nil && got.Tail == 0 && got.Epoch == 3 {
		got.Closed = true
	}
	return got, err
}
