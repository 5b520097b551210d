package serve

import (
	"io"
	"math"
	"net/http"
	"time"

	"github.com/alineo-labs/alineo-host/host/store"
)

// runPage is a page of runs as clients see it.
type runPage struct {
	Runs   []store.Run `json:"runs"`
	Cursor string      `json:"cursor,omitempty"` // of the next page; absent on the last one
}

func (s *Server) writePage(w http.ResponseWriter, page store.RunPage, err error) error {
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, runPage{orNone(page.Runs), next(page.Cursor, page.More)})
}

func (s *Server) listRuns(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "thread", "status", "finishedBefore", "cursor", "limit")
	opts := store.RunListOptions{
		ThreadID: q.values.Get("thread"), Status: store.RunStatus(q.values.Get("status")),
		FinishedBefore: q.number("finishedBefore", math.MaxInt64), Cursor: q.cursor(), Limit: q.limit(),
	}
	if q.err != nil {
		return q.err
	}
	if opts.Status != "" && !opts.Status.Known() {
		return invalid("status=%q is no status of a run", opts.Status)
	}
	page, err := s.runs.List(r.Context(), opts)
	return s.writePage(w, page, err)
}

// listThread lists the runs of a thread, oldest first.
func (s *Server) listThread(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "cursor", "limit")
	opts := store.PageOptions{Cursor: q.cursor(), Limit: q.limit()}
	if q.err != nil {
		return q.err
	}
	page, err := s.stores.Runs.ListByThread(r.Context(), r.PathValue("id"), opts)
	return s.writePage(w, page, err)
}

func (s *Server) getRun(w http.ResponseWriter, r *http.Request) error {
	run, err := s.runs.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, run)
}

// createRun records a run of the application's own, or answers with the one that is there, unchanged.
func (s *Server) createRun(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		ThreadID  string          `json:"threadId"`
		StartedAt *int64          `json:"startedAt"`
		Status    store.RunStatus `json:"status"`
	}
	if err := read(r, &body); err != nil {
		return err
	}
	switch {
	case body.ThreadID == "":
		return invalid("a run needs a threadId")
	case body.StartedAt != nil && *body.StartedAt < 0:
		return invalid("startedAt is before 1970")
	case body.Status != "" && !body.Status.Known():
		return invalid("status %q is none of a run", body.Status)
	}
	run, made, err := s.stores.Runs.CreateOrGet(r.Context(), store.NewRun{
		ID: r.PathValue("id"), ThreadID: body.ThreadID, StartedAt: body.StartedAt, Status: body.Status,
	})
	if err != nil {
		return err
	}
	code := http.StatusOK
	if made {
		code = http.StatusCreated
	}
	return writeJSON(w, code, run)
}

// patchRun changes a run, {"set":{…},"clear":[…]}; one that is not there is no error. With ?epoch=N it is
// changed only if that is its driver's epoch and it has not ended.
func (s *Server) patchRun(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "epoch")
	epoch := q.number("epoch", math.MaxInt64)
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	patch, err := decodePatch(data)
	if err == nil {
		err = q.err
	}
	if err != nil {
		return err
	}
	answer := struct {
		Existed bool       `json:"existed"`
		Applied bool       `json:"applied"`
		Run     *store.Run `json:"run,omitempty"` // as it is now; only with epoch
	}{}
	if epoch == nil {
		answer.Existed, err = s.stores.Runs.Patch(r.Context(), r.PathValue("id"), patch)
		answer.Applied = answer.Existed
	} else {
		var result store.PatchResult
		result, err = s.stores.Runs.PatchIf(r.Context(), r.PathValue("id"), uint64(*epoch), patch)
		answer.Existed, answer.Applied = result.Existed, result.Applied
		if result.Existed {
			answer.Run = &result.Run
		}
	}
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, answer)
}

// deleteRun removes the record and the log of a run that has ended; one that is not there is no error.
func (s *Server) deleteRun(w http.ResponseWriter, r *http.Request) error {
	if _, err := s.runs.Delete(r.Context(), r.PathValue("id")); err != nil {
		return err
	}
	return empty(w)
}

// claimRun makes the caller the driver of a run of its own.
func (s *Server) claimRun(w http.ResponseWriter, r *http.Request) error {
	claim, err := s.stores.Runs.Claim(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	answer := struct {
		Outcome store.ClaimOutcome `json:"outcome"`
		Epoch   uint64             `json:"epoch,omitempty"` // when claimed
		Run     *store.Run         `json:"run,omitempty"`
	}{Outcome: claim.Outcome}
	if claim.Outcome != store.ClaimUnknown {
		answer.Run = &claim.Run
	}
	if claim.Outcome == store.Claimed {
		answer.Epoch = claim.Epoch
	}
	return writeJSON(w, http.StatusOK, answer)
}

// listReclaimable lists runs that wait for somebody to look after them, the longest waiting first.
func (s *Server) listReclaimable(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "ttlMs", "now", "status", "cursor", "limit")
	opts := store.ReclaimOptions{Status: store.RunStatus(q.values.Get("status")), Cursor: q.cursor(), Limit: q.limit()}
	if ms := q.number("ttlMs", math.MaxInt64/int64(time.Millisecond)); ms != nil {
		opts.TTL = time.Duration(*ms) * time.Millisecond
	}
	if now := q.number("now", math.MaxInt64); now != nil {
		opts.Now = *now
	}
	switch opts.Status {
	case "", store.RunRunning, store.RunInterrupted:
	default:
		return invalid("status=%q is neither running nor interrupted", opts.Status)
	}
	if q.err != nil {
		return q.err
	}
	page, err := s.stores.Runs.ListReclaimable(r.Context(), opts)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, struct {
		Runs   []store.ReclaimableRun `json:"runs"`
		Now    int64                  `json:"now"`
		Cursor string                 `json:"cursor,omitempty"`
	}{orNone(page.Runs), page.Now, next(page.Cursor, page.More)})
}
