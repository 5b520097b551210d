//go:build unix

package guestfs

import "syscall"

// nonblock keeps a pipe that took a file's place from holding its opener up.
const nonblock = syscall.O_NONBLOCK
