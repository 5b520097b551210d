package adapter

import (
	"context"
	"errors"
	"fmt"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/store"
)

// Instances is a guest as a store of instances. It is safe for concurrent use.
type Instances struct{ asker }

var _ store.Instances = (*Instances)(nil)

// Features says what the guest declares.
func (s *Instances) Features() store.InstanceFeatures {
	return store.InstanceFeatures{
		Conditional: s.has(abi.OpInstancesPutIf, abi.OpInstancesDeleteIf), List: s.has(abi.OpInstancesList),
	}
}

// Get returns a record.
func (s *Instances) Get(ctx context.Context, key string) (store.Instance, bool, error) {
	record, err := s.get(ctx, key)
	if err != nil || record == nil {
		return store.Instance{}, false, wrapped("getting instance", key, err)
	}
	return *record, true, nil
}

func (s *Instances) get(ctx context.Context, key string) (*store.Instance, error) {
	const op = abi.OpInstancesGet
	if err := checkKey("the key", key); err != nil {
		return nil, err
	}
	rows, _, err := s.rows(ctx, op, &abi.KeyRequest{Key: key}, shape{abi.InstanceColumns, 1})
	if err != nil || rows.Len() == 0 {
		return nil, err
	}
	c := cells{rows: rows}
	record := decodeInstance(&c)
	c.mustf(record.Key == key, "is of another key, %q", record.Key)
	if c.err != nil {
		return nil, s.broken(op, c.err)
	}
	return &record, nil
}

// decodeInstance copies a row.
func decodeInstance(c *cells) store.Instance {
	record := store.Instance{
		Key: c.text(abi.InstanceKey), Provider: c.text(abi.InstanceProvider), ProviderSandboxID: c.text(abi.InstanceSandboxID),
		LatestSnapshotID: c.optionalText(abi.InstanceSnapshot), ThreadID: c.text(abi.InstanceThread),
		LatestRunID: c.optionalText(abi.InstanceRun), UpdatedAt: c.int(abi.InstanceUpdated),
	}
	c.mustf(record.ProviderSandboxID != "", "has no sandbox")
	return record
}

// wireInstance checks a record and returns it as it crosses.
func wireInstance(record *store.Instance) (abi.Instance, error) {
	err := errors.Join(
		checkKey("the key", record.Key), checkKey("the provider's name", record.Provider),
		checkKey("the provider's sandbox id", record.ProviderSandboxID), checkKey("the thread's id", record.ThreadID))
	if record.LatestSnapshotID != nil {
		err = errors.Join(err, checkText("the snapshot's id", *record.LatestSnapshotID))
	}
	if record.LatestRunID != nil {
		err = errors.Join(err, checkText("the run's id", *record.LatestRunID))
	}
	return abi.Instance(*record), err
}

// Put replaces a record.
func (s *Instances) Put(ctx context.Context, record store.Instance) error {
	req, err := wireInstance(&record)
	if err == nil {
		err = s.guest.Call(ctx, abi.OpInstancesPut, &req, nil, nil)
	}
	return wrote("putting instance", record.Key, err)
}

// Delete removes a record.
func (s *Instances) Delete(ctx context.Context, key string) error {
	err := checkKey("the key", key)
	if err == nil {
		err = s.guest.Call(ctx, abi.OpInstancesDelete, &abi.KeyRequest{Key: key}, nil, nil)
	}
	return wrote("deleting instance", key, err)
}

// PutIf replaces a record if the stored one is as expected.
func (s *Instances) PutIf(ctx context.Context, record store.Instance, expected *string) (bool, error) {
	req, err := wireInstance(&record)
	if err == nil && expected != nil {
		err = checkKey("the sandbox id that is expected", *expected)
	}
	applied := false
	if err == nil {
		applied, err = s.applied(ctx, abi.OpInstancesPutIf, &abi.InstancePutIf{Instance: req, Expected: expected})
	}
	return applied, wrote("putting instance", record.Key, err)
}

// DeleteIf removes a record if it is as expected.
func (s *Instances) DeleteIf(ctx context.Context, key, expected string) (bool, error) {
	err := errors.Join(checkKey("the key", key), checkKey("the sandbox id that is expected", expected))
	applied := false
	if err == nil {
		applied, err = s.applied(ctx, abi.OpInstancesDeleteIf, &abi.InstanceDeleteIf{Key: key, Expected: expected})
	}
	return applied, wrote("deleting instance", key, err)
}

// applied calls a conditional operation.
func (l *asker) applied(ctx context.Context, op abi.Op, req abi.Message) (bool, error) {
	if op.Optional() {
		if err := l.offers(op); err != nil {
			return false, err
		}
	}
	var reply abi.Applied
	err := l.guest.Call(ctx, op, req, nil, &reply)
	return reply.Applied, err
}

// List returns a page of records.
func (s *Instances) List(ctx context.Context, opts store.InstanceListOptions) (store.InstancePage, error) {
	const op = abi.OpInstancesList
	limit, _ := bounds(store.ReadOptions{Limit: opts.Limit})
	req := abi.InstanceListRequest{UpdatedBefore: opts.UpdatedBefore, Cursor: opts.Cursor, Limit: limit}
	rows, reply, err := s.page(ctx, op, &req, opts.Cursor, shape{abi.InstanceColumns, limit})
	if err != nil {
		return store.InstancePage{}, fmt.Errorf("listing instances: %w", mapError(err))
	}
	list := make([]store.Instance, rows.Len())
	for i := range list {
		c := cells{rows: rows, row: i}
		list[i] = decodeInstance(&c)
		c.mustf(opts.UpdatedBefore == nil || list[i].UpdatedAt < *opts.UpdatedBefore, "is of %d, which is not before %d ms", list[i].UpdatedAt, opts.UpdatedBefore)
		if i > 0 {
			last := &list[i-1]
			c.mustf(last.UpdatedAt < list[i].UpdatedAt || last.UpdatedAt == list[i].UpdatedAt && last.Key < list[i].Key, "does not follow the one before it")
		}
		if c.err != nil {
			return store.InstancePage{}, fmt.Errorf("listing instances: %w", s.broken(op, c.err))
		}
	}
	return store.InstancePage{Instances: list, Now: reply.Now, Cursor: reply.Cursor, More: reply.More}, nil
}
