package main

import (
	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// GetEnvironment returns one environment.
func (l *ledger) GetEnvironment(req *abi.EnvironmentRequest) (*abi.Environment, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	done, err := db.Read(alineo.Query(l.sql.getEnvironment, alineo.Text(req.Name)))
	if err != nil {
		return nil, err
	}
	var name, snapshot, image, built abi.Value
	found, err := alineo.FirstRow(done.Steps[0].Rows, &name, &snapshot, &image, &built)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, &abi.Error{Code: abi.CodeNotFound, Message: "there is no environment of that name"}
	}
	return &abi.Environment{
		Name: name.String(), SnapshotID: snapshot.String(), Image: image.String(), BuiltAt: built.Int,
	}, nil
}

// SaveEnvironment adds or replaces one.
func (l *ledger) SaveEnvironment(env *abi.Environment) error {
	if err := l.ensure(); err != nil {
		return err
	}
	_, err := db.Write(alineo.Statement(l.sql.saveEnvironment,
		alineo.Text(env.Name), alineo.Text(env.SnapshotID), alineo.Text(env.Image), alineo.Int(env.BuiltAt)))
	return err
}

// DeleteEnvironment removes one, if it is there.
func (l *ledger) DeleteEnvironment(req *abi.EnvironmentRequest) error {
	if err := l.ensure(); err != nil {
		return err
	}
	_, err := db.Write(alineo.Statement(l.sql.deleteEnvironment, alineo.Text(req.Name)))
	return err
}

// ListEnvironments returns all, newest first.
func (l *ledger) ListEnvironments() (*abi.RowsReply, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	return all(l.sql.listEnvironments)
}
