//go:build unix && !linux

package plugin

const mapNoReserve = 0
