package plugintest

import (
	"time"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/store/storetest"
)

// Status is how a case ended.
type Status string

// Endings.
const (
	Passed Status = "passed"
	Failed Status = "failed"
	NotRun Status = "not_run"
)

// Case is one rule and how it ended.
type Case struct {
	Name     string   `json:"name"` // group/rule
	Rule     string   `json:"rule"` // a sentence
	Status   Status   `json:"status,omitempty"`
	Messages []string `json:"messages,omitempty"` // what was expected and what came, or why it was not run
	// Failure is what the host says of the guest's worst end in this case: trap, memory, deadline,
	// protocol …; empty when it answered every call.
	Failure string        `json:"failure,omitempty"`
	Took    time.Duration `json:"tookNs,omitempty"`
}

// Plan is what is known before the first case runs.
type Plan struct {
	Name     string       `json:"name"`
	SHA256   string       `json:"sha256"`
	Manifest abi.Manifest `json:"manifest"`
	Grants   []Granted    `json:"grants"`
	Features []string     `json:"features"` // of the suite, that the plugin has
	Cases    int          `json:"cases"`
	Rounds   int          `json:"rounds"`
	Seed     uint64       `json:"seed"`
}

// Granted is something that the plugin asked for and was given.
type Granted struct {
	Capability string `json:"capability"`
	Resource   string `json:"resource"`
	Reason     string `json:"reason"` // the plugin's own words
	As         string `json:"as"`     // what it is in each case
}

// Report is what came of all cases.
type Report struct {
	Plan   Plan          `json:"plan"`
	Cases  []Case        `json:"cases"`
	Passed int           `json:"passed"`
	Failed int           `json:"failed"`
	NotRun int           `json:"notRun"`
	Took   time.Duration `json:"tookNs"`
}

func (r *Report) add(c Case) {
	switch c.Status {
	case Passed:
		r.Passed++
	case Failed:
		r.Failed++
	case NotRun:
		r.NotRun++
	}
	r.Cases = append(r.Cases, c)
}

// List returns every case, without an ending.
func List() []Case {
	var list []Case
	for _, c := range checks() {
		list = append(list, Case{Name: c.name, Rule: c.rule})
	}
	for _, c := range storetest.Cases() {
		list = append(list, Case{Name: c.Name, Rule: c.Rule})
	}
	return list
}
