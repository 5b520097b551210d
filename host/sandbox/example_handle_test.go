package sandbox_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
)

// exampleSandbox is what [sandbox.Client.Create] returns, of a client that ends with it.
func exampleSandbox() (sb *sandbox.Handle, done func()) {
	client, clientDone := exampleClient()
	sb, err := client.Create(context.Background(), sandbox.CreateOptions{Name: "example", Lifetime: time.Hour})
	check(err)
	return sb, func() {
		check(sb.Close(context.Background()))
		clientDone()
	}
}

func ExampleExec_Stdout() {
	sb, done := exampleSandbox()
	defer done()
	exec, err := sb.Exec(context.Background(), "seq 3; echo trouble >&2; exit 4", sandbox.ExecOptions{})
	check(err)
	lines := bufio.NewScanner(exec.Stdout()) // as they come
	for lines.Scan() {
		fmt.Println("line", lines.Text())
	}
	check(lines.Err())
	trouble, err := io.ReadAll(exec.Stderr())
	check(err)
	result, err := exec.Wait()
	check(err)
	fmt.Print(string(trouble), "exit ", result.ExitCode)
	// Output:
	// line 1
	// line 2
	// line 3
	// trouble
	// exit 4
}

func ExampleExec_Events() {
	sb, done := exampleSandbox()
	defer done()
	exec, err := sb.Exec(context.Background(), "echo one; sleep 1; echo two >&2", sandbox.ExecOptions{Events: true})
	check(err)
	for event, err := range exec.Events() {
		check(err)
		if event.Type == opensandbox.TypeStdout || event.Type == opensandbox.TypeStderr {
			fmt.Println(event.Type, event.Text)
		}
	}
	// Output:
	// stdout one
	// stderr two
}

func ExampleTerminal_Write() {
	sb, done := exampleSandbox()
	defer done()
	terminal, err := sb.Interactive(context.Background(), "trap 'echo bye; exit 2' TERM; while read -r name; do echo hello $name; done", sandbox.TerminalOptions{})
	check(err)
	screen := bufio.NewScanner(terminal.Stdout())
	_, err = terminal.Write([]byte("world\n"))
	check(err)
	for screen.Scan() && screen.Text() != "hello world" {
	}
	check(terminal.Resize(132, 43))
	check(terminal.Signal(opensandbox.SignalTerminate))
	check(terminal.Close()) // ends the program, if it has not ended
	result, err := terminal.Wait()
	check(err)
	fmt.Println(strings.Contains(result.Stdout, "hello world"), result.ExitCode != 0)
	// Output: true true
}

func ExampleHandle_Checkpoints() {
	sb, done := exampleSandbox()
	defer done()
	ctx := context.Background()
	for _, tag := range []string{"installed", "tested"} {
		_, err := sb.Checkpoint(ctx, tag)
		check(err)
	}
	list, err := sb.Checkpoints(ctx)
	check(err)
	for _, checkpoint := range list {
		fmt.Println(checkpoint.Tag)
	}
	// Output:
	// installed
	// tested
}

func ExampleHandle_Renew() {
	sb, done := exampleSandbox()
	defer done()
	ctx := context.Background()
	until, err := sb.Renew(ctx, time.Now().Add(3*time.Hour))
	check(err)
	fmt.Println(time.Until(until) > 2*time.Hour)

	// Or for as long as something goes on.
	ctx, finish := context.WithCancel(ctx)
	kept := make(chan error, 1)
	go func() { kept <- sb.KeepAlive(ctx, time.Hour) }()
	finish()
	fmt.Println(<-kept)
	// Output:
	// true
	// <nil>
}

func ExampleHandle_ReadFile() {
	sb, done := exampleSandbox()
	defer done()
	ctx := context.Background()
	check(sb.WriteFile(ctx, "/tmp/notes/a.txt", []byte("hello"), 0o640))
	info, err := sb.Stat(ctx, "/tmp/notes/a.txt")
	check(err)
	data, err := sb.ReadFile(ctx, "/tmp/notes/a.txt")
	check(err)
	fmt.Println(info.Perm(), info.Size, string(data))
	check(sb.Remove(ctx, "/tmp/notes/a.txt"))
	// Output: -rw-r----- 5 hello
}

func ExampleHandle_List() {
	sb, done := exampleSandbox()
	defer done()
	ctx := context.Background()
	check(sb.MakeDir(ctx, "/tmp/site/css", 0))
	check(sb.WriteFile(ctx, "/tmp/site/index.html", nil, 0))
	list, err := sb.List(ctx, "/tmp/site", 1)
	check(err)
	for _, info := range list {
		fmt.Println(info.Type, info.Path)
	}
	check(sb.RemoveDir(ctx, "/tmp/site"))
	// Output:
	// directory /tmp/site/css
	// file /tmp/site/index.html
}

func ExampleHandle_Transfer() {
	from, done := exampleSandbox()
	defer done()
	to, done := exampleSandbox()
	defer done()
	ctx := context.Background()
	check(from.WriteFile(ctx, "/tmp/data.bin", []byte{0, 1, 0xff}, 0o600))
	check(from.Transfer(ctx, "/tmp/data.bin", to, "")) // to the same path
	data, err := to.ReadFile(ctx, "/tmp/data.bin")
	check(err)
	fmt.Printf("%v\n", data)
	// Output: [0 1 255]
}

func ExampleHandle_PortTransport() {
	sb, done := exampleSandbox()
	defer done()
	ctx := context.Background()
	check(sb.WriteFile(ctx, "/tmp/site/index.html", []byte("hello\n"), 0))
	_, err := sb.Exec(ctx, "python3 -m http.server 3114", sandbox.ExecOptions{Cwd: "/tmp/site"})
	check(err)
	check(sb.WaitForPort(ctx, 3114))

	client := http.Client{Transport: sb.PortTransport(3114)}
	resp, err := client.Get("http://sandbox/index.html")
	check(err)
	page, err := io.ReadAll(resp.Body)
	check(err)
	check(resp.Body.Close())
	endpoint, err := sb.Proxy(ctx, 3114) // for other clients: an address, and the headers that it wants
	check(err)
	fmt.Print(string(page), strings.Contains(endpoint.URL, "3114"))
	// Output:
	// hello
	// true
}

func ExampleHandle_DiagnosticLogs() {
	sb, done := exampleSandbox()
	defer done()
	ctx := context.Background()
	logs, err := sb.DiagnosticLogs(ctx, opensandbox.DiagnosticsQuery{Tail: 100})
	check(err)
	events, err := sb.DiagnosticEvents(ctx, opensandbox.DiagnosticsQuery{Limit: 10})
	check(err)
	fmt.Println(logs.Kind, events.Kind)
	// Output: logs events
}
