// Package lifecycle keeps the sandboxes and snapshots of one data directory
// and serves the OpenSandbox lifecycle API for them.
//
//	m, err := lifecycle.Open(ctx, lifecycle.Options{DataDir: dir, Image: image, …})
//	http.Serve(l, lifecycle.NewServer(m))
//	m.Close()                     // sandboxes go on without us
//
// Open adopts the sandboxes whose shims live and removes what is left of
// others: the caller holds the data directory's lock.
//
// What is served, and where it differs from the original, is listed in
// docs/engine.md. Whoever stops, copies or ends a sandbox holds its lock
// "still"; what is remembered of one is changed on disk first. A paused
// sandbox stays paused under the next engine, and requests into it wait.
//
// The data directory:
//
//	sandboxes/ID/   sandbox.json, and what package shim says
//	snapshots/ID/   snapshot.json, layer/
//	base/DIGEST/    a base layer (package layer)
//
// Names in these that begin with a dot are being made or removed.
//
// imports: cgroup, copier, egress, guest, image, jail, layer, reexec, shim, trust, unixsock.
package lifecycle
