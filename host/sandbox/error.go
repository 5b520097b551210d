package sandbox

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// What a caller branches on, besides the sentinels of host/store and host/opensandbox.
var (
	// ErrClosed: the handle or the client was closed.
	ErrClosed = errors.New("closed")
	// ErrInvalid: the caller asks for something that can't be.
	ErrInvalid = errors.New("invalid")
	// ErrNotReady: the sandbox was made, but did not come up in time or at all.
	ErrNotReady = errors.New("sandbox is not ready")
	// ErrDivergence: the program does something else than what the ledger says it did.
	ErrDivergence = errors.New("the run differs from the ledger")
	// ErrTruncated: a reader of output came after the text that it wanted had been let go.
	ErrTruncated = errors.New("output was not kept in full")
	// ErrPaused: the sandbox's processes are frozen. Unpause it first.
	ErrPaused = errors.New("the sandbox is paused; unpause it first")
	// ErrLookOnly: the handle was connected with LookOnly, and this would be recorded.
	ErrLookOnly = errors.New("the handle only looks, and can't record anything; connect without LookOnly")
	// ErrDriverGone: who was asked for a change does not drive the sandbox any more, and has recorded nothing.
	ErrDriverGone = errors.New("the sandbox's driver has let go of it")
	// ErrDetached: the exec was left running; attach to it to go on.
	ErrDetached = errors.New("detached: it goes on in the sandbox")
	// ErrNoFork: the handle does not know the sandbox's resources, so none can be made like it. Connect
	// with them.
	ErrNoFork = errors.New("fork is not supported on this sandbox")
	// ErrLimit: more sandboxes would have to be open at once than MaxConcurrency allows.
	ErrLimit = errors.New("too many open sandboxes")
	// ErrStreamLost is opensandbox.ErrStreamLost: how the command ended is not known.
	ErrStreamLost = opensandbox.ErrStreamLost
)

// Error says what was done to which sandbox when an error came up.
type Error struct {
	Op        string // such as "creating" or "exec"
	SandboxID string // of the one that it is about, for Resume the old one; empty while there is none
	Seq       int64  // of the exec; 0 when it is not about one
	Err       error
}

// Error names the sandbox and the operation.
func (e *Error) Error() string {
	op := e.Op
	if e.Seq > 0 {
		op = fmt.Sprintf("%s %d", op, e.Seq)
	}
	if e.SandboxID == "" {
		return fmt.Sprintf("%s sandbox: %v", op, e.Err)
	}
	return fmt.Sprintf("sandbox %s: %s: %v", e.SandboxID, op, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// CommandError is a command that did not exit with 0, when ExecOptions.Strict asked for it.
type CommandError struct {
	SandboxID string
	Seq       int64
	Command   string
	ExitCode  int    // -1 when a signal or the timeout ended it
	Signal    string // such as "killed"; empty when it exited by itself
	TimedOut  bool
}

// Error says how the command ended, and which it was.
func (e *CommandError) Error() string {
	how := fmt.Sprintf("exited with code %d", e.ExitCode)
	switch {
	case e.TimedOut:
		how = "ran out of time"
	case e.Signal != "":
		how = "was ended by a signal (" + e.Signal + ")"
	}
	return fmt.Sprintf("command %s: %s", how, excerpt(e.Command))
}

// StartError is a command that the sandbox could not start. There is no exit code.
type StartError struct {
	Message string // the sandbox's words
}

// Error says why.
func (e *StartError) Error() string { return "the command could not be started: " + e.Message }

// Side is one of the two execs that a DivergenceError compares.
type Side struct {
	Kind    ledger.Kind
	Command string // or code
	Digest  string // of kind, command, working directory, environment and shell; may be empty
}

// DivergenceError is an exec that is not the one that the ledger has at its position. It answers
// errors.Is for ErrDivergence.
type DivergenceError struct {
	SandboxID string // of the resumed sandbox
	Seq       int64
	Recorded  Side // what the ledger has
	Asked     Side // what the program asked for
	// What the program asked for beside the command; the ledger has only the digest of it.
	Cwd, Shell string
	Env        []string // names
}

// Error shows both sides.
func (e *DivergenceError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "sandbox %s: exec %d: %v: ", e.SandboxID, e.Seq, ErrDivergence)
	if e.Recorded.Kind != e.Asked.Kind || e.Recorded.Command != e.Asked.Command {
		fmt.Fprintf(&b, "the ledger has %s %s, the run asks for %s %s",
			e.Recorded.Kind, excerpt(e.Recorded.Command), e.Asked.Kind, excerpt(e.Asked.Command))
		return b.String()
	}
	fmt.Fprintf(&b, "the command is the same, %s, but it ran with another working directory, environment or shell "+
		"(digest %s in the ledger) than cwd %q, env %q and shell %q now (digest %s)",
		excerpt(e.Asked.Command), e.Recorded.Digest, e.Cwd, e.Env, e.Shell, e.Asked.Digest)
	return b.String()
}

// Is answers for ErrDivergence.
func (e *DivergenceError) Is(target error) bool { return target == ErrDivergence }

// excerpt quotes the beginning of a text that may be long.
func excerpt(s string) string {
	const most = 200
	if len(s) <= most {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q… (%d bytes)", s[:most], len(s))
}

func names(env map[string]string) []string { return slices.Sorted(maps.Keys(env)) }

// said is an error in the words of its cause: what is left out, operation, credential and sandbox, is said
// by the handle's own.
type said struct{ err, cause error }

func (e *said) Error() string { return e.cause.Error() }

func (e *said) Unwrap() error { return e.err }

// ofBroker keeps a broker's error from repeating what goes before it.
func (h *Handle) ofBroker(err error) error { return ofBroker(h.id, err) }

func ofBroker(sandboxID string, err error) error {
	switch of := err.(type) { //nolint:errorlint // one that is wrapped says more
	case *credential.Error:
		if of.SandboxID == sandboxID {
			return &said{of, of.Err}
		}
	case *credential.UnresolvedError:
		return &said{of, of.Err}
	}
	return err
}
