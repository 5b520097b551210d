package plugin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
)

// callContext is the context of one trip into a guest. Timers and goroutines are too dear for a call
// of less than a microsecond, so it has none until somebody asks for Done: the guest's deadline is
// seen by those who ask for Err, which are tick and the host functions.
//
// Err may say that time is up shortly before Done is closed.
type callContext struct {
	parent   context.Context //nolint:containedctx // this is a context, of one call
	inst     *instance
	op       abi.Op
	call     *capability.Call // lent by the caller, or made for the guest; may be nil
	began    time.Duration    // on the runtime's clock
	deadline time.Duration    // on the runtime's clock, the caller's or the plugin's, whichever is first
	limit    time.Duration    // the plugin's own, for messages
	own      bool             // the deadline is the plugin's own
	fuel     int64            // used so far, in units of package meter
	refused  bool             // the guest was refused memory
	lent     bool             // a capability was given the context, and other goroutines may have it

	mu     sync.Mutex
	lazy   context.Context //nolint:containedctx // made by the first Done
	cancel func()
	ended  bool
}

var _ context.Context = (*callContext)(nil)

// reset makes c the context of a call whose limit is counted from began.
func (c *callContext) reset(parent context.Context, inst *instance, op abi.Op, began, limit time.Duration) {
	c.parent, c.inst, c.op, c.call = parent, inst, op, nil
	c.began, c.limit, c.deadline, c.own = began, limit, began+limit, true
	c.fuel, c.refused, c.lent = 0, false, false
	c.lazy, c.cancel, c.ended = nil, nil, false
	if d, ok := parent.Deadline(); ok {
		if at := inst.plugin.runtime.clock.at(d); at < c.deadline {
			c.deadline, c.own = at, false
		}
	}
}

// left is how much time the call had when it began.
func (c *callContext) left() time.Duration { return c.deadline - c.began }

// Deadline implements context.Context.
func (c *callContext) Deadline() (time.Time, bool) {
	return c.inst.plugin.runtime.clock.time(c.deadline), true
}

// Done implements context.Context. The first use costs a timer.
func (c *callContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lazy == nil {
		deadline, _ := c.Deadline()
		lazy, cancel := context.WithDeadline(c.parent, deadline)
		stop := context.AfterFunc(c.inst.plugin.life, cancel)
		c.lazy, c.cancel = lazy, func() { stop(); cancel() }
		if c.ended {
			c.cancel()
		}
	}
	return c.lazy.Done()
}

// Err implements context.Context. Where Done was asked for, it says that the context has ended as soon
// as Done is closed, also when that is because the call is over.
func (c *callContext) Err() error {
	if err := c.parent.Err(); err != nil {
		return err
	}
	if c.lent {
		c.mu.Lock()
		lazy := c.lazy
		c.mu.Unlock()
		if lazy != nil && lazy.Err() != nil {
			return lazy.Err()
		}
	}
	if c.inst.plugin.aborted.Load() {
		return context.Canceled
	}
	if c.inst.plugin.runtime.clock.now() >= c.deadline {
		return context.DeadlineExceeded
	}
	return nil
}

// Value implements context.Context.
func (c *callContext) Value(key any) any {
	if key == (callKey{}) {
		return c
	}
	return c.parent.Value(key)
}

// end releases what Done has made.
func (c *callContext) end() {
	if !c.lent {
		return // Done was never called
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if c.cancel != nil {
		c.cancel()
	}
}

// check ends the trip into the guest when its time is up. Host functions call it; it panics.
func (c *callContext) check() {
	if err := c.Err(); err != nil {
		panic(c.expired(err))
	}
}

// expired returns the fault that a passed deadline or a caller that gave up is.
func (c *callContext) expired(err error) *fault {
	f := &fault{blameless: true}
	switch {
	case c.inst.plugin.aborted.Load():
		f.kind, f.err = KindClosed, fmt.Errorf("the plugin is being closed: %w", err)
	case c.own && c.parent.Err() == nil:
		f.kind, f.blameless = KindDeadline, false
		f.err = fmt.Errorf("the guest did not finish within %v (limits.%s): %w", c.limit, c.limitKey(), err)
	default:
		f.kind, f.err = gaveUp(err)
	}
	return f
}

// gaveUp explains the end of a caller's own context.
func gaveUp(err error) (Kind, error) {
	if errors.Is(err, context.DeadlineExceeded) {
		return KindDeadline, fmt.Errorf("the caller's deadline passed: %w", err)
	}
	return KindCanceled, fmt.Errorf("the caller gave up: %w", err)
}

func (c *callContext) limitKey() string {
	if c.starting() {
		return "start_deadline"
	}
	return "deadline"
}

// starting says that the instance is not configured yet, and so has no capabilities.
func (c *callContext) starting() bool {
	return c.op == 0 || c.op == abi.OpDescribe || c.op == abi.OpConfigure
}

// sleep waits for d, or less when the call's time is up; it then panics as check does.
func (c *callContext) sleep(d time.Duration) {
	c.lent = true
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.Done():
	}
	c.check()
}

// clock measures time as durations since the runtime was made: one reading of the monotonic clock,
// where time.Now takes two.
type clock struct {
	epoch time.Time
}

func (c clock) now() time.Duration { return time.Since(c.epoch) }

func (c clock) at(t time.Time) time.Duration { return t.Sub(c.epoch) }

func (c clock) time(d time.Duration) time.Time { return c.epoch.Add(d) }
