//go:build !linux

package shim

import "os/exec"

// startReaped starts a process that is waited for in the background; ended is closed then.
func startReaped(cmd *exec.Cmd, ended chan<- struct{}) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	return nil
}
