package cgroup

// The controllers that sandboxes use.
const (
	Memory  = "memory"
	CPU     = "cpu"
	Pids    = "pids"
	Freezer = "freezer"
	account = "cpuacct" // version 1: the time that was used
)

// Limits are what one sandbox may use; 0 is no limit.
type Limits struct {
	Memory    int64 // bytes
	CPU       int64 // thousandths of a processor
	Processes int64
}

// Group is one sandbox's control group. It travels as JSON between the
// engine and the shim. The zero Group is no group: its methods do nothing.
type Group struct {
	// Version is 2, 1, or 0 for no group.
	Version int
	// Dirs are its directories by controller; version 2 has one, under "".
	Dirs map[string]string
}

// Parent is where groups are made. The zero Parent makes zero Groups.
type Parent struct {
	version int
	dirs    map[string]string // by controller; version 2 has one, under ""
	has     map[string]bool   // version 2: the controllers of that one
}

// Has tells whether groups have a controller.
func (p Parent) Has(controller string) bool {
	if p.version == 2 {
		return controller == Freezer || p.has[controller]
	}
	_, ok := p.dirs[controller]
	return ok
}

// Version is 2, 1, or 0 when there is nothing to use.
func (p Parent) Version() int { return p.version }

// UsageFiles are where a group's use is read: numbers that the kernel keeps.
// An empty path is a number that there is no controller for. It travels as
// JSON.
type UsageFiles struct {
	// CPU holds the time that its processes have computed: nanoseconds, or,
	// with version 2, a line "usage_usec N" among others.
	CPU string
	// Memory holds the bytes that it has now, and Cache a list of numbers,
	// among them those bytes that the kernel would give back.
	Memory, Cache string
}
