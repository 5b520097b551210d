package sandbox

import (
	"fmt"
	"time"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// CreateOptions says what sandbox to make. Everything may be left open when the client's Options
// have an image.
type CreateOptions struct {
	Name       string // default sandbox- and the beginning of the id
	Image      string
	ImageAuth  *ImageAuth
	Entrypoint []string // default tail -f /dev/null
	Resources  Resources
	Env        map[string]string
	Metadata   map[string]string // of the server's; Kubernetes label rules
	Lifetime   time.Duration     // how long the server keeps it, 60 s or more; 0: the client's
	RunID      string            // default a new one
	ResourceID string            // recorded, for the embedder's use
	TeamID     string            // the same
	Shell      string            // of its execs; default /bin/sh
	Hooks      *Hooks

	// NetworkPolicy is what it may reach. Its targets are checked here: host names, *.domain, addresses
	// and CIDRs. Nil is no policy, and no rules can then be added later.
	NetworkPolicy *opensandbox.NetworkPolicy
	// CredentialProxy asks for the sidecar that puts credentials into requests, see [Handle.Credentials].
	// It needs a policy, such as one that allows everything.
	CredentialProxy bool
	Volumes         []opensandbox.Volume
	Platform        *opensandbox.Platform
	Extensions      map[string]string // of the server's own, such as poolRef
}

// ImageAuth is what a private registry asks for. It is not recorded.
type ImageAuth struct {
	Username, Password string
}

// Format hides the password under every verb.
func (a ImageAuth) Format(f fmt.State, _ rune) { _, _ = fmt.Fprintf(f, "{%s [redacted]}", a.Username) }

// MarshalJSON hides the password.
func (a ImageAuth) MarshalJSON() ([]byte, error) {
	return encode(map[string]string{"username": a.Username, "password": "[redacted]"})
}

// ResumeOptions says how to go on.
type ResumeOptions struct {
	Tag string // of the checkpoint, the last one with it; empty: the last checkpoint
	// IgnoreDivergence answers from the ledger by position alone and only logs differences.
	IgnoreDivergence bool
	// NoReplay answers nothing from the ledger: the first exec is a new one, numbered after those that
	// were recorded by the checkpoint.
	NoReplay bool
	// OwnOnly runs again what the sandboxes ran that this one was itself resumed from, as the
	// reference does.
	OwnOnly bool
	// ResolveCredential is asked for the values of credentials that the host can't get by itself; nil: the
	// client's. All of them are had before the new sandbox is made; else Resume is
	// [credential.ErrUnresolved].
	ResolveCredential credential.Resolver
	Env               map[string]string    // of the new sandbox; the ledger doesn't know the old one's
	Volumes           []opensandbox.Volume // the same
	Lifetime          time.Duration        // as in CreateOptions
	Shell             string               // of its execs; default /bin/sh
	Hooks             *Hooks
}

// ExecOptions says how to run a command.
type ExecOptions struct {
	Cwd string            // must exist; empty: the sandbox's own
	Env map[string]string // on top of the sandbox's; values are not recorded
	// Timeout is after how long the command is killed; 0: never.
	Timeout time.Duration
	Shell   string // that the command is for; default the sandbox's
	// UID and GID are whom it runs as, where the server allows that; nil is the sandbox's own user. GID
	// needs UID.
	UID, GID *uint32
	// Background runs it apart from any connection: one that is cut is made again, and no output is lost.
	// Standard error comes as standard output, and there is no standard input.
	Background bool
	// Events keeps the events for [Exec.Events], which must then be read.
	Events bool
	// Strict makes Wait return a CommandError when the command does not exit with 0.
	Strict bool
	// ResultBytes is how much of each of stdout and stderr the Result keeps; 0: the client's.
	ResultBytes int
}
