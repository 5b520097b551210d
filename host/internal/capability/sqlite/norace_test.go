//go:build !race

package sqlite

const underRace = false
