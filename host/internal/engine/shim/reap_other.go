//go:build !linux

package shim

import "os/exec"

// startReaped starts a process that is waited for in the background.
func startReaped(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }()
	return nil
}
