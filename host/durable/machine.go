package durable

import (
	"context"
	"errors"
	"io/fs"
)

// ErrGone is a sandbox that is not there any more.
var ErrGone = errors.New("the sandbox is gone")

// ErrRefused is a command that a sandbox did not start, and never will.
var ErrRefused = errors.New("the sandbox refuses the command")

// Machines makes, finds and ends the sandboxes that runs use. [NewServer] has the usual ones.
// Implementations are safe for concurrent use.
type Machines interface {
	// Provider names who owns the ids of the sandboxes.
	Provider() string
	// Create makes a sandbox that goes on when this process ends, and returns its id. mark is 32 hex digits
	// that Find knows it by, from the moment that it is there.
	Create(ctx context.Context, spec Spec, mark string) (id string, err error)
	// Find returns the ids of the sandboxes that were made with a mark and are there.
	Find(ctx context.Context, mark string) ([]string, error)
	// Open reaches a sandbox that is there. One that isn't is ErrGone.
	Open(ctx context.Context, id string) (Machine, error)
	// Destroy ends a sandbox. One that isn't there any more is a success.
	Destroy(ctx context.Context, id string) error
}

// Machine is one sandbox. Implementations are safe for concurrent use.
type Machine interface {
	ID() string
	// Exec runs a short command and returns what it printed to its standard output, and its exit code.
	// An error means that it isn't known how the command ended.
	Exec(ctx context.Context, command string) (stdout []byte, code int, err error)
	// Stream runs a command until it ends, ctx ends or line fails, and calls line with each line of its
	// standard output as it comes, without its end. A command that nobody reads any more is ended in
	// the sandbox. It returns line's error as it is.
	Stream(ctx context.Context, command string, line func([]byte) error) error
	// CanStream says whether lines come one by one and whether ending a command ends its children.
	CanStream() bool
	// Spawn starts a command that goes on whatever becomes of this process. When it was certainly not started,
	// the error is ErrRefused.
	Spawn(ctx context.Context, command string, opts SpawnOptions) error
	// WriteFile writes a file and makes its parents.
	WriteFile(ctx context.Context, path string, data []byte, perm fs.FileMode) error
	// KeepAlive moves the end of the sandbox's life away, where it has one.
	KeepAlive(ctx context.Context) error
}

// SpawnOptions say how to start a command.
type SpawnOptions struct {
	Cwd string            // must exist; empty: the sandbox's own
	Env map[string]string // on top of the sandbox's
}
