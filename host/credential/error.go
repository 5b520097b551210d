package credential

import (
	"errors"
	"fmt"
)

// What a caller branches on. Errors of a broker wrap one of these, or none when the broker is at
// fault. No error of this package, and none of a broker, contains a value.
var (
	// ErrInvalid: the request can't be granted as it is; asking again is no use.
	ErrInvalid = errors.New("invalid")
	// ErrNotFound: no credential of that name is bound, or nothing is known under that reference.
	ErrNotFound = errors.New("not found")
	// ErrConflict: somebody else changed the sandbox's credentials meanwhile, more often than the
	// broker tried again.
	ErrConflict = errors.New("conflict")
	// ErrDenied: whoever keeps the values refuses to give this one.
	ErrDenied = errors.New("denied")
	// ErrUnavailable: nothing was changed and the same call may succeed later.
	ErrUnavailable = errors.New("unavailable")
	// ErrUnknownOutcome: it may have been changed. Every call may be made again.
	ErrUnknownOutcome = errors.New("unknown outcome")
	// ErrUnsupported: the broker does not have this ability.
	ErrUnsupported = errors.New("unsupported")
	// ErrNoProxy: the sandbox was created without the credential proxy, so nothing can be bound in it.
	ErrNoProxy = errors.New("the sandbox was created without the credential proxy")
	// ErrUnresolved: a value that has to be bound again could not be had. See UnresolvedError.
	ErrUnresolved = errors.New("credential could not be resolved")
)

// Error says what a broker was asked for when an error came up.
type Error struct {
	Op        string // such as "setting credential"
	SandboxID string // empty when it is not about one
	Name      string // of the credential; empty for all of them
	Err       error
}

// Error names the operation, the credential and the sandbox.
func (e *Error) Error() string {
	text := e.Op
	if e.Name != "" {
		text += fmt.Sprintf(" %q", e.Name)
	}
	if e.SandboxID != "" {
		text += " of sandbox " + e.SandboxID
	}
	return text + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// UnresolvedError is a value that could not be had again. It answers errors.Is for ErrUnresolved, and
// for what its Err wraps.
type UnresolvedError struct {
	Name      string
	SandboxID string // of the sandbox in whose ledger it is bound
	Source    Source
	Err       error // why; never nil
}

// Error says which credential, of which sandbox, why, and what to do.
func (e *UnresolvedError) Error() string {
	return fmt.Sprintf("credential %q of sandbox %s can't be bound again: %v (a resolver, ResolveCredential, can give its value)",
		e.Name, e.SandboxID, e.Err)
}

// Unwrap returns ErrUnresolved and the reason.
func (e *UnresolvedError) Unwrap() []error { return []error{ErrUnresolved, e.Err} }
