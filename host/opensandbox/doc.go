// Package opensandbox speaks the OpenSandbox protocol as a client: the control server's lifecycle
// API, the execd API inside each sandbox, and the sidecar that decides what a sandbox may reach. It
// knows nothing of ledgers.
//
//	client, err := opensandbox.New(opensandbox.Options{
//		BaseURL: "https://sandboxes.example.com",
//		APIKey:  os.Getenv("OPEN_SANDBOX_API_KEY"),
//	})
//	box, err := client.CreateSandbox(ctx, opensandbox.CreateRequest{
//		Image:          &opensandbox.Image{URI: "ubuntu:24.04"},
//		Entrypoint:     []string{"tail", "-f", "/dev/null"},
//		ResourceLimits: map[string]string{"cpu": "500m", "memory": "512Mi"},
//	})
//	stream, err := client.Execd(box.ID).Run(ctx, opensandbox.RunRequest{Command: "make test"})
//	defer stream.Close()
//	for {
//		frame, err := stream.Next()
//		if err == io.EOF {
//			break // the command ended, and the last frame said how
//		}
//		...
//	}
//
// # Ways to run something
//
// [Execd.Run] is for a command that somebody watches: its events come as they happen, stdout and
// stderr apart, and when the connection is cut, what comes after is lost.
//
// [Execd.Start] is for a command whose output must not be lost. It runs apart from any connection,
// and the [Job] reads its log by position: after a cut, after the server's restart, and, with
// [Execd.Follow], in another process. stdout and stderr are one.
//
//	job, err := client.Execd(box.ID).Start(ctx, opensandbox.RunRequest{Command: "make all"})
//	_, err = io.Copy(os.Stdout, job) // comes back when the command has ended
//	fmt.Println(job.Status().ExitCode)
//
// [Execd.RunInSession] keeps a working directory and exported variables from one command to the
// next, [Execd.RunCode] an interpreter's state.
//
// [Execd.AttachPTY] connects to a terminal. A connection that was lost is made again with what was
// missed in between, and never runs anything twice:
//
//	id, err := execd.CreatePTY(ctx, opensandbox.PTYRequest{})
//	pty, err := execd.AttachPTY(ctx, id, opensandbox.PTYAttach{Start: true})
//	...
//	pty, err = execd.AttachPTY(ctx, id, opensandbox.PTYAttach{Since: pty.Offset(), TakeOver: true})
//
// # Ways to reach a port
//
// [Client.PortTransport] for HTTP, [Client.DialWebSocket] for WebSockets, and [Client.DialPort] for
// anything else where a server has a way for it. [Client.LookUpEndpoint] returns an address to hand
// on, signed where servers sign.
//
// # What it takes care of
//
// The API key goes to the control server and to nobody else; redirects are not followed, because a
// redirect would carry it along, and no path leads out of a sandbox's. Where a sandbox's port is
// reached is asked of the control server, remembered, and forgotten when nobody answers there.
//
// Calls that can be made twice without harm are retried when the network or an overloaded server
// (429, 502, 503) gets in the way. The others are sent again only when the connection was refused,
// which means that nothing was sent.
//
// Streams have no total timeout: a command may run for days. What ends one is its own end, its
// context, or silence for longer than several of the server's pings.
//
// A stream's end is never invented. [Stream.Next] returns io.EOF only after the terminal event;
// a stream that stops before it is [ErrStreamLost], and how the command ended is then unknown. The
// same goes for jobs and terminals.
//
// Requests that every server would refuse are refused here, as [ErrInvalid] or [ErrPath], with all
// that is wrong at once. Errors are *[Error] when a server answered, and can be asked with errors.Is
// for the sentinels of this package.
//
// imports: host/internal/jsontext.
package opensandbox
