// Package engine is a small OpenSandbox server in this process: sandboxes on
// this machine, without Docker.
//
//	func main() {
//		engine.Init() // first of all: a sandbox's own processes start here
//		…
//		e, err := engine.Open(ctx, engine.Options{Logger: log})
//		defer e.Close(ctx)
//		client := opensandbox.New(opensandbox.Options{BaseURL: e.BaseURL(), Transport: e.Transport()})
//	}
//
// A sandbox is made from an image, or from the machine's own root (image "host",
// and whatever Options.Images maps to it): read-only below, private above, with its own
// processes, users, network and home directories. See [Probe] for how much of
// that this machine allows; Open refuses when it is less than asked for.
//
// # Processes
//
// Each sandbox has a shim, a small process that owns its sockets and its time
// to live and that outlives this one, and an init, which is all that is left
// of us inside. Both are this program, started again; hence Init. A program
// that can't call Init names another that does in Options.InitPath.
//
// From the second sandbox on an engine keeps one that has begun: a shim and an
// init that wait in their namespaces. It ends with the engine, however that
// ends, and after five minutes in which nobody wants it.
//
// # One data directory, many processes
//
// The first process that opens a data directory serves it, on a unix socket
// in it. Others that open it use that socket. When the serving process ends,
// the next request of one of the others takes its place: it finds the living
// sandboxes by their shims and removes what is left of the dead.
//
// A service manager that ends all of a service's processes with it (systemd's
// KillMode=control-group, the default) ends the sandboxes too; use
// KillMode=process to keep them.
//
// # Less isolation
//
// Where namespaces are refused, Options.AllowReduced accepts landlock, seccomp
// and rlimits: a sandbox works in a directory of its own and reads the
// system's programs; it can't write elsewhere, read homes or use the network;
// but it sees the machine's processes, and limits are soft. Systems other
// than Linux have a working directory and nothing else. Neither is ever used
// without AllowReduced, nor silently.
//
// # Images and network
//
// Other images come from registries, archives, layouts and directories: see
// [OpenImages] and Options.Images. A sandbox reaches the outside through its
// shim, by the policy that it was made with, or what is public without one.
//
// docs/engine.md lists every route and each difference from the original.
//
// imports: host/internal/engine/... only.
package engine
