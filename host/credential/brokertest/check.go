package brokertest

import (
	"context"
	"sync"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/caserun"
)

// Status is how a case ended.
type Status string

// Endings of a case.
const (
	Passed Status = "passed"
	Failed Status = "FAILED"
	NotRun Status = "not run"
)

// Result is one case's ending.
type Result struct {
	Case     Case
	Status   Status
	Messages []string // why it failed or did not run
	Took     time.Duration
}

// CheckOptions say how Check runs the suite. The zero value runs every case, one after another, for as long
// as it takes.
type CheckOptions struct {
	Match    func(Case) bool
	Parallel int           // cases at once; 0: one
	Deadline time.Duration // of a case; 0: none
	Dir      string        // where the directories of T are made; empty: where the system keeps such
	// Ended hears of each ending, one at a time and in the order of Cases. It may be nil.
	Ended func(Result)
}

// Check runs the suite without a testing framework, and stops early when ctx ends. A panic of the broker
// fails its case.
func Check(ctx context.Context, fresh func(T) Bench, opts CheckOptions) []Result {
	var cases []Case
	for _, one := range Cases() {
		if opts.Match == nil || opts.Match(one) {
			cases = append(cases, one)
		}
	}
	results := make([]Result, len(cases))
	ended := make([]bool, len(cases))
	turns := make(chan int)
	var mu sync.Mutex
	next := 0
	tell := func(i int) {
		mu.Lock()
		defer mu.Unlock()
		for ended[i] = true; next < len(cases) && ended[next]; next++ {
			if opts.Ended != nil {
				opts.Ended(results[next])
			}
		}
	}
	var workers sync.WaitGroup
	for range max(opts.Parallel, 1) {
		workers.Go(func() {
			for i := range turns {
				results[i] = runCase(ctx, cases[i], fresh, opts)
				tell(i)
			}
		})
	}
	for i := range cases {
		turns <- i
	}
	close(turns)
	workers.Wait()
	return results
}

// runCase runs one case.
func runCase(ctx context.Context, one Case, fresh func(T) Bench, opts CheckOptions) Result {
	if ctx.Err() != nil {
		return Result{Case: one, Status: NotRun, Messages: []string{"the check was stopped"}}
	}
	run := caserun.Options{Name: one.Name, Dir: opts.Dir, Deadline: opts.Deadline}
	end := caserun.Run(ctx, run, func(t *caserun.T) { one.runWith(t, fresh) })
	r := Result{Case: one, Status: Passed, Messages: end.Messages, Took: end.Took}
	switch {
	case end.Failed && ctx.Err() != nil: // what failed is the call that was given up
		r.Status, r.Messages = NotRun, []string{"the check was stopped"}
	case end.Failed:
		r.Status = Failed
	case end.Skipped:
		r.Status = NotRun
	}
	return r
}
