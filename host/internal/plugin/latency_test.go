package plugin

import (
	"math"
	"testing"
	"time"
)

func TestLatency(t *testing.T) {
	t.Parallel()
	var l latency
	if got := l.quantile(99); got != 0 {
		t.Errorf("of nothing it is %v", got)
	}
	for ms := 1; ms <= 1000; ms++ {
		l.add(time.Duration(ms) * time.Millisecond)
	}
	for percent, want := range map[uint64]time.Duration{50: 500 * time.Millisecond, 99: 990 * time.Millisecond, 100: time.Second} {
		if got := l.quantile(percent); math.Abs(float64(got-want)) > 0.063*float64(want) {
			t.Errorf("p%d is %v, want about %v", percent, got, want)
		}
	}
}

// TestLatencyBuckets: each time is in a bucket whose middle is near, and longer ones are in no earlier.
func TestLatencyBuckets(t *testing.T) {
	t.Parallel()
	last := 0
	for shift := range 63 {
		for _, add := range []uint64{0, 1 << shift / 3, 1 << shift / 2} {
			ns := uint64(1)<<shift + add
			bucket := latencyBucket(ns)
			if bucket < last || bucket >= latencyBuckets {
				t.Errorf("%d ns is in bucket %d, after %d", ns, bucket, last)
			}
			last = bucket
			if middle := float64(latencyMiddle(bucket)); math.Abs(middle-float64(ns)) > 0.0626*float64(ns)+0.5 {
				t.Errorf("%d ns is in a bucket around %.0f", ns, middle)
			}
		}
	}
	var l latency
	l.add(-1)
	l.add(math.MaxInt64)
	if got := l.quantile(50); got != 0 {
		t.Errorf("a clock that goes back counts %v", got)
	}
}
