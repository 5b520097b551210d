package guest

import (
	"github.com/alineo-labs/alineo-host/host/internal/engine/cgroup"
	"github.com/alineo-labs/alineo-host/host/internal/engine/jail"
	"github.com/alineo-labs/alineo-host/host/internal/engine/trust"
)

// Config is the first message on the control socket, from the shim.
type Config struct {
	Jail jail.Spec
	// Env is the environment of everything in the sandbox.
	Env map[string]string
	// WorkDir is where processes start; "" is the sandbox's workspace. It is
	// made if need be.
	WorkDir string
	// User is whom processes run as, as an image names it; "" is the sandbox's
	// root.
	User string
	// Entrypoint is the command whose end is the sandbox's. Empty is none.
	Entrypoint []string
	// Program tells that the program's descriptor comes after the listener's.
	Program bool
	// Probe only enters, answers and ends: it tells whether the machine allows
	// a sandbox like this.
	Probe bool
	// Egress makes a way out of the network namespace, whose sockets the shim
	// gets before the reply.
	Egress bool
	// Trust is a certificate authority that the sandbox's programs are to trust; nil is none.
	Trust *trust.Authority
	// NoGroups is set where supplementary groups can't be set.
	NoGroups bool
	// Usage is where the sandbox's use is read, as the machine names it, and
	// CPU (thousandths of a processor) and Memory (bytes) what it may use; 0 is
	// no limit.
	Usage       cgroup.UsageFiles
	CPU, Memory int64
}

// Reply answers a message on the control socket.
type Reply struct {
	// Error is empty when it went well.
	Error string
	// Entry tells that the fault is the entry point's and not the sandbox's.
	Entry bool
}

// Operation is every further message from the shim.
type Operation struct{ Op string }

// The operations.
const (
	// Stop stops all processes but the init, by signal: for where there is no
	// freezer.
	Stop = "stop"
	// Continue lets them go on.
	Continue = "continue"
)

// The descriptors of an init, after the control socket.
const (
	ListenerFD = 4
	ProgramFD  = 5
)
