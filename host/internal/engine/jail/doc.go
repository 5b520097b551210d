// Package jail puts the calling process into a sandbox.
//
// The process was started by the shim, in new namespaces where there are any,
// and calls Enter once, before it does anything else:
//
//	if err := jail.Enter(spec, nil); err != nil { … exit … }
//	// now: a root of its own, few capabilities, a system call filter
//
// What Enter does depends on the level:
//
//   - Namespaces: one overlay per top directory of the host's root over the
//     sandbox's layers, pivot_root, a private /proc, /sys and /dev, masked
//     kernel files, loopback up; then capabilities cut to a small set,
//     no_new_privs, landlock over the root (so that no descriptor from
//     outside is any use), a seccomp filter, and the process made undumpable.
//   - Reduced: no private root. Landlock leaves the system's programs and one
//     working directory; seccomp leaves no network; capabilities as above.
//   - None: a working directory.
//
// Enter does all of it or returns an error: there is no partial jail.
//
// imports: nothing of ours.
package jail
