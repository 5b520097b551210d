// Package sandbox is the client core: sandboxes whose every step is in a ledger before anyone acts
// on it, and that can be resumed from there.
//
//	client, err := sandbox.New(sandbox.Options{Wire: wire, Store: st, Ledger: writer})
//	sb, err := client.Create(ctx, sandbox.CreateOptions{Image: "ubuntu:24.04"})
//	defer sb.Close(ctx)
//
//	exec, err := sb.Exec(ctx, "make test", sandbox.ExecOptions{})
//	io.Copy(os.Stdout, exec.Stdout())  // as it comes; or not at all
//	result, err := exec.Wait()         // result.ExitCode, result.Stdout, …
//
//	_, err = sb.Checkpoint(ctx, "tested")
//
// Later, in another process, the same program goes on where the checkpoint was:
//
//	sb, err := client.Resume(ctx, id, sandbox.ResumeOptions{})
//	exec, err := sb.Exec(ctx, "make test", sandbox.ExecOptions{})  // answered from the ledger
//	exec, err = sb.Exec(ctx, "make install", sandbox.ExecOptions{}) // runs
//
// # Ledger first
//
// exec.started is committed before the command is sent; output reaches its readers only after it is
// committed; Wait returns only after exec.completed is. When the ledger fails, the exec fails, and
// its command is ended. The handle takes new work again as soon as the ledger takes a new entry.
// When the ledger or a reader is slow, the output is read slowly: nothing is dropped and nothing
// piles up.
//
// # Ends
//
// A result is what the sandbox said. A stream that breaks before the command's end is
// [ErrStreamLost], with what the sandbox still knows in a [LostError]; a command that could not be
// started is a [StartError]. Neither has an exit code, and neither leaves an exec.completed. A command
// with ExecOptions.Background outlives its connections. When a context ends, the command is
// interrupted in the sandbox, and exec.completed carries a reason.
//
// A command with ExecOptions.Background, or a program on a terminal, may be left running with
// [Exec.Detach]; [Handle.Attach] and [Handle.AttachTerminal] go on with it under the same seq, in
// another process, too. Nothing is run again.
//
// # More than commands
//
// [Handle.Interactive] is a program on a terminal, [Handle.ExecCode] code in an interpreter that keeps
// its state, and [Handle.CreateSession] a shell that does. Each takes a position in the ledger, like a
// command. Files, ports, metrics and network rules are the handle's, too; of those only changed
// network rules are recorded.
//
// A sandbox comes from an image ([Client.Create]), an [Environment] that is built once, a snapshot
// ([Client.RestoreSnapshot]), a checkpoint ([Client.Resume]), or another sandbox ([Handle.Fork]); and
// [Client.Connect] opens one that runs already. [Client.Operate] changes network rules and credentials of
// one that another process drives, and tries them.
//
// # Replay
//
// A resumed sandbox answers its first execs from the ledger, by their position: the first call gets
// the first result, and so on to the checkpoint. Each is compared with what is recorded at its
// position: kind, command, and a digest of working directory, environment and shell. A difference
// is a [DivergenceError]. Replayed execs write nothing, and what an exec that had not completed by
// the checkpoint did is not known: it runs.
//
// # Nothing is leaked
//
// Whatever fails between asking the server for a sandbox and returning its handle, the sandbox is
// deleted; also when the caller's context ends while the server is still making it. [Client.Close]
// waits for such cleaning up.
//
// # Credentials
//
// [Handle.Credentials] binds values to requests that leave the sandbox; nothing in it sees them. The
// ledger has their names, bindings and sources, and no value: known values are taken out of whatever is
// recorded, logged or put in an error, and of what readers get, unless Options.LiveSecrets is set. A
// resumed or forked sandbox has the same credentials, whose values are had again before it is made.
//
// Output stays back while its end may be the beginning of a value that is known, by four bytes or more.
// Only a terminal's is shown at once, and recorded when that is settled.
//
// imports: host/internal/span, host/opensandbox, host/ledger, host/store, host/credential.
package sandbox
