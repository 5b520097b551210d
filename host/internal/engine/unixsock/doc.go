// Package unixsock listens on and dials unix sockets whose path may be longer
// than the kernel's sun_path (108 bytes on Linux, 104 elsewhere).
//
//	l, err := unixsock.Listen("/a/very/deep/data/directory/sandboxes/6f…/execd.sock")
//	c, err := unixsock.Dial(ctx, "/a/very/deep/data/directory/sandboxes/6f…/execd.sock")
//
// On Linux a long path is reached through a descriptor of its directory
// (/proc/self/fd/N/name). Elsewhere a long path is an error that says so.
//
// imports: nothing of ours.
package unixsock
