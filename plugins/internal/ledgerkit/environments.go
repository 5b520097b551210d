package ledgerkit

import (
	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// EnvironmentSQL are the statements of Environments.
type EnvironmentSQL struct {
	Get    string // name
	Save   string // name, snapshot id, image, built at
	Delete string // name
	List   string
}

// Environments are the operations on prebuilt snapshots.
type Environments struct {
	DB       Database
	Ensure   func() error // makes the schema at first use
	Readable func() error // the same, but the reference's tables are enough where none can be made
	SQL      *EnvironmentSQL
}

// GetEnvironment returns one environment.
func (e *Environments) GetEnvironment(req *abi.EnvironmentRequest) (*abi.Environment, error) {
	if err := e.Readable(); err != nil {
		return nil, err
	}
	var name, snapshot, image, built abi.Value
	found, err := Row(e.DB, e.SQL.Get, []abi.SQLParam{alineo.Text(req.Name)}, &name, &snapshot, &image, &built)
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
func (e *Environments) SaveEnvironment(env *abi.Environment) error {
	if err := e.Ensure(); err != nil {
		return err
	}
	_, err := e.DB.Write(alineo.Statement(e.SQL.Save,
		alineo.Text(env.Name), alineo.Text(env.SnapshotID), alineo.Text(env.Image), alineo.Int(env.BuiltAt)))
	return err
}

// DeleteEnvironment removes one, if it is there.
func (e *Environments) DeleteEnvironment(req *abi.EnvironmentRequest) error {
	if err := e.Ensure(); err != nil {
		return err
	}
	_, err := e.DB.Write(alineo.Statement(e.SQL.Delete, alineo.Text(req.Name)))
	return err
}

// ListEnvironments returns all, newest first.
func (e *Environments) ListEnvironments() (*abi.RowsReply, error) {
	if err := e.Readable(); err != nil {
		return nil, err
	}
	return All(e.DB, e.SQL.List)
}
