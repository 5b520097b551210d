package runkit

import (
	"math"
	"strconv"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// Runs keeps the record of each run.
type Runs struct{ *store }

var _ alineo.Runs = (*Runs)(nil)

// CreateOrGet makes a run, or returns the one that is there.
func (s *Runs) CreateOrGet(req *abi.RunCreate) (*abi.RunReply, error) {
	id := alineo.Text(req.RunID)
	secret := alineo.Null()
	if len(req.Secret) > 0 {
		secret = alineo.Blob(req.Secret)
	}
	done, err := s.write(
		alineo.Statement(s.sql().Runs.Create, id, alineo.Text(req.ThreadID), alineo.Text(req.Status), optionalInt(req.StartedAt),
			optionalText(req.SandboxKey), secret),
		alineo.Keep(s.sql().Runs.Get, id))
	if err != nil {
		return nil, err
	}
	reply := changed(done)
	if reply.Outcome == abi.RunUnknown {
		return nil, &abi.Error{Code: abi.CodeUnavailable, Retryable: true, Message: "the run was deleted while it was looked for"}
	}
	return reply, nil
}

// changed is the reply to a statement that changes a run, or doesn't, and a look at the run.
func changed(done *abi.SQLExecReply) *abi.RunReply {
	reply := &abi.RunReply{Rows: done.Steps[1].Handle}
	switch {
	case done.Steps[0].Affected > 0:
		reply.Outcome = abi.RunChanged
	case done.Steps[1].RowCount == 0:
		reply.Outcome = abi.RunUnknown
	}
	return reply
}

// Get returns a run.
func (s *Runs) Get(req *abi.KeyRequest) (*abi.RowsReply, error) {
	return s.all(s.sql().Runs.Get, alineo.Text(req.Key))
}

// FindActive returns the run of a thread that runs.
func (s *Runs) FindActive(req *abi.KeyRequest) (*abi.RowsReply, error) {
	return s.all(s.sql().Runs.Active, alineo.Text(req.Key))
}

// Claim raises a run's epoch if it has not ended.
func (s *Runs) Claim(req *abi.KeyRequest) (*abi.RunReply, error) {
	id := alineo.Text(req.Key)
	done, err := s.write(alineo.Statement(s.sql().Runs.Claim, id), alineo.Keep(s.sql().Runs.Get, id))
	if err != nil {
		return nil, err
	}
	return changed(done), nil
}

// ListByThread returns a page of a thread's runs.
func (s *Runs) ListByThread(req *abi.RunListRequest) (*abi.RowsReply, error) {
	from, err := parseCursor(req.Cursor)
	if err != nil {
		return nil, err
	}
	limit, oneMore := ledgerkit.Limit(req.Limit)
	params := append(append([]abi.SQLParam{alineo.Text(req.ThreadID)}, from.params()...), oneMore)
	done, err := s.read(alineo.Keep(s.sql().Runs.ByThread, params...).Limit(limit, 0))
	if err != nil {
		return nil, err
	}
	return page(&done.Steps[0], req.Cursor, abi.RunStarted)
}

// List returns a page of all runs.
func (s *Runs) List(req *abi.RunListRequest) (*abi.RowsReply, error) {
	list := query{store: s.store, sql: s.sql().Runs.List}
	if req.ThreadID != "" {
		list.and(" AND thread_id = ", alineo.Text(req.ThreadID))
	}
	if req.Status != "" {
		list.and(" AND status = ", alineo.Text(req.Status))
	}
	if req.FinishedBefore != nil {
		list.and(" AND finished_at < ", alineo.Int(*req.FinishedBefore))
	}
	if len(req.Cursor) > 0 {
		from, err := parseCursor(req.Cursor)
		if err != nil {
			return nil, err
		}
		params := from.params()
		list.and(" AND (started_at, run_id) < (", params[0])
		list.and(", ", params[1])
		list.sql += ")"
	}
	limit, oneMore := ledgerkit.Limit(req.Limit)
	list.and(s.sql().Runs.Newest, oneMore)
	done, err := s.read(alineo.Keep(list.sql, list.params...).Limit(limit, 0))
	if err != nil {
		return nil, err
	}
	return page(&done.Steps[0], req.Cursor, abi.RunStarted)
}

// query is a statement that is made for one request.
type query struct {
	store  *store
	sql    string
	params []abi.SQLParam
}

// parameter adds a parameter, and returns how the statement names it.
func (q *query) parameter(value abi.SQLParam) string {
	q.params = append(q.params, value)
	return q.store.text("$" + strconv.Itoa(len(q.params)))
}

// and adds words and a parameter.
func (q *query) and(words string, value abi.SQLParam) { q.sql += words + q.parameter(value) }

// maxWait keeps the clock less a time to live within what can be counted with, milliseconds.
const maxWait = 1 << 53

// ListReclaimable returns a page of runs that wait for somebody.
func (s *Runs) ListReclaimable(req *abi.ReclaimRequest) (*abi.RowsReply, error) {
	sql := s.sql().Runs.Waiting
	switch req.Status {
	case "running":
	case "interrupted":
		sql = s.sql().Runs.Interrupted
	default:
		return nil, invalid("runs of that status wait for nobody")
	}
	from, err := parseCursor(req.Cursor)
	if err != nil {
		return nil, err
	}
	now := req.Now
	if now == 0 {
		done, err := s.read(alineo.Query(s.sql().Instances.Now))
		if err != nil {
			return nil, err
		}
		if now, err = clock(done.Steps[0].Rows); err != nil {
			return nil, err
		}
	}
	limit, oneMore := ledgerkit.Limit(req.Limit)
	latest := max(now, math.MinInt64+maxWait) - int64(min(req.TTLMS, maxWait))
	params := append(append([]abi.SQLParam{alineo.Int(latest)}, from.params()...), oneMore)
	done, err := s.read(alineo.Keep(sql, params...).Limit(limit, 0))
	if err != nil {
		return nil, err
	}
	reply, err := page(&done.Steps[0], req.Cursor, abi.ReclaimSince)
	if err != nil {
		return nil, err
	}
	reply.Now = now
	return reply, nil
}

// CountBySandbox counts the runs that may use a sandbox.
func (s *Runs) CountBySandbox(req *abi.SandboxCountRequest) (*abi.Count, error) {
	done, err := s.read(alineo.Query(s.sql().Runs.Count, alineo.Text(req.SandboxKey), alineo.Text(req.Except)))
	if err != nil {
		return nil, err
	}
	var count abi.Value
	if _, err := alineo.FirstRow(done.Steps[0].Rows, &count); err != nil {
		return nil, err
	}
	return &abi.Count{Count: uint64(count.Int)}, nil
}

// Secret returns a run's secret.
func (s *Runs) Secret(req *abi.KeyRequest) (*abi.RunSecret, error) {
	done, err := s.read(alineo.Query(s.sql().Runs.Secret, alineo.Text(req.Key)))
	if err != nil {
		return nil, err
	}
	var secret abi.Value
	if _, err := alineo.FirstRow(done.Steps[0].Rows, &secret); err != nil {
		return nil, err
	}
	return &abi.RunSecret{Secret: secret.Bytes}, nil
}

// Delete removes a run that has ended, and its log if that has no events any more.
func (s *Runs) Delete(req *abi.KeyRequest) (*abi.RunReply, error) {
	id := alineo.Text(req.Key)
	done, err := s.write(alineo.Statement(s.sql().Runs.Delete, id), alineo.Keep(s.sql().Runs.Exists, id),
		alineo.Statement(s.sql().Runs.Forget, id))
	if err != nil {
		return nil, err
	}
	reply := changed(done)
	reply.Rows = 0
	return reply, nil
}
