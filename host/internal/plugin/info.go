package plugin

import (
	"time"

	"github.com/alineo-labs/alineo-host/abi"
)

// Info is what an operator wants to know of a plugin.
type Info struct {
	Name        string // in alineo.toml
	GuestName   string // in its manifest
	Version     string
	Digest      string // sha256 of the module, hex
	State       abi.GuestState
	Limits      Limits
	ModuleBytes int
	Loops       int // that are metered
	Functions   int // whose entries are metered
	Bulk        int // operations that are metered by length

	Instances int // that there are
	Waiting   int // callers that wait for one
	Pages     int // of memory, all instances together; as of the end of their last call
	HighPages int // the most that one instance has had
	Calls     uint64
	Failures  uint64 // calls that ended in an error, the guest's own included
	Crashes   uint64 // instances that were destroyed for something that the guest did
	Fuel      uint64 // used, in units of package meter; to the next multiple of some 10,000
	Dropped   uint64 // log lines above limits.log_lines

	LoadedAt time.Time     // since when all of this is counted
	P50, P99 time.Duration // half, and 99 of 100, of the calls took at most this, without waiting for an instance; 6 % off at most

	Imports []string // functions that the module wants, module.name and type
	Exports []string // functions that it has, name and type, and its memory

	Failed    bool          // calls are refused
	Forever   bool          // until it is loaded anew
	RetryIn   time.Duration // when not Forever
	LastError error         // of a call; nil when there was none
	LastAt    time.Time
}

// Info describes the plugin as it is now.
func (p *Plugin) Info() Info {
	i := Info{
		Name: p.name, GuestName: p.manifest.Name, Version: p.manifest.Version, Digest: p.digest,
		State: p.manifest.State, Limits: p.limits, ModuleBytes: p.size,
		Loops: p.stats.Loops, Functions: p.stats.Entries, Bulk: p.stats.Bulk,
		Pages: int(p.pages.Load()), HighPages: int(p.highPages.Load()),
		Calls: p.calls.Load(), Failures: p.failures.Load(), Crashes: p.crashes.Load(),
		Fuel: p.fuel.Load(), Dropped: p.guestLog.droppedTotal(),
		LoadedAt: p.loadedAt, P50: p.took.quantile(50), P99: p.took.quantile(99),
	}
	i.Imports, i.Exports = p.engine.symbols()
	i.Instances, i.Waiting = p.pool.counts()
	i.Failed, i.Forever, i.RetryIn = p.breaker.status()
	p.mu.Lock()
	defer p.mu.Unlock()
	i.LastError, i.LastAt = p.last, p.lastAt
	return i
}
