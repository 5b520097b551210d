package shim

import (
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/engine/cgroup"
	"github.com/alineo-labs/alineo-host/host/internal/engine/guest"
)

// The names of files in a sandbox's directory.
const (
	LockFile    = "lock"
	SocketFile  = "shim.sock"
	ExecdSocket = "execd.sock"
)

// Config is what a shim needs to make a sandbox. It travels as JSON.
type Config struct {
	// Dir is the sandbox's directory, absolute.
	Dir string
	// Guest is for its init.
	Guest guest.Config
	// UserNamespace gives the sandbox one. Only root can do without.
	UserNamespace bool
	// Group is the control group that the sandbox's processes belong in.
	Group cgroup.Group
	// ExpiresAt is when it ends by itself; zero is never.
	ExpiresAt time.Time
	// Program is the path of the program when there is no sealed copy.
	Program string
	// Sealed tells that there is one, as the last descriptor.
	Sealed bool
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
}

// reply is the shim's answer to its configuration.
type reply struct {
	Error string
	Entry bool
}
