//go:build unix && !linux

package shim

import "syscall"

func (s *keeper) prepare() error { return nil }

func namespaces(Seed) (*syscall.SysProcAttr, error) { return &syscall.SysProcAttr{Setsid: true}, nil }

func (p *initProcess) sweep() {}
