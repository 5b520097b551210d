package lifecycle

import (
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/host/internal/engine/cgroup"
	"github.com/alineo-labs/alineo-host/host/internal/engine/jail"
	"github.com/alineo-labs/alineo-host/host/internal/engine/layer"
	"github.com/alineo-labs/alineo-host/host/internal/engine/reexec"
)

// Options are what a Manager works with. The caller has found out what the
// machine can do; the Manager does exactly that or fails.
type Options struct {
	// DataDir is the data directory, absolute, whose lock the caller holds.
	DataDir string
	Logger  hclog.Logger
	// Program is what shims and inits run.
	Program *reexec.Image
	// Level is the isolation of every sandbox.
	Level jail.Level
	// UserNamespace gives each sandbox one.
	UserNamespace bool
	// Copied are the top directories that sandboxes see a copy of.
	Copied []string
	// Landlock and Volatile tell whether the kernel has them.
	Landlock, Volatile bool
	// Groups is where control groups are made.
	Groups cgroup.Parent
	// Egress tells that sandboxes can have a way out.
	Egress bool
	// Nameserver is the DNS server, with its port, that sandboxes' names are looked up with; "" is the
	// machine's way.
	Nameserver string
	// Roots is a file of certificates in PEM who may vouch for upstreams of credential proxies besides the
	// machine's; "" is none.
	Roots string
	// Images maps image names to what they are: "host" is the machine's root, a
	// path is one of files, anything else the name of another image.
	Images map[string]string
	// Disk is what the files of each sandbox may take; zeros are no limit.
	Disk layer.Usage
	// HostPaths are the machine's directories that volumes may be made of,
	// each with what is below it; none is no volumes.
	HostPaths []string
	// AdoptWithin is how long a sandbox that is there already may take to say how it is; 0 is 15 seconds.
	AdoptWithin time.Duration
}

// HostImage is the name of the machine's own root.
const HostImage = "host"
