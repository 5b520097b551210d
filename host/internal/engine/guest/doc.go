// Package guest is the first process of a sandbox: it enters the jail, starts
// the sandbox's entry point, serves execd on the socket that the shim gave
// it, and takes everything down with it when it ends.
//
// Its life, in order: read the configuration from the control socket; enter;
// start the entry point; answer the shim; serve. It ends when the entry point
// ends (with its exit code), or when the control socket closes, which is to
// say when the shim has gone. As process 1 of a process namespace its end is
// the end of every other process; elsewhere it kills what it started.
//
// imports: cgroup, egress, execd, jail, reexec, trust.
package guest
