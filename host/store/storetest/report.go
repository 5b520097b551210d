package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
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
	Messages []string      // why it failed or did not run
	Took     time.Duration // of all rounds together
}

// Report is what Check returns.
type Report struct {
	Results                []Result // in the order of Cases
	Passed, Failed, NotRun int
}

func (r *Report) add(result Result) {
	switch result.Status {
	case Passed:
		r.Passed++
	case Failed:
		r.Failed++
	case NotRun:
		r.NotRun++
	}
	r.Results = append(r.Results, result)
}

// CheckOptions say how Check runs the suite. The zero value runs every case that needs no feature once,
// one after another, for as long as it takes.
type CheckOptions struct {
	Features []Feature // that the store declares
	Match    func(Case) bool
	Parallel int           // cases at once; 0: one
	Rounds   int           // how often each case runs, from the second time on in an order of chance; 0: once
	Seed     uint64        // of that order
	Deadline time.Duration // of a case; 0: none
	Dir      string        // where the directories of T are made; empty: where the system keeps such
	// Ended hears of each ending, one at a time and in the order of Cases. It may be nil.
	Ended func(Result)
	// GiveUp is asked after each run of a case, of several goroutines, and returns why the rest is to be
	// left out, or "". It may be nil.
	GiveUp func(Result) string
}

// Check runs the suite without a testing framework, and stops early when ctx ends. A panic of the store
// fails its case. A case that passes in one round and not in another has failed.
func Check(ctx context.Context, fresh func(T) Storage, opts CheckOptions) Report {
	c := &checker{opts: opts, fresh: fresh}
	for _, one := range Cases() {
		if opts.Match == nil || opts.Match(one) {
			c.cases = append(c.cases, one)
		}
	}
	c.rounds = make([][]Result, len(c.cases))
	turns := make(chan int)
	var workers sync.WaitGroup
	for range max(opts.Parallel, 1) {
		workers.Go(func() {
			for i := range turns {
				c.turn(ctx, i)
			}
		})
	}
	for _, i := range c.order() {
		turns <- i
	}
	close(turns)
	workers.Wait()
	return c.report
}

// checker runs the cases of one Check.
type checker struct {
	opts  CheckOptions
	fresh func(T) Storage
	cases []Case

	mu     sync.Mutex
	gaveUp string     // why the rest is left out
	rounds [][]Result // by case: each time that it ran
	report Report     // of the cases that are over, and all before them
}

// order is the cases' indices, round after round.
func (c *checker) order() []int {
	var order []int
	chance := rand.New(rand.NewPCG(c.opts.Seed, 0)) //nolint:gosec // an order, not a secret
	for round := range max(c.opts.Rounds, 1) {
		at := len(order)
		for i := range c.cases {
			order = append(order, i)
		}
		if round > 0 {
			now := order[at:]
			chance.Shuffle(len(now), func(a, b int) { now[a], now[b] = now[b], now[a] })
		}
	}
	return order
}

// turn runs a case once, or leaves it out.
func (c *checker) turn(ctx context.Context, i int) {
	c.mu.Lock()
	why := c.gaveUp
	c.mu.Unlock()
	if ctx.Err() != nil {
		why = "the check was stopped"
	}
	r := Result{Case: c.cases[i], Status: NotRun, Messages: []string{why}}
	if why == "" {
		r = c.run(ctx, c.cases[i])
		if c.opts.GiveUp != nil {
			why = c.opts.GiveUp(r)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gaveUp == "" {
		c.gaveUp = why
	}
	c.rounds[i] = append(c.rounds[i], r)
	for next := len(c.report.Results); next < len(c.cases) && len(c.rounds[next]) == max(c.opts.Rounds, 1); next++ {
		sum := sumUp(c.rounds[next])
		c.report.add(sum)
		if c.opts.Ended != nil {
			c.opts.Ended(sum)
		}
	}
}

// sumUp makes one ending of a case's rounds.
func sumUp(rounds []Result) Result {
	sum := rounds[0]
	failed, passed := 0, 0
	for i, r := range rounds {
		if i > 0 {
			sum.Took += r.Took
		}
		switch r.Status {
		case Failed:
			if failed == 0 {
				sum.Status, sum.Messages = Failed, slices.Clone(r.Messages)
			}
			failed++
		case Passed:
			passed++
		case NotRun:
		}
	}
	switch {
	case failed > 0 && passed > 0:
		sum.Messages = append(sum.Messages, fmt.Sprintf(
			"it failed in %d of %d runs: what the store does depends on chance, or on what ran before", failed, failed+passed))
	case failed == 0 && passed > 0:
		sum.Status, sum.Messages = Passed, nil
	}
	return sum
}

// run runs one case.
func (c *checker) run(ctx context.Context, one Case) Result {
	opts := caserun.Options{Name: one.Name, Dir: c.opts.Dir, Deadline: c.opts.Deadline}
	end := caserun.Run(ctx, opts, func(t *caserun.T) { one.runWith(t, c.fresh, c.opts.Features) })
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
