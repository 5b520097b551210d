package plugin

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Buckets of a latency: powers of two of nanoseconds, each cut into eight.
const (
	latencyParts   = 3 // bits
	latencyBuckets = (64 - latencyParts) << latencyParts
)

// latency counts how long calls took. It is safe for concurrent use, and costs some nanoseconds a call.
type latency struct {
	counts [latencyBuckets]atomic.Uint64
}

func (l *latency) add(took time.Duration) {
	l.counts[latencyBucket(uint64(max(took, 0)))].Add(1)
}

func latencyBucket(ns uint64) int {
	if ns < 1<<latencyParts {
		return int(ns)
	}
	shift := bits.Len64(ns) - 1 - latencyParts
	return (shift+1)<<latencyParts + int(ns>>shift)&(1<<latencyParts-1)
}

// latencyMiddle is the middle of a bucket.
func latencyMiddle(bucket int) time.Duration {
	if bucket < 1<<latencyParts {
		return time.Duration(bucket)
	}
	shift := bucket>>latencyParts - 1
	low := uint64(1<<latencyParts+bucket&(1<<latencyParts-1)) << shift
	return time.Duration(low + uint64(1)<<shift/2) //nolint:gosec // below 2^63, as what was added is
}

// quantile is how long so many percent of the calls took at most, 0 without calls.
func (l *latency) quantile(percent uint64) time.Duration {
	var counts [latencyBuckets]uint64
	total := uint64(0)
	for i := range counts {
		counts[i] = l.counts[i].Load()
		total += counts[i]
	}
	const hundred = 100
	rank := (total*percent + hundred - 1) / hundred
	for i := range counts {
		n := counts[i]
		if n >= rank && n > 0 {
			return latencyMiddle(i)
		}
		rank -= n
	}
	return 0
}
