package brokertest

import (
	"context"
	"time"

	"github.com/alineo-labs/alineo-host/host/credential"
)

// T is what a case needs of its runner. *testing.T is one.
type T interface {
	Helper()
	Name() string             // of the case, after what contains it
	Context() context.Context // ends when the case does
	Cleanup(f func())
	TempDir() string
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	FailNow()
	Skipf(format string, args ...any)
}

// Runner is a T that can run parts. *testing.T is a Runner[*testing.T].
type Runner[R any] interface {
	T
	Run(name string, f func(R)) bool
}

// Bench is what a broker is tried with.
type Bench struct {
	// Open returns another broker, over the same surroundings. It is closed by the bench's own Cleanup.
	Open func(ctx context.Context) (credential.Broker, error)
	// Sidecar makes a sandbox with its egress sidecar.
	Sidecar func(opts SidecarOptions) (Sidecar, error)
	// Values are references that Resolve finds, and what it finds there. None: what is to be found is not
	// tried.
	Values map[string]string
	// Rotate puts another value where a reference leads. Nil: nothing can be rotated.
	Rotate func(reference, value string) error
}

// SidecarOptions say what kind of sandbox it is.
type SidecarOptions struct {
	// Hosts are those that the sandbox's policy allows by name; nil: all.
	Hosts []string
	// NoProxy: the sandbox was created without the credential proxy.
	NoProxy bool
	// Lag is how long requests still get what the vault said before a change.
	Lag time.Duration
}

// Sidecar is the egress sidecar of one sandbox. It is safe for concurrent use.
type Sidecar interface {
	Sandbox() credential.Sandbox
	// Request says what a request gets that a process in the sandbox sends now.
	Request(q Request) (Given, error)
	// Answer gives the next calls of the sidecar's API these answers, in place of its own.
	Answer(answers ...Answer)
	// Interfere lets somebody else change the vault before each of the next times that it is changed.
	Interfere(times int)
	// Calls is how many calls the API had.
	Calls() int
	Close() error
}

// Answer is one answer of the sidecar's API.
type Answer struct {
	Status int
	Text   string
	Echo   bool // repeats the request's body behind the text
	Hang   bool // gives none until the caller has gone
}

// Request is what a process in a sandbox sends.
type Request struct {
	Scheme, Host, Method, Path string // "https", a name, "GET", "/" unless given
	Port                       int    // of the scheme unless given
}

// Given is what a request got.
type Given struct {
	Headers map[string]string // by canonical name
	Texts   map[string]string // what stands in the place of placeholders
}
