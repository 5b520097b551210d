// Package opensandbox speaks the OpenSandbox protocol as a client: the control server's lifecycle
// API, and the execd API inside each sandbox. It knows nothing of ledgers.
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
// # What it takes care of
//
// The API key goes to the control server and to nobody else; redirects are not followed, because a
// redirect would carry it along. Where a sandbox's port is reached is asked of the control server,
// remembered, and forgotten when nobody answers there.
//
// Calls that can be made twice without harm are retried when the network or an overloaded server
// (429, 502, 503) gets in the way. The others are sent again only when the connection was refused,
// which means that nothing was sent.
//
// Streams have no total timeout: a command may run for days. What ends one is its own end, its
// context, or silence for longer than several of the server's pings.
//
// A stream's end is never invented. [Stream.Next] returns io.EOF only after the terminal event;
// a stream that stops before it is [ErrStreamLost], and how the command ended is then unknown.
//
// Errors are *[Error] when a server answered, and can be asked with errors.Is for the sentinels of
// this package.
//
// imports: nothing of ours.
package opensandbox
