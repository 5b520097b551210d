//go:build !linux

package jail

// MinLandlock is what reduced isolation would need.
const MinLandlock = 2

// LandlockVersion is 0: there is none.
func LandlockVersion() int { return 0 }

// SeccompFilters is false: there are none.
func SeccompFilters() bool { return false }
