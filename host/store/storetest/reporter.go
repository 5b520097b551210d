package storetest

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
	t.fail()
	t.Logf(format, args...)
}

func (t *reporter) fail() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = true
}

func (t *reporter) FailNow() {
	t.fail()
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
	dir, err := os.MkdirTemp(t.dir, "storetest-")
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
