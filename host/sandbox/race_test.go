//go:build race

package sandbox_test

const underRace = true
