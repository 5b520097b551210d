package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

const (
	firstWait = 100 * time.Millisecond
	growth    = 1.5

	maxStateWait    = time.Second
	maxSnapshotWait = 2 * time.Second
	maxExecdWait    = 2 * time.Second
)

// poll calls try at once and then after waits that grow, until it says that it is done, fails, or
// the time is over; the last is an error that says late.
func poll(ctx context.Context, limit, most time.Duration, late func() error, try func() (done bool, err error)) error {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for wait := firstWait; ; wait = min(time.Duration(float64(wait)*growth), most) {
		if done, err := try(); done || err != nil {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-deadline.C:
			timer.Stop()
			return late()
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

// awaitRunning waits until a sandbox is Running. What create answered is the first thing to go by.
func (c *Client) awaitRunning(ctx context.Context, box *opensandbox.Sandbox) error {
	status := box.Status
	late := func() error {
		return fmt.Errorf("%w: it did not reach Running within %s, and is %s", ErrNotReady, c.opts.ReadyTimeout, describe(status))
	}
	first := true
	return poll(ctx, c.opts.ReadyTimeout, maxStateWait, late, func() (bool, error) {
		if !first || status.State == "" {
			now, err := c.wire.GetSandbox(ctx, box.ID)
			if err != nil {
				return false, err
			}
			status = now.Status
		}
		first = false
		return settled(status)
	})
}

// settled reports whether a sandbox is up, and fails when it never will be.
func settled(status opensandbox.Status) (bool, error) {
	switch status.State {
	case opensandbox.StateRunning:
		return true, nil
	case opensandbox.StateFailed, opensandbox.StateTerminated:
		return false, fmt.Errorf("%w: it is %s", ErrNotReady, describe(status))
	}
	return false, nil
}

func describe(status opensandbox.Status) string {
	text := status.State
	if status.Reason != "" {
		text += " (" + status.Reason + ")"
	}
	if status.Message != "" {
		text += ": " + status.Message
	}
	return text
}

// awaitExecd waits until a running sandbox answers: Running only means that it was started.
func (c *Client) awaitExecd(ctx context.Context, id string) error {
	execd := c.wire.Execd(id)
	var last error
	late := func() error {
		return fmt.Errorf("%w: it does not answer after %s: %w", ErrNotReady, c.opts.ExecdTimeout, last)
	}
	const doubt = 5 // tries after which it is looked at whether it still lives
	tries := 0
	return poll(ctx, c.opts.ExecdTimeout, maxExecdWait, late, func() (bool, error) {
		last = execd.Ping(ctx)
		if last == nil || errors.Is(last, opensandbox.ErrUnauthorized) {
			return last == nil, last
		}
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if tries++; tries%doubt != 0 {
			return false, nil
		}
		box, err := c.wire.GetSandbox(ctx, id)
		if errors.Is(err, opensandbox.ErrNotFound) {
			return false, fmt.Errorf("%w: it is gone: %w", ErrNotReady, err)
		}
		if err != nil {
			return false, nil //nolint:nilerr // the next try will tell
		}
		_, err = settled(box.Status)
		return false, err
	})
}
