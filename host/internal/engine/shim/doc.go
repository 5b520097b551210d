// Package shim keeps one sandbox: a small process outside the sandbox's
// namespaces that owns its sockets, its time to live and its init, and that
// outlives the engine.
//
// The engine starts one and talks to it, then or after a restart, through a
// socket in the sandbox's directory:
//
//	b, err := shim.Begin(image, lock, seed)   // shim and init start, and wait
//	err = b.Start(ctx, config)                // returns when the sandbox is ready
//	c := shim.Dial(dir)
//	st, err := c.State(ctx)
//	err = c.Renew(ctx, time.Now().Add(time.Hour))
//	err = c.Destroy(ctx)                      // processes, mounts and directory are gone
//	c.Wait(ctx)                               // returns when the shim has
//
// The files of a sandbox's directory:
//
//	lock          held (flock) as long as the shim lives: it is how a dead
//	              sandbox is told from one that is starting
//	shim.sock     the shim's own socket
//	execd.sock    the execd socket; the shim made it, the init serves it
//	egress.sock   the egress API, where the sandbox has a way out
//	layer, work, root   what the sandbox wrote, and overlay's own
//
// Between Begin and Start the sandbox's directory is filled and gets its name; and a sandbox may be begun
// long before anybody wants it. If the engine ends in between, so does what it began.
//
// If the shim dies its init is killed by the kernel; if the init dies the
// shim stays to tell how. Nobody else has to be alive for a sandbox to end
// when its time is over.
//
// With a credential proxy the shim also holds the sandbox's credentials, and the
// key of the authority that the sandbox trusts: in its memory alone, which no
// other process may look into. They end with it.
//
// imports: egress, intercept, vault, trail, trust, guest, jail, reexec, cgroup,
// layer, unixsock.
package shim
