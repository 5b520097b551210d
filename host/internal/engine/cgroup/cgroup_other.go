//go:build !linux

package cgroup

import (
	"context"
	"errors"
	"syscall"
	"time"
)

// Find finds nothing here.
func Find() (Parent, []string) { return Parent{}, []string{"control groups are Linux's"} }

// ErrStuck is never returned.
var ErrStuck = errors.New("a thread could not leave a control group")

// Named is no group.
func (p Parent) Named(string) Group { return Group{} }

// Create makes no group.
func (p Parent) Create(string) (Group, error) { return Group{}, nil }

// Limit does nothing.
func (p Parent) Limit(Group, Limits) error { return nil }

// Spawn leaves attr as it is.
func (g Group) Spawn(*syscall.SysProcAttr) (func() error, error) {
	return func() error { return nil }, nil
}

// Add does nothing.
func (g Group) Add(int) error { return nil }

// CanFreeze is false.
func (g Group) CanFreeze() bool { return false }

// Freeze does nothing.
func (g Group) Freeze(context.Context) error { return nil }

// Thaw does nothing.
func (g Group) Thaw(time.Duration) error { return nil }

// Unthrottle does nothing.
func (g Group) Unthrottle() {}

// Remove does nothing.
func (g Group) Remove(context.Context) error { return nil }

// OOMKills is 0.
func (g Group) OOMKills() int { return 0 }

// UsageFiles is none.
func (g Group) UsageFiles() UsageFiles { return UsageFiles{} }
