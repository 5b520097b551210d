package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/store"
)

// Runs is a guest as a store of runs. It is safe for concurrent use.
type Runs struct{ asker }

var _ store.Runs = (*Runs)(nil)

// Features says what the guest declares.
func (s *Runs) Features() store.RunFeatures {
	return store.RunFeatures{
		Fenced: s.has(abi.OpRunsPatchIf, abi.OpRunsClaim), ListByThread: s.has(abi.OpRunsListByThread), List: s.has(abi.OpRunsList),
		ListReclaimable: s.has(abi.OpRunsListReclaimable), CountBySandbox: s.has(abi.OpRunsCountBySandbox),
		Secret: s.has(abi.OpRunsSecret), Delete: s.has(abi.OpRunsDelete),
	}
}

// run calls an operation on one run, and reads the record that comes with the answer, unless bare.
func (s *Runs) run(ctx context.Context, op abi.Op, id string, req abi.Message, bare bool) (abi.RunOutcome, *store.Run, error) {
	if err := checkKey("the run's id", id); err != nil {
		return 0, nil, err
	}
	if op.Optional() {
		if err := s.offers(op); err != nil {
			return 0, nil, err
		}
	}
	var reply abi.RunReply
	rows, err := s.answered(ctx, op, req, &reply, func() (uint64, []byte) { return reply.Rows, reply.Table }, shape{abi.RunColumns, 1})
	switch {
	case err != nil:
		return 0, nil, err
	case reply.Outcome > abi.RunUnknown:
		return 0, nil, s.brokenf(op, "the plugin answered with the outcome %d, which is none", reply.Outcome)
	case bare:
		return reply.Outcome, nil, nil
	case reply.Outcome == abi.RunUnknown && rows.Len() > 0:
		return 0, nil, s.brokenf(op, "the plugin answered with a run, and that there is none")
	case reply.Outcome == abi.RunUnknown:
		return reply.Outcome, nil, nil
	case rows.Len() == 0:
		return 0, nil, s.brokenf(op, "the plugin answered without the run")
	}
	c := cells{rows: rows}
	run := decodeRun(&c)
	c.mustf(run.ID == id, "is of another run, %q", run.ID)
	if c.err != nil {
		return 0, nil, s.broken(op, c.err)
	}
	return reply.Outcome, &run, nil
}

// CreateOrGet makes a run, or returns the one that is there.
func (s *Runs) CreateOrGet(ctx context.Context, run store.NewRun) (store.Run, bool, error) {
	const op = abi.OpRunsCreateOrGet
	outcome, record, err := s.create(ctx, &run)
	switch {
	case err != nil:
	case record == nil:
		err = s.brokenf(op, "the plugin answered that there is no such run")
	case outcome == abi.RunChanged && (record.ThreadID != run.ThreadID || record.Status != run.Status):
		err = s.brokenf(op, "the plugin answered with a new run of thread %q that is %q", record.ThreadID, record.Status)
	}
	if err != nil {
		return store.Run{}, false, wrote("creating run", run.ID, err)
	}
	return *record, outcome == abi.RunChanged, nil
}

func (s *Runs) create(ctx context.Context, run *store.NewRun) (abi.RunOutcome, *store.Run, error) {
	if run.Status == "" {
		run.Status = store.RunRunning
	}
	if !run.Status.Known() {
		return 0, nil, fmt.Errorf("%w: %q is no status of a run", store.ErrInvalid, run.Status)
	}
	if err := checkKey("the thread's id", run.ThreadID); err != nil {
		return 0, nil, err
	}
	if run.SandboxKey != nil {
		if err := checkKey("the sandbox's key", *run.SandboxKey); err != nil {
			return 0, nil, err
		}
	}
	if len(run.Secret) > 0 {
		if err := s.offers(abi.OpRunsSecret); err != nil {
			return 0, nil, err
		}
	}
	return s.run(ctx, abi.OpRunsCreateOrGet, run.ID, &abi.RunCreate{
		RunID: run.ID, ThreadID: run.ThreadID, Status: string(run.Status), StartedAt: run.StartedAt,
		SandboxKey: run.SandboxKey, Secret: run.Secret,
	}, false)
}

// wirePatch checks a patch and returns it as it crosses.
func wirePatch(id string, patch *store.RunPatch) (*abi.RunPatch, error) {
	set := &patch.Set
	err := patch.Validate()
	if set.SandboxKey != nil {
		err = errors.Join(err, checkKey("the sandbox's key", *set.SandboxKey))
	}
	req := &abi.RunPatch{
		RunID: id, FinishedAt: set.FinishedAt, Usage: set.Usage, SandboxKey: set.SandboxKey, DetachedSince: set.DetachedSince,
		CancelRequested: set.CancelRequested, DriverEpoch: set.DriverEpoch,
	}
	if set.DriverEpoch != nil && *set.DriverEpoch > math.MaxInt64 {
		err = errors.Join(err, fmt.Errorf("%w: epoch %d is too large", store.ErrInvalid, *set.DriverEpoch))
	}
	if set.Status != nil {
		req.Status = new(string(*set.Status))
	}
	if set.Error != nil {
		err = errors.Join(err, checkText("the error's message", set.Error.Message), checkText("the error's code", set.Error.Code))
		req.ErrorMessage = &set.Error.Message
		if set.Error.Code != "" {
			req.ErrorCode = &set.Error.Code
		}
	}
	for _, field := range patch.Clear {
		req.Clear = append(req.Clear, string(field))
	}
	for _, field := range patch.Now {
		req.Now = append(req.Now, string(field))
	}
	return req, err
}

// Patch changes a run.
func (s *Runs) Patch(ctx context.Context, id string, patch store.RunPatch) (bool, error) {
	const op = abi.OpRunsPatch
	req, err := wirePatch(id, &patch)
	outcome := abi.RunUnknown
	if err == nil {
		outcome, _, err = s.run(ctx, op, id, req, true)
	}
	if err == nil && outcome == abi.RunUnchanged {
		err = s.brokenf(op, "the plugin answered that it did not change the run")
	}
	if err != nil {
		return false, wrote("patching run", id, err)
	}
	return outcome == abi.RunChanged, nil
}

// PatchIf changes a run whose driver the caller is.
func (s *Runs) PatchIf(ctx context.Context, id string, epoch uint64, patch store.RunPatch) (store.PatchResult, error) {
	const op = abi.OpRunsPatchIf
	req, err := wirePatch(id, &patch)
	switch {
	case err != nil:
	case req.DriverEpoch != nil || slices.Contains(patch.Clear, store.FieldDriverEpoch):
		err = fmt.Errorf("%w: a conditional patch can't change the driver's epoch", store.ErrInvalid)
	case epoch > math.MaxInt64:
		err = fmt.Errorf("%w: epoch %d is too large", store.ErrInvalid, epoch)
	}
	var outcome abi.RunOutcome
	var run *store.Run
	if err == nil {
		req.Epoch = &epoch
		outcome, run, err = s.run(ctx, op, id, req, false)
	}
	if err == nil && outcome == abi.RunChanged && (run.DriverEpoch == nil || *run.DriverEpoch != epoch) {
		err = s.brokenf(op, "the plugin patched a run that has another epoch than %d", epoch)
	}
	if err != nil {
		return store.PatchResult{}, wrote("patching run", id, err)
	}
	result := store.PatchResult{Applied: outcome == abi.RunChanged, Existed: run != nil}
	if run != nil {
		result.Run = *run
	}
	return result, nil
}

// Get returns a run.
func (s *Runs) Get(ctx context.Context, id string) (store.Run, bool, error) {
	run, err := s.one(ctx, abi.OpRunsGet, "the run's id", id)
	if err == nil && run != nil && run.ID != id {
		err = s.brokenf(abi.OpRunsGet, "the plugin answered with another run, %q", run.ID)
	}
	if err != nil || run == nil {
		return store.Run{}, false, wrapped("getting run", id, err)
	}
	return *run, true, nil
}

// FindActive returns the run of a thread that runs.
func (s *Runs) FindActive(ctx context.Context, threadID string) (store.Run, bool, error) {
	run, err := s.one(ctx, abi.OpRunsFindActive, "the thread's id", threadID)
	if err == nil && run != nil && (run.ThreadID != threadID || run.Status != store.RunRunning) {
		err = s.brokenf(abi.OpRunsFindActive, "the plugin answered with a run of thread %q that is %q", run.ThreadID, run.Status)
	}
	if err != nil || run == nil {
		return store.Run{}, false, wrapped("finding the run of thread", threadID, err)
	}
	return *run, true, nil
}

// one calls an operation that answers with a run or none.
func (s *Runs) one(ctx context.Context, op abi.Op, what, key string) (*store.Run, error) {
	if err := checkKey(what, key); err != nil {
		return nil, err
	}
	rows, _, err := s.rows(ctx, op, &abi.KeyRequest{Key: key}, shape{abi.RunColumns, 1})
	if err != nil || rows.Len() == 0 {
		return nil, err
	}
	c := cells{rows: rows}
	run := decodeRun(&c)
	if c.err != nil {
		return nil, s.broken(op, c.err)
	}
	return &run, nil
}

// Claim makes the caller a run's driver.
func (s *Runs) Claim(ctx context.Context, id string) (store.Claim, error) {
	const op = abi.OpRunsClaim
	outcome, run, err := s.run(ctx, op, id, &abi.KeyRequest{Key: id}, false)
	claim := store.Claim{Outcome: store.ClaimUnknown}
	switch {
	case err != nil:
	case outcome == abi.RunUnchanged:
		claim.Outcome, claim.Run = store.ClaimTerminal, *run
		if run.Status == store.RunRunning || run.Status == store.RunInterrupted {
			err = s.brokenf(op, "the plugin refused a claim of a run that is %q", run.Status)
		}
	case outcome == abi.RunChanged && (run.DriverEpoch == nil || *run.DriverEpoch == 0 || run.Status.Terminal()):
		err = s.brokenf(op, "the plugin answered a claim with a run that is %q and has no epoch, or should have none", run.Status)
	case outcome == abi.RunChanged:
		claim = store.Claim{Outcome: store.Claimed, Epoch: *run.DriverEpoch, Run: *run}
	}
	if err != nil {
		return store.Claim{}, wrote("claiming run", id, err)
	}
	return claim, nil
}

// Secret returns a run's secret.
func (s *Runs) Secret(ctx context.Context, id string) (store.RunSecret, bool, error) {
	const op = abi.OpRunsSecret
	err := checkKey("the run's id", id)
	if err == nil {
		err = s.offers(op)
	}
	var reply abi.RunSecret
	if err == nil {
		err = s.guest.Call(ctx, op, &abi.KeyRequest{Key: id}, nil, &reply)
	}
	if err != nil {
		return nil, false, wrapped("getting the secret of run", id, err)
	}
	return bytes.Clone(reply.Secret), len(reply.Secret) > 0, nil
}

// Delete removes a run that has ended.
func (s *Runs) Delete(ctx context.Context, id string) (bool, error) {
	outcome, _, err := s.run(ctx, abi.OpRunsDelete, id, &abi.KeyRequest{Key: id}, true)
	if err == nil && outcome == abi.RunUnchanged {
		err = fmt.Errorf("%w: it has not ended", store.ErrConflict)
	}
	if err != nil {
		return false, wrote("deleting run", id, err)
	}
	return outcome == abi.RunChanged, nil
}

// CountBySandbox counts the runs that may use a sandbox.
func (s *Runs) CountBySandbox(ctx context.Context, sandboxKey, exceptRun string) (int, error) {
	const op = abi.OpRunsCountBySandbox
	err := errors.Join(checkKey("the sandbox's key", sandboxKey), checkText("the run's id", exceptRun))
	if err == nil {
		err = s.offers(op)
	}
	var reply abi.Count
	if err == nil {
		err = s.guest.Call(ctx, op, &abi.SandboxCountRequest{SandboxKey: sandboxKey, Except: exceptRun}, nil, &reply)
	}
	if err == nil && reply.Count > math.MaxInt32 {
		err = s.brokenf(op, "the plugin counted %d runs", reply.Count)
	}
	if err != nil {
		return 0, wrapped("counting the runs of sandbox", sandboxKey, err)
	}
	return int(reply.Count), nil
}

// decodeRun copies a row.
func decodeRun(c *cells) store.Run {
	run := store.Run{
		ID: c.text(abi.RunID), ThreadID: c.text(abi.RunThread), Status: store.RunStatus(c.text(abi.RunStatus)),
		StartedAt: c.int(abi.RunStarted), FinishedAt: c.optionalInt(abi.RunFinished), SandboxKey: c.optionalText(abi.RunSandboxKey),
		DetachedSince: c.optionalInt(abi.RunDetached),
	}
	c.mustf(run.ID != "" && run.Status != "", "is a run without id or status")
	if message := c.optionalText(abi.RunErrorMessage); message != nil {
		run.Error = &store.RunError{Message: *message, Code: c.text(abi.RunErrorCode)}
	}
	if usage := c.bytes(abi.RunUsage); len(usage) > 0 {
		c.mustf(json.Valid(usage), "has a usage that is no JSON")
		run.Usage = bytes.Clone(usage)
	}
	if requested := c.optionalInt(abi.RunCancelRequested); requested != nil {
		c.mustf(*requested == 0 || *requested == 1, "has %d where 0 or 1 belongs", *requested)
		run.CancelRequested = new(*requested != 0)
	}
	if epoch := c.optionalInt(abi.RunDriverEpoch); epoch != nil {
		c.mustf(*epoch >= 0, "has the epoch %d", *epoch)
		run.DriverEpoch = new(uint64(max(*epoch, 0)))
	}
	return run
}
