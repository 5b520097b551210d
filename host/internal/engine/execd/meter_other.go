//go:build !linux

package execd

// machineMemory is not known here.
func machineMemory() int64 { return 0 }

// addUp can't.
func addUp() (usage, error) { return usage{}, errNoMetrics }
