//go:build unix && !linux

package shim

// watchDisk is for Linux: elsewhere nothing is limited.
func (s *keeper) watchDisk() {}
