//go:build race

package durabletest_test

import "testing"

// TestWithoutRaceDetector says that the suite is not run under the race detector.
func TestWithoutRaceDetector(t *testing.T) {
	t.Parallel()
	t.Skip("LEFT OUT: the suite waits for leases and real sandboxes for minutes; host/durable and host/serve run this code under the detector")
}
