package credential

import (
	"context"
	"net/http"
	"time"
)

// Broker puts credentials where the requests of one sandbox leave it, so that the sandbox uses what
// it never sees. It keeps nothing between calls that a new Broker would not find again: each call
// names the sandbox and brings the way to it. It is safe for concurrent use.
type Broker interface {
	// Features says what of the optional abilities there is. It does no I/O and never changes.
	Features() Features
	// Set binds value under name, in place of what was bound there. When it returns, requests of the
	// sandbox that match have the credential; none goes out without it. The name, the value and the
	// binding have been validated.
	Set(ctx context.Context, sandbox Sandbox, name string, value Secret, binding Binding) error
	// Patch changes the value, the binding or both of what is bound under name, with the promise of
	// Set; ErrNotFound when nothing is.
	Patch(ctx context.Context, sandbox Sandbox, name string, change Change) error
	// Remove ends what is bound under name. When it returns, no request has the credential any more.
	// That nothing is bound there is no error: it is what was asked for.
	Remove(ctx context.Context, sandbox Sandbox, name string) error
	// ListBindings returns what is bound, by name. Its bindings may lack what the sandbox's side does
	// not give away; the ledger has all of it.
	ListBindings(ctx context.Context, sandbox Sandbox) ([]Bound, error)
	// Resolve returns the value that an external source names, when Features has Resolve, and
	// ErrNotFound when the broker knows nothing under that reference. Otherwise it is ErrUnsupported.
	Resolve(ctx context.Context, name string, source Source) (Resolved, error)
}

// Features are the optional abilities of a Broker.
type Features struct {
	// Resolve: the broker gets values by reference from where they are kept.
	Resolve bool
}

// Sandbox is what every call of a broker about a sandbox gets.
type Sandbox struct {
	ID string // the server's
	// Egress is the way to the sidecar of this sandbox. It is good for the length of the call.
	Egress Endpoint
}

// Endpoint is the way to one sandbox's egress sidecar. Where that is, and which headers the server
// wants to see there, stays with the host.
type Endpoint interface {
	// Do sends a request whose URL is a path and perhaps a query, such as /credential-vault, and
	// returns whatever is answered, without following redirects. The caller closes the body. Sidecars
	// that are still starting answer 412, 500 or 502; to try again is up to the caller.
	Do(req *http.Request) (*http.Response, error)
}

// Change is what Patch changes. At least one of the two is there.
type Change struct {
	Value   *Secret
	Binding *Binding
}

// Bound is one credential of a sandbox.
type Bound struct {
	Name    string  `json:"name"`
	Binding Binding `json:"binding"`
	// Source says where its value came from, as far as the ledger knows; a broker leaves it nil.
	Source *Source `json:"source,omitempty"`
}

// Resolved is a value and how long it is good.
type Resolved struct {
	Value Secret
	// Expires is when it ends, zero when that is not known. It must not be kept longer.
	Expires time.Time
}
