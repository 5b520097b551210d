// Package journal is the file in a sandbox that a run's command writes to, so that its output is
// there for whoever asks, however many hosts died in between.
//
//	j, err := journal.New(shell, "/tmp/alineo-runs", runID, nonce)
//	err = shell.Spawn(ctx, j.Start("make test", "/bin/sh"))
//	err = j.Read(ctx, 0, func(line journal.Line) error { … })
//
// # Two files
//
// <name>.ndjson has what the command wrote to its standard output, byte for byte, and then one
// line more: the sentinel, a JSON object with the exit code and a nonce. <name>.err has the
// standard error. The name encodes the run's id, so that no id can lead out of the directory and no
// two share a file.
//
// # Who believes the sentinel
//
// The nonce is random and secret: a command that prints lines of that shape is not believed. It
// reaches the shell that will write it as a file, which that shell removes before the command
// starts, and is in no command line and no environment. Until then that file says that the command has not
// begun; who removes it instead has revoked the command. It is not a wall against a command that reads the memory
// of its own user's processes.
//
// # Reading
//
// Positions are bytes from the file's beginning. Where the shell can stream, the file is followed;
// elsewhere it is polled. Both carry the bytes in base64, so that what is read is what was written,
// line ends and broken characters included.
//
// imports: nothing of ours.
package journal
