package runkit

import (
	"encoding/binary"
	"math"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// Database is where the statements run.
type Database interface {
	ledgerkit.Database
	// EnsureRuns makes the tables of durable runs at first use.
	EnsureRuns() error
}

// Stores are all of them.
type Stores struct {
	Instances alineo.Instances
	Runs      alineo.Runs
	Log       alineo.RunLog
	Locks     alineo.Locks
}

// New returns the stores of a database. The statements are asked for at first use: most guests never
// need them.
func New(db Database, statements func() Statements) Stores {
	s := &store{db: db, statements: statements}
	return Stores{Instances: &Instances{s}, Runs: &Runs{s}, Log: &Log{s}, Locks: &Locks{s}}
}

// Optional are the optional operations of these stores, which are all that there are.
func Optional() []abi.Op {
	return []abi.Op{
		abi.OpInstancesPutIf, abi.OpInstancesDeleteIf, abi.OpInstancesList,
		abi.OpRunsPatchIf, abi.OpRunsClaim, abi.OpRunsListByThread, abi.OpRunsList, abi.OpRunsListReclaimable,
		abi.OpRunsCountBySandbox, abi.OpRunsSecret, abi.OpRunsDelete,
		abi.OpLogTruncate,
	}
}

// store is what they share.
type store struct {
	db         Database
	statements func() Statements
	made       *Statements
	added      *alineo.Step // see Log.insert
}

// sql returns the statements.
func (s *store) sql() *Statements {
	if s.made == nil {
		made := s.statements()
		s.made = &made
	}
	return s.made
}

// text writes a piece of a statement in the dialect.
func (s *store) text(sql string) string { return s.sql().words.Replace(sql) }

// read runs steps that only read, on tables that are there.
func (s *store) read(steps ...alineo.Step) (*abi.SQLExecReply, error) {
	if err := s.db.EnsureRuns(); err != nil {
		return nil, err
	}
	return s.db.Read(steps...)
}

// write is read for steps that write.
func (s *store) write(steps ...alineo.Step) (*abi.SQLExecReply, error) {
	if err := s.db.EnsureRuns(); err != nil {
		return nil, err
	}
	return s.db.Write(steps...)
}

// all answers with every row of a query.
func (s *store) all(sql string, params ...abi.SQLParam) (*abi.RowsReply, error) {
	done, err := s.read(alineo.Keep(sql, params...))
	if err != nil {
		return nil, err
	}
	return &abi.RowsReply{Rows: done.Steps[0].Handle}, nil
}

// Pages end behind a number and a text.
type position struct {
	number int64
	text   []byte
}

// beginning and end are before and behind every row.
func beginning() position { return position{number: math.MinInt64} }

func (p position) params() []abi.SQLParam {
	return []abi.SQLParam{alineo.Int(p.number), {Value: abi.Value{Kind: abi.KindText, Bytes: p.text}}}
}

func (p position) cursor() []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(p.number)), p.text...)
}

func parseCursor(cursor []byte) (position, error) {
	switch {
	case len(cursor) == 0:
		return beginning(), nil
	case len(cursor) < 8:
		return position{}, &abi.Error{Code: abi.CodeInvalid, Message: "the cursor is not one of this store's"}
	}
	return position{number: int64(binary.LittleEndian.Uint64(cursor)), text: cursor[8:]}, nil
}

// page makes the reply of a step that kept rows, with a cursor of the last one: of a column with a number,
// and of the first, which is the key.
func page(result *abi.SQLStepResult, before []byte, number uint32) (*abi.RowsReply, error) {
	reply := &abi.RowsReply{Rows: result.Handle, More: result.More, Cursor: before}
	if result.RowCount == 0 {
		return reply, nil
	}
	last, err := abi.ParseTable(result.Last)
	if err != nil {
		return nil, err
	}
	at := last.Value(0, 0)
	if at.Kind == abi.KindNull { // a cell that the host leaves out for its size
		return nil, &abi.Error{Code: abi.CodeResourceExhausted, Message: "a page ends with an id that is too long for a cursor"}
	}
	reply.Cursor = position{number: last.Value(0, int(number)).Int, text: at.Bytes}.cursor()
	return reply, nil
}

func optionalText(v *string) abi.SQLParam {
	if v == nil {
		return alineo.Null()
	}
	return alineo.Text(*v)
}

func optionalInt(v *int64) abi.SQLParam {
	if v == nil {
		return alineo.Null()
	}
	return alineo.Int(*v)
}

func invalid(message string) error { return &abi.Error{Code: abi.CodeInvalid, Message: message} }
