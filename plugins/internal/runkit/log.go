package runkit

import (
	"errors"
	"math"
	"strconv"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// Log keeps the log of each run.
type Log struct{ *store }

var _ alineo.RunLog = (*Log)(nil)

// manyRows is how many rows the multi-row form of the insert has.
const manyRows = 64

// insert is the step that stores the events of a batch, behind the one that returns the tail.
func (s *Log) insert() alineo.Step {
	if s.added == nil {
		// In the order of Dialect.Insert.
		step := alineo.Statement(s.sql().Log.Insert, alineo.Column(abi.LogEventRun), alineo.Result(0, 0),
			alineo.Column(abi.LogEventBehind), alineo.Column(abi.LogEventKind), alineo.Column(abi.LogEventData))
		if many := s.sql().Log.InsertMany; many != "" {
			step = step.Arrays(many)
		} else {
			step = step.Many(manyRows)
		}
		s.added = &step
	}
	return *s.added
}

// Append stores events, unless the log is closed, is another driver's, or does not end where it should.
func (s *Log) Append(req *abi.LogAppendRequest) (*abi.LogTail, error) {
	if req.Epoch > math.MaxInt64 || req.Count > math.MaxInt64 || req.After != nil && *req.After > math.MaxInt64 {
		return nil, invalid("a number of the request is too large")
	}
	after := alineo.Null()
	if req.After != nil {
		after = alineo.Int(int64(*req.After))
	}
	count := req.Count
	if req.Events == 0 {
		count = 0
	}
	steps := []alineo.Step{
		alineo.Query(s.sql().Log.Advance, alineo.Text(req.RunID), alineo.Int(int64(req.Epoch)), alineo.Int(int64(count)), after).
			Expect(1, abi.CodeConflict, refused),
	}
	if count > 0 {
		steps = append(steps, s.insert().ForEach(req.Events))
	}
	done, err := s.write(steps...)
	if err != nil {
		return nil, s.explain(req.RunID, err)
	}
	var tail abi.Value
	if _, err := alineo.FirstRow(done.Steps[0].Rows, &tail); err != nil {
		return nil, err
	}
	return &abi.LogTail{Tail: uint64(tail.Int)}, nil
}

const refused = "the log is closed, has another driver, or does not end where the append thinks"

// explain says how the log stands that refused an append.
func (s *Log) explain(run string, err error) error {
	var failed *abi.Error
	if !errors.As(err, &failed) || failed.Code != abi.CodeConflict || failed.Details[abi.DetailStep] != "0" {
		return err
	}
	head, err := s.head(run)
	if err != nil {
		return err
	}
	details := map[string]string{
		abi.DetailTail: strconv.FormatUint(head.Tail, 10), abi.DetailEpoch: strconv.FormatUint(head.Epoch, 10),
	}
	if head.Closed {
		details[abi.DetailClosed] = "1"
	}
	return &abi.Error{Code: abi.CodeConflict, Message: refused, Details: details}
}

// head is where a log stands.
func (s *Log) head(run string) (abi.LogPage, error) {
	done, err := s.db.Read(alineo.Query(s.sql().Log.Head, alineo.Text(run)))
	if err != nil {
		return abi.LogPage{}, err
	}
	return parseHead(done.Steps[0].Rows)
}

func parseHead(rows []byte) (abi.LogPage, error) {
	var tail, dropped, epoch, closed abi.Value
	if _, err := alineo.FirstRow(rows, &tail, &dropped, &epoch, &closed); err != nil {
		return abi.LogPage{}, err
	}
	return abi.LogPage{
		Tail: uint64(tail.Int), Dropped: uint64(dropped.Int), Epoch: uint64(epoch.Int), Closed: closed.Int != 0,
	}, nil
}

// Read returns a page of events, and how the log stands at the same moment.
func (s *Log) Read(req *abi.LogReadRequest) (*abi.LogPage, error) {
	limit, oneMore := ledgerkit.Limit(req.Limit)
	run := alineo.Text(req.RunID)
	done, err := s.read(alineo.Query(s.sql().Log.Head, run),
		alineo.Keep(s.sql().Log.Read, run, alineo.Int(int64(min(req.After, math.MaxInt64))), oneMore).Limit(limit, req.MaxBytes))
	if err != nil {
		return nil, err
	}
	reply, err := parseHead(done.Steps[0].Rows)
	reply.Rows, reply.More = done.Steps[1].Handle, done.Steps[1].More
	return &reply, err
}

// Close ends a log.
func (s *Log) Close(req *abi.KeyRequest) error {
	_, err := s.write(alineo.Statement(s.sql().Log.Close, alineo.Text(req.Key)))
	return err
}

// Truncate removes the oldest events.
func (s *Log) Truncate(req *abi.KeyRequest) (*abi.DeleteReply, error) {
	run, sql := alineo.Text(req.Key), &s.sql().Log
	last := alineo.Result(0, 0)
	done, err := s.write(alineo.Query(sql.Piece, run), alineo.Statement(sql.Remove, run, last),
		alineo.Statement(sql.Dropped, run, last), alineo.Query(sql.More, run))
	if err != nil {
		return nil, err
	}
	return ledgerkit.Deleted(done, 1, 3)
}
