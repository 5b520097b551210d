package shim

import (
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/engine/cgroup"
	"github.com/alineo-labs/alineo-host/host/internal/engine/egress"
	"github.com/alineo-labs/alineo-host/host/internal/engine/guest"
	"github.com/alineo-labs/alineo-host/host/internal/engine/jail"
	"github.com/alineo-labs/alineo-host/host/internal/engine/layer"
)

// The names of files in a sandbox's directory.
const (
	LockFile    = "lock"
	SocketFile  = "shim.sock"
	ExecdSocket = "execd.sock"
	// EgressSocket serves the egress API. It is there when the sandbox has a way
	// out.
	EgressSocket = "egress.sock"
	// LayerDir is where its files are.
	LayerDir = "layer"
)

// Seed is what a shim needs to begin with: it makes the sockets and the namespaces of a sandbox, and an
// init in them. It travels as JSON.
type Seed struct {
	// ID is the sandbox's.
	ID string
	// Dir is its directory so far, absolute; the caller renames it before the start.
	Dir string
	// Level is how much stands between the sandbox and the machine.
	Level jail.Level
	// UserNamespace gives the sandbox one. Only root can do without.
	UserNamespace bool
	// Group is the control group that the sandbox's processes belong in.
	Group cgroup.Group
	// Program is the path of the program when there is no sealed copy.
	Program string
	// Sealed tells that there is one, as the last descriptor.
	Sealed bool
}

// Config is what a shim needs to make a sandbox of that. It travels as JSON.
type Config struct {
	// Dir is the sandbox's directory, absolute.
	Dir string
	// Guest is for its init.
	Guest guest.Config
	// ExpiresAt is when it ends by itself; zero is never.
	ExpiresAt time.Time
	// Disk is what its files may take; zeros are no limit.
	Disk layer.Usage
	// Network is its way out; without one there is none.
	Network *Network
}

// Network is a sandbox's way out.
type Network struct {
	// Policy is the first policy; nil denies everything.
	Policy *egress.Policy
	// Token is what callers of the egress API must send.
	Token string
	// Credentials makes a credential proxy, with a vault.
	Credentials bool
	// Nameserver is the address, with its port, of the DNS server that names are looked up with; "" is the
	// machine's way.
	Nameserver string
	// Roots is a file of certificates in PEM who may vouch for upstreams of the credential proxy besides
	// the machine's; "" is none.
	Roots string
}

// State is how a sandbox is.
type State struct {
	// Pid is the shim's process id.
	Pid int
	// Init is the init's, as the machine sees it.
	Init int
	// ExpiresAt is when the sandbox ends by itself; zero is never.
	ExpiresAt time.Time
	// Exited tells that the init has ended, with ExitCode (128 and more for
	// signals), at ExitedAt.
	Exited   bool
	ExitCode int
	ExitedAt time.Time
	// Evicted is why the shim ended it; "" when it didn't.
	Evicted string
}

// reply is the shim's answer to its configuration.
type reply struct {
	Error string
	Entry bool
}
