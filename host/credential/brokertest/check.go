package brokertest

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"
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

// abandon is how long a case may take to notice that its context has ended.
const abandon = 10 * time.Second

// runCase runs one case on a goroutine of its own, so that FailNow can end it.
func runCase(ctx context.Context, one Case, fresh func(T) Bench, opts CheckOptions) Result {
	if ctx.Err() != nil {
		return Result{Case: one, Status: NotRun, Messages: []string{"the check was stopped"}}
	}
	ctx, cancel := context.WithCancel(ctx)
	if opts.Deadline > 0 {
		ctx, cancel = context.WithTimeout(ctx, opts.Deadline)
	}
	defer cancel()
	t := &reporter{ctx: ctx, name: one.Name, dir: opts.Dir}
	began := time.Now()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer t.cleanUp()
		defer t.recovered()
		one.runWith(t, fresh)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		select {
		case <-done:
		case <-time.After(abandon):
			buffer := make([]byte, 64<<10)
			t.Errorf("the case did not end with its context: %v\n%s", ctx.Err(), buffer[:runtime.Stack(buffer, true)])
		}
		t.Errorf("the case ended with its context: %v", ctx.Err())
	}
	return t.result(one, time.Since(began))
}

// reporter is the T of Check. It is safe for concurrent use, so that a case that doesn't end can be left
// behind.
type reporter struct {
	ctx  context.Context //nolint:containedctx // a case is one call
	name string          // of the case
	dir  string          // where TempDir makes directories

	mu              sync.Mutex
	messages        []string
	cleanups        []func()
	failed, skipped bool
}

var _ T = (*reporter)(nil)

func (t *reporter) Helper()                  {}
func (t *reporter) Name() string             { return t.name }
func (t *reporter) Context() context.Context { return t.ctx }

func (t *reporter) Cleanup(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanups = append(t.cleanups, f)
}

func (t *reporter) Logf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.messages = append(t.messages, fmt.Sprintf(format, args...))
}

func (t *reporter) Errorf(format string, args ...any) {
	t.Logf(format, args...)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = true
}

func (t *reporter) FailNow() {
	t.mu.Lock()
	t.failed = true
	t.mu.Unlock()
	runtime.Goexit()
}

func (t *reporter) Skipf(format string, args ...any) {
	t.Logf(format, args...)
	t.mu.Lock()
	t.skipped = true
	t.mu.Unlock()
	runtime.Goexit()
}

func (t *reporter) TempDir() string {
	dir, err := os.MkdirTemp(t.dir, "brokertest-")
	if err != nil {
		t.Errorf("making a temporary directory: %v", err)
		t.FailNow()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("removing a temporary directory: %v", err)
		}
	})
	return dir
}

func (t *reporter) recovered() {
	if p := recover(); p != nil {
		t.Errorf("panic: %v\n%s", p, debug.Stack())
	}
}

// cleanUp runs what was left, last first, also after a panic of one.
func (t *reporter) cleanUp() {
	for {
		t.mu.Lock()
		n := len(t.cleanups)
		if n == 0 {
			t.mu.Unlock()
			return
		}
		f := t.cleanups[n-1]
		t.cleanups = t.cleanups[:n-1]
		t.mu.Unlock()
		func() {
			defer t.recovered()
			f()
		}()
	}
}

// result is the case's ending as it is known now.
func (t *reporter) result(c Case, took time.Duration) Result {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := Result{Case: c, Status: Passed, Messages: slices.Clone(t.messages), Took: took}
	switch {
	case t.failed:
		r.Status = Failed
	case t.skipped:
		r.Status = NotRun
	}
	return r
}
