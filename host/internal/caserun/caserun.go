package caserun

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

// Options say how a case is run.
type Options struct {
	Name     string        // of the case
	Dir      string        // where TempDir makes directories; empty: where the system keeps such
	Deadline time.Duration // of the case; 0: that of the context
}

// Ending is how a case ended.
type Ending struct {
	Failed, Skipped bool
	Messages        []string
	Took            time.Duration
}

// abandon is how long a case may go on after its context has ended.
const abandon = 10 * time.Second

// Run runs a case to its end, or leaves it behind. What it had to clean up is cleaned up.
func Run(ctx context.Context, opts Options, run func(t *T)) Ending {
	var cancel context.CancelFunc
	if opts.Deadline > 0 {
		ctx, cancel = context.WithTimeout(ctx, opts.Deadline)
	} else {
		ctx, cancel = context.WithCancel(ctx)
	}
	defer cancel()
	t := &T{ctx: ctx, name: opts.Name, dir: opts.Dir}
	began := time.Now()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer t.cleanUp()
		defer t.recovered()
		run(t)
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
	}
	if opts.Deadline > 0 && context.Cause(ctx) == context.DeadlineExceeded { //nolint:errorlint // the cause itself
		t.Errorf("the case had %v and needed more", opts.Deadline)
	}
	return t.ending(time.Since(began))
}

// T is a case's testing.T. It is safe for concurrent use, so that a case that doesn't end can be left
// behind.
type T struct {
	ctx  context.Context //nolint:containedctx // a case is one call
	name string
	dir  string

	mu              sync.Mutex
	messages        []string
	cleanups        []func()
	failed, skipped bool
}

// Helper does nothing: messages name no line.
func (t *T) Helper() {}

// Name returns the case's name.
func (t *T) Name() string { return t.name }

// Context ends with the case's deadline.
func (t *T) Context() context.Context { return t.ctx }

// Cleanup runs f when the case has ended, last first.
func (t *T) Cleanup(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanups = append(t.cleanups, f)
}

// Logf adds a message.
func (t *T) Logf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.messages = append(t.messages, fmt.Sprintf(format, args...))
}

// Errorf adds a message and fails the case, which goes on.
func (t *T) Errorf(format string, args ...any) {
	t.fail()
	t.Logf(format, args...)
}

func (t *T) fail() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = true
}

// FailNow fails the case and ends it.
func (t *T) FailNow() {
	t.fail()
	runtime.Goexit()
}

// Skipf adds a message and ends the case as one that was not run.
func (t *T) Skipf(format string, args ...any) {
	t.Logf(format, args...)
	t.mu.Lock()
	t.skipped = true
	t.mu.Unlock()
	runtime.Goexit()
}

// TempDir makes a directory that is removed when the case has ended.
func (t *T) TempDir() string {
	dir, err := os.MkdirTemp(t.dir, "case-")
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

func (t *T) recovered() {
	if p := recover(); p != nil {
		t.Errorf("panic: %v\n%s", p, debug.Stack())
	}
}

// cleanUp runs what was left, last first, also after a panic of one.
func (t *T) cleanUp() {
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

// ending is the case's as it is known now.
func (t *T) ending(took time.Duration) Ending {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Ending{Failed: t.failed, Skipped: t.skipped, Messages: slices.Clone(t.messages), Took: took}
}
