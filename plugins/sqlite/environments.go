package main

import "github.com/alineo-labs/alineo-host/abi"

// GetEnvironment returns one environment.
func (l *ledger) GetEnvironment(req *abi.EnvironmentRequest) (*abi.Environment, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	reply, err := run(true, abi.SQLStep{
		SQL: sqlGetEnvironment, Params: []abi.SQLParam{text(req.Name)}, Result: abi.ResultInline,
	})
	if err != nil {
		return nil, err
	}
	row, err := firstRow(reply.Steps[0])
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, &abi.Error{Code: abi.CodeNotFound, Message: "there is no environment of that name"}
	}
	return &abi.Environment{
		Name: row[0].String(), SnapshotID: row[1].String(), Image: row[2].String(), BuiltAt: row[3].Int,
	}, nil
}

// SaveEnvironment adds or replaces one.
func (l *ledger) SaveEnvironment(env *abi.Environment) error {
	if err := l.ensure(); err != nil {
		return err
	}
	_, err := run(false, abi.SQLStep{SQL: sqlSaveEnvironment, Params: []abi.SQLParam{
		text(env.Name), text(env.SnapshotID), text(env.Image), integer(env.BuiltAt),
	}})
	return err
}

// DeleteEnvironment removes one, if it is there.
func (l *ledger) DeleteEnvironment(req *abi.EnvironmentRequest) error {
	if err := l.ensure(); err != nil {
		return err
	}
	_, err := run(false, abi.SQLStep{SQL: sqlDeleteEnvironment, Params: []abi.SQLParam{text(req.Name)}})
	return err
}

// ListEnvironments returns all, newest first.
func (l *ledger) ListEnvironments() (*abi.RowsReply, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	return rows(query(sqlListEnvironment))
}
