// Package execd is the server inside a sandbox: it runs commands and handles
// files, and speaks the wire of OpenSandbox's execd.
//
//	table := execd.NewTable(spawn, limit) // reaps every child of this process
//	srv := execd.New(execd.Options{Env: env, Dir: "/workspace", Table: table})
//	err := (&http.Server{Handler: srv}).Serve(listener)
//
// Commands run under bash (or sh), each in a process group of its own, with
// their output cut into lines and sent as events while it appears:
//
//	{"type":"init","text":"f743f6faad0047a7a4dc4ae2c8c5930b","timestamp":1795958569991}
//
//	{"type":"ping","text":"pong","timestamp":1795958569991}
//
//	{"type":"stdout","text":"hi","timestamp":1795958569992}
//
//	{"type":"execution_complete","execution_time":2,"timestamp":1795958569993}
//
// A bash session (POST /session) is a directory and a state: each run is a
// bash of its own that takes over what the last one left (variables, functions
// and the directory), so exit ends a run and not the session.
//
// Code (POST /code) runs in contexts. Python and JavaScript have an interpreter
// of the sandbox's own root file system that lives as long as its context, and
// that a small driver of ours (drivers/) feeds with cells; bash has a session.
// Results, errors and the end of a cell come by a descriptor of their own:
// whatever a cell prints is output.
//
// A terminal (POST /pty) is a shell in a kernel session of its own, seen by one
// WebSocket at a time, with the last MiB of its output for who comes later.
//
// It differs from the original where being different can't be noticed by a
// correct client: output travels through pipes (no 100 ms poll, no files left
// behind), the stream ends with its terminal event, an execution is known
// from its init event on, and uploads replace files atomically. A line of any
// length up to 60 MiB of JSON is one event, but only a MiB of it is in memory.
//
// A Server belongs in a process that does nothing else: its Table waits for
// every child.
//
// imports: nothing of ours.
package execd
