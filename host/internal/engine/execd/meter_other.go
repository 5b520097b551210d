//go:build !linux

package execd

import "errors"

// machineMemory is not known here.
func machineMemory() int64 { return 0 }

// addUp can't.
func addUp() (usage, error) {
	return usage{}, errors.New("this system says nothing of what processes use")
}
