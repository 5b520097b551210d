package ledgerkit

import (
	"errors"
	"strconv"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// perRow is what building all indexes takes for one entry at most, on a slow machine, microseconds.
const perRow = 10

// Affordable says whether indexes over so many entries can be built within half of the time that the
// running call has. When they can't, listings read more than they show, which is slow but right, and
// the log says how the operator gets them.
func Affordable(rows int64) bool {
	left := alineo.CurrentCall().DeadlineMS
	takes := uint64(max(rows, 0)) * perRow / 1000 // milliseconds
	if left == 0 || takes <= left/2 {
		return true
	}
	alineo.Log(alineo.Warn, "the ledger has about "+strconv.FormatInt(rows, 10)+" entries and lacks the indexes that listings are quick by; "+
		"to have them built, for which every append waits, start once with deadline = \""+strconv.FormatUint(2*takes/1000+1, 10)+"s\" in the plugin's limits")
	return false
}

// Patience puts off what failed or can't be afforded, so that not every call waits for it: until ever
// more calls have passed.
type Patience struct{ failures, calls int }

// Wait says whether this call is to do without.
func (p *Patience) Wait() bool {
	if p.calls == 0 {
		return false
	}
	p.calls--
	return true
}

// Failed makes the next calls wait.
func (p *Patience) Failed() {
	p.failures = min(p.failures+1, 10)
	p.calls = 4 << p.failures
}

// Hindered tells whether a migration failed for a reason that reading has nothing to do with: the
// database may only be read, or another program holds it.
func Hindered(err error) bool {
	var failed *abi.Error
	return errors.As(err, &failed) && (failed.Code == abi.CodeUnavailable || failed.Code == abi.CodeDenied)
}

// ErrNewer is about a schema that a later plugin has made.
func ErrNewer(version, known int64) error {
	return &abi.Error{
		Code: abi.CodeUnsupported,
		Message: "the ledger's schema is of version " + strconv.FormatInt(version, 10) + ", this plugin knows " +
			strconv.FormatInt(known, 10) + "; it was left untouched, use a newer plugin",
	}
}

// NoRuns is why there are no tables of durable runs in a database that can be used otherwise.
const NoRuns = "the database has no tables of durable runs: it is of an older version, and bringing it up to date takes longer than this call has; " +
	"the log says what to do"
