// Package drivers lets a process ask another one on the same machine to change something in a sandbox that
// it drives, so that it need not take the sandbox over.
//
//	found := drivers.New(dataDirectory, log)
//	client, err := sandbox.New(sandbox.Options{…, Drivers: found})
//	…
//	found.Close(ctx)
//
// Each driver listens on a socket of its own in the directory drivers of the data directory, which is named
// after the sandbox, the epoch of the claim and the process: of two, the one with the higher epoch drives. A
// change is a request there, and its answer what the driver made of it. Nobody but the user that the
// driver runs as and root is let in, because values of credentials come that way. What a process leaves that
// was killed is removed by who comes next.
//
// Where that directory can't be made nobody is found, and a sandbox is taken over as ever.
//
// imports: host/sandbox, host/opensandbox, host/credential, host/store, host/internal/engine/unixsock.
package drivers
