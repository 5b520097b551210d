// Package durable runs commands in sandboxes that outlive their viewers, the host that started them, and a
// loss of either: another host takes a run over and goes on where its log ends.
//
//	runs, err := durable.New(durable.Options{Stores: stores, Machines: durable.NewServer(client, wire, 0)})
//	defer runs.Close(ctx)
//
//	run, err := runs.Start(ctx, durable.StartOptions{RunID: id, ThreadID: "thread-1", Command: "make test"})
//
//	viewer, err := runs.Attach(ctx, id, durable.AttachOptions{After: lastSeen})
//	defer viewer.Close()
//	for {
//		event, err := viewer.Next(ctx) // io.EOF at the end
//		…
//	}
//
// Any host with the same stores can do any of this: attach, [Runs.Find] the run of a thread, [Runs.Cancel] it.
// One of them at least should sweep, with [Runs.ReapLoop].
//
// # Where things are
//
// The command runs in its thread's sandbox and writes to a file there, the journal. The run's driver, one
// host, reads the journal and appends what is new to the run's log, in the store. Viewers read the log and
// nothing else. So the command needs no host, the driver no viewer, and a viewer no driver of its own.
//
// # Who may write
//
// A driver claims a run, the first one too, and gets an epoch. Every append carries it, and the log refuses
// lower ones; the record's end is written on condition of it. A driver that was paused, and superseded
// meanwhile, can't write, however late it wakes up. Besides, a driver holds a lease, so that hosts don't take
// runs from each other that are well looked after.
//
// # Taking over
//
// A new driver reads the journal from its beginning and compares it with the log, event by event. What is there
// is not written again; what follows is. A difference ends the run with [ErrDiverged] in its error: a viewer
// could not bear a doubled line. The same comparison settles appends whose outcome isn't known.
//
// # Ends
//
// A command's end is a line in the journal that only the host could have asked for. Its exit code is the
// run's: 0 is completed, everything else failed. A run is aborted by [Runs.Cancel], or by a sweep when
// nobody views it for too long. It fails, too, when its sandbox or its processes are gone. An end is never
// invented: when nobody knows, the run goes on until somebody does.
//
// # Time
//
// Ages and leases are reckoned by the store's clock. Those of the hosts may be wrong.
//
// imports: host/sandbox, host/opensandbox, host/store, host/internal/journal.
package durable
