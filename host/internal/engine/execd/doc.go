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
// It differs from the original where being different can't be noticed by a
// correct client: output travels through pipes (no 100 ms poll, no files left
// behind), the stream ends with its terminal event, an execution is known
// from its init event on, and uploads replace files atomically.
//
// A Server belongs in a process that does nothing else: its Table waits for
// every child.
//
// imports: nothing of ours.
package execd
