//go:build !race

package adapter_test

// raced says that the race detector makes everything slow, so that times mean nothing.
const raced = false
