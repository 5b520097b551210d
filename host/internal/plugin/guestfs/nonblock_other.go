//go:build !unix

package guestfs

// nonblock is nothing where there are no pipes among files.
const nonblock = 0
