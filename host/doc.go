// Package host is the face that embedders import: it opens everything that a configuration names.
//
// A program calls [Init] first thing in main, loads a configuration, and opens a host:
//
//	func main() {
//		host.Init() // the embedded engine starts this program again as a sandbox's first process
//		cfg, err := host.LoadConfig("")
//		…
//		h, err := host.Open(ctx, cfg)
//		…
//		defer h.Close(ctx)
//		boxes, err := h.Sandboxes(ctx)
//		sb, err := boxes.Create(ctx, sandbox.CreateOptions{})
//		…
//		exec, err := sb.Exec(ctx, "echo hello", sandbox.ExecOptions{})
//
// Open loads the ledger's plugin, checks it and configures it; its database is opened at first use,
// and so is the sandbox server or the embedded engine (by Sandboxes). Close drains what was begun.
// A Host is safe for concurrent use.
//
// imports: everything of ours but cmd.
package host
