//go:build !linux

package pgtest

import "os/exec"

// tie does nothing here: the tests run as an ordinary user, and stop the server themselves.
func tie(*exec.Cmd, int, int) {}
