// Package plugin runs guests: WebAssembly modules that speak version 1 of the ABI.
//
//	rt, err := plugin.NewRuntime(ctx, plugin.RuntimeOptions{CacheDir: dir, Logger: logger})
//	defer rt.Close(ctx)
//	p, err := rt.Load(ctx, plugin.Spec{
//		Name: "sqlite", Wasm: wasm, SHA256: digest, Caps: set, Config: config, HostVersion: "1.0.0",
//	})
//	defer p.Close(ctx)
//	var head abi.Head
//	err = p.Call(ctx, abi.OpLedgerOpen, &abi.LedgerOpenRequest{Key: key}, nil, &head)
//
// # From bytes to an instance
//
// [Runtime.Load] tells a module from other files, verifies its size and sha256, has it metered
// (package meter), compiles it, and checks its imports and exports before it runs anything. The first
// instance then answers describe, its wants are held against what was granted, its configuration against
// the schema of its manifest (package schema), and configure hands it over. Until then it has no
// capabilities. Further instances are started on demand and go through the same.
//
// Each plugin has an engine of its own, so that closing it gives everything back; who needs many
// plugins of one module makes the code once with [Runtime.Compile]. Machine code is
// kept in the cache directory, which several processes may share; without one, or when it cannot be
// used, modules are compiled in each process.
//
// # Calls
//
// An instance does one thing at a time. [Plugin.Call] takes a free one, or starts one while there are
// fewer than Limits.Instances, or waits its turn: first come, first served, for a bounded time in a
// bounded queue. A guest that keeps state between calls has exactly one instance.
//
// Every call ends, also one of a guest that spins, sleeps or grows: the metered module looks at the
// clock, and so do the host functions, which are also given the context. A call that ends in anything
// but a reply or an error of the guest's own destroys the instance, because nothing is known of what
// is left in it. Several such ends in a short time make the plugin fail: calls are then refused at
// once, until after a pause one of them may try. A guest whose state is volatile fails for good.
//
// Every error is an [*Error] that names plugin and operation and has a [Kind]; the guest's own is an
// *abi.Error inside it. Contents of requests, replies, memory and configuration are in none of them.
//
// imports: abi, host/internal/capability, host/internal/span, host/internal/plugin/meter, host/internal/plugin/schema.
package plugin
