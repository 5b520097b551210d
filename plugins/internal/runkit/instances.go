package runkit

import (
	"math"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// Instances keeps one record a key.
type Instances struct{ *store }

var _ alineo.Instances = (*Instances)(nil)

func instanceParams(i *abi.Instance) []abi.SQLParam {
	return []abi.SQLParam{
		alineo.Text(i.Key), alineo.Text(i.Provider), alineo.Text(i.ProviderSandboxID), optionalText(i.LatestSnapshotID),
		alineo.Text(i.ThreadID), optionalText(i.LatestRunID), alineo.Int(i.UpdatedAt),
	}
}

// Get returns a record.
func (s *Instances) Get(req *abi.KeyRequest) (*abi.RowsReply, error) {
	return s.all(s.sql().Instances.Get, alineo.Text(req.Key))
}

// Put replaces a record.
func (s *Instances) Put(req *abi.Instance) error {
	_, err := s.write(alineo.Statement(s.sql().Instances.Put, instanceParams(req)...))
	return err
}

// Delete removes a record.
func (s *Instances) Delete(req *abi.KeyRequest) error {
	_, err := s.write(alineo.Statement(s.sql().Instances.Delete, alineo.Text(req.Key)))
	return err
}

// applied runs a conditional statement.
func (s *store) applied(sql string, params ...abi.SQLParam) (*abi.Applied, error) {
	done, err := s.write(alineo.Statement(sql, params...))
	if err != nil {
		return nil, err
	}
	return &abi.Applied{Applied: done.Steps[0].Affected > 0}, nil
}

// PutIf replaces a record if it is the one that is expected.
func (s *Instances) PutIf(req *abi.InstancePutIf) (*abi.Applied, error) {
	params := instanceParams(&req.Instance)
	if req.Expected == nil {
		return s.applied(s.sql().Instances.PutNew, params...)
	}
	return s.applied(s.sql().Instances.PutOver, append(params, alineo.Text(*req.Expected))...)
}

// DeleteIf removes a record if it is the one that is expected.
func (s *Instances) DeleteIf(req *abi.InstanceDeleteIf) (*abi.Applied, error) {
	return s.applied(s.sql().Instances.DeleteIf, alineo.Text(req.Key), alineo.Text(req.Expected))
}

// List returns a page of records.
func (s *Instances) List(req *abi.InstanceListRequest) (*abi.RowsReply, error) {
	from, err := parseCursor(req.Cursor)
	if err != nil {
		return nil, err
	}
	before := int64(math.MaxInt64)
	if req.UpdatedBefore != nil {
		before = *req.UpdatedBefore
	}
	limit, oneMore := ledgerkit.Limit(req.Limit)
	done, err := s.read(alineo.Query(s.sql().Instances.Now),
		alineo.Keep(s.sql().Instances.List, append(append([]abi.SQLParam{alineo.Int(before)}, from.params()...), oneMore)...).Limit(limit, 0))
	if err != nil {
		return nil, err
	}
	reply, err := page(&done.Steps[1], req.Cursor, abi.InstanceUpdated)
	if err != nil {
		return nil, err
	}
	reply.Now, err = clock(done.Steps[0].Rows)
	return reply, err
}

// clock reads the answer to a look at the clock.
func clock(rows []byte) (int64, error) {
	var now abi.Value
	_, err := alineo.FirstRow(rows, &now)
	return now.Int, err
}
