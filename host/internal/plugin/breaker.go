package plugin

import (
	"sync"
	"sync/atomic"
	"time"
)

// The crash budget: this many crashes within this time make a plugin fail. It is tried again after a
// pause that doubles each time.
const (
	crashBudget = 5
	crashWindow = time.Minute
	firstPause  = time.Second
	longPause   = time.Minute
)

// breaker keeps a plugin that crashes again and again from being started again and again.
type breaker struct {
	clock func() time.Duration

	broken atomic.Bool // not working; the fast path looks at nothing else

	mu      sync.Mutex
	crashes []time.Duration // of the last window, oldest first
	pause   time.Duration   // the next one
	until   time.Duration   // when a call may try again
	trying  bool            // one does
	forever bool
	reason  string // of the last crash
}

// allow returns nil when a call may be made; trial says that it is the one that tries whether the
// plugin works again, and that settle must be told.
func (b *breaker) allow() (trial bool, failure *fault) {
	if !b.broken.Load() {
		return false, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock()
	switch {
	case !b.broken.Load():
		return false, nil
	case b.forever:
		return false, faultf(KindFailed, "the guest kept its state in memory and lost it in a crash; it must be loaded anew: %s", b.reason)
	case b.trying || now < b.until:
		return false, faultf(KindFailed, "the guest crashed too often and is tried again in %v; the last time: %s",
			max(b.until-now, 0).Round(time.Millisecond), b.reason)
	default:
		b.trying = true
		return true, nil
	}
}

// crash takes note of a crash and says whether the plugin has failed by it.
func (b *breaker) crash(trial bool, reason string) (failed bool, pause time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock()
	b.reason = reason
	for len(b.crashes) > 0 && now-b.crashes[0] > crashWindow {
		b.crashes = b.crashes[1:]
	}
	b.crashes = append(b.crashes, now)
	switch {
	case trial:
		b.trying = false
	case b.broken.Load() || len(b.crashes) < crashBudget:
		return false, 0
	}
	pause = max(b.pause, firstPause)
	b.until, b.pause = now+pause, min(2*pause, longPause)
	failed = b.broken.CompareAndSwap(false, true)
	return failed, pause
}

// lose makes the plugin fail for good, and says whether that is news.
func (b *breaker) lose(reason string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forever, b.reason = true, reason
	return b.broken.CompareAndSwap(false, true)
}

// settle ends a trial: a call came to its end, or never began, and then another may try.
func (b *breaker) settle(works bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trying = false
	if works && !b.forever {
		b.crashes, b.pause = nil, 0
		b.broken.Store(false)
	}
}

// status returns whether the plugin has failed, for how much longer, and whether for good.
func (b *breaker) status() (failed, forever bool, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.broken.Load(), b.forever, max(b.until-b.clock(), 0)
}
