package plugin

import (
	"fmt"
	"runtime"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/plugin/meter"
)

// Limits bound one plugin. A zero field stands for its default.
type Limits struct {
	MemoryBytes   int64         // linear memory of an instance, whole pages of 64 KiB of it
	Deadline      time.Duration // of one call, from when it has an instance
	FirstDeadline time.Duration // of calls before one has ended well, where that is longer: a store is brought up to date by it
	StartDeadline time.Duration // of starting and configuring one instance
	MaxRequest    int64         // bytes that the host hands to the guest at once
	MaxResponse   int64         // bytes that the guest hands to the host at once
	MaxModule     int64         // bytes of the module
	Instances     int           // that run at once; 1 for guests that keep state
	QueueDeadline time.Duration // of waiting for an instance
	MaxQueue      int           // callers that wait
	LogPerSecond  int           // lines that the guest may log; a second's worth may come at once
}

// DefaultLimits returns what a plugin may use when alineo.toml says nothing.
func DefaultLimits() Limits {
	return Limits{
		MemoryBytes:   64 << 20,
		Deadline:      5 * time.Second,
		StartDeadline: 10 * time.Second,
		MaxRequest:    16 << 20,
		MaxResponse:   16 << 20,
		MaxModule:     32 << 20,
		Instances:     max(2, runtime.GOMAXPROCS(0)),
		QueueDeadline: 30 * time.Second,
		MaxQueue:      1024,
		LogPerSecond:  100,
	}
}

// orDefault fills in what is zero and refuses what makes no sense.
func (l Limits) orDefault() (Limits, error) {
	d := DefaultLimits()
	for _, f := range []struct {
		key          string
		value        *int64
		byDefault    int64
		lowest, most int64
	}{
		{"memory", &l.MemoryBytes, d.MemoryBytes, meter.PageSize, 4 << 30},
		{"max_request", &l.MaxRequest, d.MaxRequest, 1, 1 << 30},
		{"max_response", &l.MaxResponse, d.MaxResponse, 1, 1 << 30},
		{"max_module", &l.MaxModule, d.MaxModule, 1, 1 << 30},
		{"deadline", (*int64)(&l.Deadline), int64(d.Deadline), 1, 1 << 62},
		{"start_deadline", (*int64)(&l.StartDeadline), int64(d.StartDeadline), 1, 1 << 62},
		{"queue_deadline", (*int64)(&l.QueueDeadline), int64(d.QueueDeadline), 1, 1 << 62},
	} {
		if *f.value == 0 {
			*f.value = f.byDefault
		}
		if *f.value < f.lowest || *f.value > f.most {
			return l, fmt.Errorf("limits.%s: %d is not between %d and %d", f.key, *f.value, f.lowest, f.most)
		}
	}
	for _, f := range []struct {
		key       string
		value     *int
		byDefault int
	}{
		{"instances", &l.Instances, d.Instances},
		{"max_queue", &l.MaxQueue, d.MaxQueue},
		{"log_lines", &l.LogPerSecond, d.LogPerSecond},
	} {
		if *f.value == 0 {
			*f.value = f.byDefault
		}
		if *f.value < 0 {
			return l, fmt.Errorf("limits.%s: %d is negative", f.key, *f.value)
		}
	}
	return l, nil
}

// deadline is how long a call may take.
func (p *Plugin) deadline() time.Duration {
	if p.limits.FirstDeadline > p.limits.Deadline && !p.proven.Load() {
		return p.limits.FirstDeadline
	}
	return p.limits.Deadline
}

// pages is the linear memory of an instance in pages.
func (l Limits) pages() uint32 { return uint32(l.MemoryBytes / meter.PageSize) }
