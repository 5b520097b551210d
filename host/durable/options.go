package durable

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/host/internal/journal"
	"github.com/alineo-labs/alineo-host/host/store"
)

// Keep says what of a run is stored outside of its sandbox.
type Keep string

// What can be kept.
const (
	// KeepEverything stores the output in the run's log.
	KeepEverything Keep = ""
	// KeepSandbox stores ids, times, exit codes and positions, never what anyone typed or a command
	// printed. Viewers get output from the sandbox while that lives.
	KeepSandbox Keep = "sandbox"
	// KeepNothing stores nothing: a run lives in the process that started it, and ends, with its
	// sandbox, when its last viewer leaves.
	KeepNothing Keep = "nothing"
)

// Defaults of Options.
const (
	DefaultDetachedTTL    = 30 * time.Minute
	DefaultInterruptedTTL = 24 * time.Hour
	DefaultLease          = 10 * time.Second
	DefaultQuiet          = 5 * time.Second
	DefaultAttachWait     = 10 * time.Second
	DefaultCancelPoll     = 500 * time.Millisecond
	DefaultViewPoll       = 250 * time.Millisecond
	DefaultRunBudget      = 30 * time.Second
)

// Stores are where everything about runs is.
type Stores struct {
	Instances store.Instances
	Runs      store.Runs
	// Log may be nil: then a host keeps the logs of the runs that it drives itself, until a while after
	// their end, and a host that takes one over makes it anew from the journal.
	Log store.RunLog
	// Locks may be nil: then a host locks against itself only.
	Locks store.Locks
}

// Options configures a Runs. Stores and Machines are required; but with KeepNothing no Stores.
type Options struct {
	Stores   Stores
	Machines Machines
	Logger   hclog.Logger // nil: none

	Keep Keep
	// Owner is who holds a lock, shown to those who find it held. Default the machine's name and the
	// process id.
	Owner string

	// DetachedTTL is how long a run goes on without a viewer before a sweep ends it.
	DetachedTTL time.Duration
	// InterruptedTTL is how long an interrupted run waits for a human before a sweep ends it.
	InterruptedTTL time.Duration
	// Retention is how long after its end a run's record and log are kept; 0, the default, is for ever.
	Retention time.Duration
	// SandboxTTL is how long after its last run began a sandbox that no run uses is kept by the sweeps; 0,
	// the default, is until its own time is up.
	SandboxTTL time.Duration
	// AllowUnfenced takes runs over, and sweeps, also where the store can't keep a driver that was
	// superseded from writing to a run's record.
	AllowUnfenced bool

	// JournalDir is where in a sandbox the journals are.
	JournalDir string
	// PollJournal reads journals in pieces also where they could be followed.
	PollJournal bool
	// Lease is how long a driver that died keeps others from taking its run over. It is renewed at a
	// third of that.
	Lease time.Duration
	// Quiet is how long the log of a run that is taken over must stand still first, where the store
	// isn't fenced. Where it is, nothing is waited for.
	Quiet time.Duration
	// AttachWait is how long the journal of a run that is taken over may take to appear.
	AttachWait time.Duration
	// CancelPoll is how often a driver looks whether another host wants its run to end.
	CancelPoll time.Duration
	// ViewPoll is how often a viewer looks for what another host wrote.
	ViewPoll time.Duration
	// RunBudget is how long a sweep drives one run.
	RunBudget time.Duration
}

// fill completes the options and says what is wrong with them.
func (o *Options) fill() error {
	var errs []error
	switch o.Keep {
	case KeepEverything, KeepSandbox:
		if o.Stores.Instances == nil || o.Stores.Runs == nil {
			errs = append(errs, errors.New("a store of instances or runs is missing"))
		}
	case KeepNothing:
		o.Stores = newMemory()
	default:
		errs = append(errs, fmt.Errorf("nothing is known about keeping %q", o.Keep))
	}
	if o.Machines == nil {
		errs = append(errs, errors.New("there are no machines"))
	}
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	if o.Owner == "" {
		name, err := os.Hostname()
		if err != nil {
			name = "unknown"
		}
		o.Owner = name + "/" + strconv.Itoa(os.Getpid())
	}
	o.JournalDir = cmp.Or(o.JournalDir, journal.DefaultDir)
	for _, d := range []struct {
		name  string
		value *time.Duration
		or    time.Duration
	}{
		{"DetachedTTL", &o.DetachedTTL, DefaultDetachedTTL},
		{"InterruptedTTL", &o.InterruptedTTL, DefaultInterruptedTTL},
		{"Retention", &o.Retention, 0},
		{"SandboxTTL", &o.SandboxTTL, 0},
		{"Lease", &o.Lease, DefaultLease},
		{"Quiet", &o.Quiet, DefaultQuiet},
		{"AttachWait", &o.AttachWait, DefaultAttachWait},
		{"CancelPoll", &o.CancelPoll, DefaultCancelPoll},
		{"ViewPoll", &o.ViewPoll, DefaultViewPoll},
		{"RunBudget", &o.RunBudget, DefaultRunBudget},
	} {
		if *d.value < 0 {
			errs = append(errs, fmt.Errorf("%s is %s, which is no time to wait", d.name, *d.value))
		}
		*d.value = cmp.Or(*d.value, d.or)
	}
	return errors.Join(errs...)
}
