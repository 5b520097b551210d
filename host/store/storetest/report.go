package storetest

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
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

// Report is what Check returns.
type Report struct {
	Results                []Result
	Passed, Failed, NotRun int
}

// Check runs the suite without a testing framework, stops early when ctx ends, and writes a line a
// case to w, which may be nil. A panic of the store fails its case.
func Check(ctx context.Context, fresh func(T) Storage, w io.Writer, features ...Feature) Report {
	if w == nil {
		w = io.Discard
	}
	var report Report
	for _, c := range Cases() {
		r := Result{Case: c, Status: NotRun, Messages: []string{"the check was stopped"}}
		if ctx.Err() == nil {
			r = check(ctx, c, fresh, features)
		}
		switch r.Status {
		case Passed:
			report.Passed++
		case Failed:
			report.Failed++
		case NotRun:
			report.NotRun++
		}
		report.Results = append(report.Results, r)
		fmt.Fprintf(w, "%-8s %s: %s\n", r.Status, c.Name, c.Rule) //nolint:errcheck // progress only
		for _, message := range r.Messages {
			fmt.Fprintf(w, "         %s\n", message) //nolint:errcheck // progress only
		}
	}
	return report
}

// check runs one case on a goroutine of its own, so that FailNow can end it.
func check(ctx context.Context, c Case, fresh func(T) Storage, features []Feature) Result {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t := &reporter{ctx: ctx}
	started := time.Now()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer t.cleanUp()
		defer t.recovered()
		c.runWith(t, fresh, features)
	}()
	<-done
	r := Result{Case: c, Status: Passed, Messages: t.messages, Took: time.Since(started)}
	switch {
	case t.failed:
		r.Status = Failed
	case t.skipped:
		r.Status = NotRun
	}
	return r
}

// reporter is the T of Check. A case and its clean-up use it from one goroutine.
type reporter struct {
	ctx             context.Context //nolint:containedctx // a case is one call
	messages        []string
	cleanups        []func()
	failed, skipped bool
}

func (t *reporter) Helper()                  {}
func (t *reporter) Context() context.Context { return t.ctx }
func (t *reporter) Cleanup(f func())         { t.cleanups = append(t.cleanups, f) }

func (t *reporter) Logf(format string, args ...any) {
	t.messages = append(t.messages, fmt.Sprintf(format, args...))
}

func (t *reporter) Errorf(format string, args ...any) {
	t.failed = true
	t.Logf(format, args...)
}

func (t *reporter) FailNow() {
	t.failed = true
	runtime.Goexit()
}

func (t *reporter) Skipf(format string, args ...any) {
	t.skipped = true
	t.Logf(format, args...)
	runtime.Goexit()
}

func (t *reporter) TempDir() string {
	dir, err := os.MkdirTemp("", "storetest-")
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
	for len(t.cleanups) > 0 {
		f := t.cleanups[len(t.cleanups)-1]
		t.cleanups = t.cleanups[:len(t.cleanups)-1]
		func() {
			defer t.recovered()
			f()
		}()
	}
}
