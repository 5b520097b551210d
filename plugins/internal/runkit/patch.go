package runkit

import (
	"math"
	"strings"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// patch is the statement of one patch.
type patch struct {
	query

	sets []string
}

func (p *patch) set(column string, value abi.SQLParam) {
	p.sets = append(p.sets, column+" = "+p.parameter(value))
}

// Patch changes a run.
func (s *Runs) Patch(req *abi.RunPatch) (*abi.RunReply, error) {
	p, err := s.patch(req)
	if err != nil {
		return nil, err
	}
	id := alineo.Text(req.RunID)
	step := alineo.Statement(p.sql, p.params...)
	if len(p.sets) == 0 {
		step = alineo.Query(s.sql().Runs.Exists, id)
	}
	done, err := s.write(step)
	if err != nil {
		return nil, err
	}
	if done.Steps[0].Affected == 0 && done.Steps[0].RowCount == 0 {
		return &abi.RunReply{Outcome: abi.RunUnknown}, nil
	}
	return &abi.RunReply{Outcome: abi.RunChanged}, nil
}

// PatchIf changes a run that has not ended and whose driver is the caller.
func (s *Runs) PatchIf(req *abi.RunPatch) (*abi.RunReply, error) {
	if req.Epoch == nil || req.DriverEpoch != nil {
		return nil, invalid("a conditional patch has an epoch, and does not change it")
	}
	if *req.Epoch > math.MaxInt64 {
		return nil, invalid("the epoch is too large")
	}
	p, err := s.patch(req)
	if err != nil {
		return nil, err
	}
	if len(p.sets) == 0 {
		p.sets = append(p.sets, "")
		p.sql = s.text(`UPDATE {}alineo_host_runs SET run_id = run_id WHERE run_id = $1`)
	}
	p.and(s.sql().Runs.Fence, alineo.Int(int64(*req.Epoch)))
	p.sql += s.sql().Runs.Ended
	done, err := s.write(alineo.Statement(p.sql, p.params...), alineo.Keep(s.sql().Runs.Get, alineo.Text(req.RunID)))
	if err != nil {
		return nil, err
	}
	return changed(done), nil
}

// patch writes the statement up to its first condition.
func (s *Runs) patch(req *abi.RunPatch) (*patch, error) {
	p := &patch{query: query{store: s.store}}
	id := p.parameter(alineo.Text(req.RunID))
	if req.Status != nil {
		p.set("status", alineo.Text(*req.Status))
		status := s.text("$2")
		// When it got this status, not when it was told so again.
		p.sets = append(p.sets, s.text("status_at = CASE WHEN status = "+status+" THEN status_at ELSE {now} END"))
	}
	if req.FinishedAt != nil {
		p.set("finished_at", alineo.Int(*req.FinishedAt))
	}
	if req.ErrorMessage != nil {
		p.set("error_message", alineo.Text(*req.ErrorMessage))
		p.set("error_code", optionalText(req.ErrorCode))
	}
	if len(req.Usage) > 0 {
		p.set("usage", abi.SQLParam{Value: abi.Value{Kind: abi.KindText, Bytes: req.Usage}})
	}
	if req.SandboxKey != nil {
		p.set("sandbox_key", alineo.Text(*req.SandboxKey))
	}
	if req.DetachedSince != nil {
		p.set("detached_since", alineo.Int(*req.DetachedSince))
	}
	if req.CancelRequested != nil {
		requested := int64(0)
		if *req.CancelRequested {
			requested = 1
		}
		p.set("cancel_requested", alineo.Int(requested))
	}
	if req.DriverEpoch != nil {
		if *req.DriverEpoch > math.MaxInt64 {
			return nil, invalid("the epoch is too large")
		}
		p.set("driver_epoch", alineo.Int(int64(*req.DriverEpoch)))
	}
	for _, name := range req.Clear {
		columns := cleared(name)
		if columns == "" {
			return nil, invalid("a run has no field " + name + " that can be cleared")
		}
		p.sets = append(p.sets, columns)
	}
	for _, name := range req.Now {
		switch name {
		case abi.RunFieldFinishedAt:
			p.sets = append(p.sets, s.text("finished_at = {now}"))
		case abi.RunFieldDetachedSince:
			p.sets = append(p.sets, s.text("detached_since = {now}"))
		default:
			return nil, invalid("a run has no time " + name)
		}
	}
	p.sql = s.text(`UPDATE {}alineo_host_runs SET `) + strings.Join(p.sets, ", ") + ` WHERE run_id = ` + id
	return p, nil
}

// cleared is the assignment that makes a field absent, empty for a field that there is not.
func cleared(name string) string {
	switch name {
	case abi.RunFieldFinishedAt:
		return "finished_at = NULL"
	case abi.RunFieldError:
		return "error_message = NULL, error_code = NULL"
	case abi.RunFieldUsage:
		return "usage = NULL"
	case abi.RunFieldSandboxKey:
		return "sandbox_key = NULL"
	case abi.RunFieldDetachedSince:
		return "detached_since = NULL"
	case abi.RunFieldCancelRequested:
		return "cancel_requested = NULL"
	case abi.RunFieldDriverEpoch:
		return "driver_epoch = NULL"
	default:
		return ""
	}
}
