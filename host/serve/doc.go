// Package serve is the daemon: durable runs, and the stores that they are kept in, over HTTP, for applications
// in any language.
//
//	runs, err := h.Runs(ctx)
//	s, err := serve.New(serve.Options{Runs: runs, Address: "127.0.0.1:7777", Logger: log})
//	err = s.Listen(ctx, func(addr net.Addr) { … it is reachable … })
//
// Listen serves until ctx ends: then it takes no new run, waits until those that it was asked for have been
// started, ends the streams of viewers and returns. The caller then closes runs, which commits what was
// under way and lets go of the runs, so that another host can go on with them.
//
// # Who is let in
//
// With Options.Token a request must carry it ("Authorization: Bearer TOKEN"), all but GET /healthz. Without one
// the server listens on loopback addresses only, answers only to a Host that names one, and refuses what
// a browser sends for another site's page.
//
// # Endpoints
//
// docs/serve.md has them all, with their bodies. Below /v1/instances and with PUT and PATCH below /v1/runs
// an application keeps records of its own; POST /v1/runs and what is below /v1/runs/{id} in verbs starts,
// shows and ends durable runs of this host. Errors are {"code":…,"message":…}. What is secret about a run
// is in no answer: the stores give it to drivers only.
//
// # Control
//
// With Options.Control the daemon also answers those who operate it, on a unix socket in its data directory that
// only its own user can open: [Control] asks it how its plugins are, and to load one anew.
//
// imports: host/durable, host/store, host/sandbox, host/opensandbox, host/internal/engine/unixsock.
package serve
