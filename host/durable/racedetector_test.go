//go:build race

package durable_test

import "testing"

// TestWithoutRaceDetector says which tests are not run under the race detector.
func TestWithoutRaceDetector(t *testing.T) {
	t.Parallel()
	t.Skip("LEFT OUT: hosts that are killed are processes of their own, which the detector sees nothing of")
}
