// Package lifecycle keeps the sandboxes and snapshots of one data directory
// and serves the OpenSandbox lifecycle API for them.
//
//	m, err := lifecycle.Open(ctx, lifecycle.Options{DataDir: dir, Image: image, …})
//	http.Serve(l, lifecycle.NewServer(m, ""))
//	m.Close()                     // sandboxes go on without us
//
// Open adopts the sandboxes whose shims live and removes what is left of
// others: the caller holds the data directory's lock.
//
// The data directory:
//
//	sandboxes/ID/   sandbox.json, and what package shim says
//	snapshots/ID/   snapshot.json, layer/
//	base/DIGEST/    a base layer (package layer)
//
// Names in these that begin with a dot are being made or removed.
//
// imports: cgroup, copier, guest, jail, layer, reexec, shim, unixsock.
package lifecycle
