//go:build race

package adapter_test

const raced = true
