//go:build race

package host_test

// raceEnabled: SQLite in Go is ten times slower under the race detector.
const raceEnabled = true
