//go:build race

package plugin_test

// raced says that the race detector makes everything slow, so that times mean nothing.
const raced = true
