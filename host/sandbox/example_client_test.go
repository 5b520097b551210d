package sandbox_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/internal/nativebroker"
	"github.com/alineo-labs/alineo-host/internal/nativeledger"
)

// exampleClient is what (*host.Host).Sandboxes returns, here with the tests' engine and a ledger of its
// own.
func exampleClient() (client *sandbox.Client, done func()) {
	dir, err := os.MkdirTemp("", "ledger-")
	check(err)
	st, err := nativeledger.Open(filepath.Join(dir, "ledger.db"), nativeledger.Options{})
	check(err)
	writer := ledger.NewWriter(st, ledger.WriterOptions{})
	client, err = sandbox.New(sandbox.Options{
		Wire: wireClient(shared.Transport()), Store: st, Ledger: writer, Image: "host",
		Resources: sandbox.Resources{CPU: "1", Memory: "256Mi"}, Broker: nativebroker.New(nativebroker.Options{}),
	})
	check(err)
	return client, func() {
		ctx := context.Background()
		check(client.Close(ctx))
		check(writer.Close(ctx))
		check(st.Close(ctx))
		check(os.RemoveAll(dir))
	}
}

func ExampleClient_Create() {
	client, done := exampleClient()
	defer done()
	ctx := context.Background()
	sb, err := client.Create(ctx, sandbox.CreateOptions{
		Name: "build", Image: "host", Resources: sandbox.Resources{CPU: "1", Memory: "512Mi"},
		Env: map[string]string{"CI": "1"}, Lifetime: time.Hour,
		NetworkPolicy: &opensandbox.NetworkPolicy{
			DefaultAction: "deny", Egress: []opensandbox.NetworkRule{{Action: "allow", Target: "*.example.com"}},
		},
	})
	check(err)
	defer func() { check(sb.Close(ctx)) }()
	result, err := sb.Run(ctx, "echo CI is $CI", sandbox.ExecOptions{Strict: true})
	check(err)
	fmt.Print(result.Stdout)
	// Output: CI is 1
}

func ExampleClient_Connect() {
	client, done := exampleClient()
	defer done()
	ctx := context.Background()
	first, err := client.Create(ctx, sandbox.CreateOptions{Name: "shared"})
	check(err)
	_, err = first.Run(ctx, "echo one", sandbox.ExecOptions{})
	check(err)

	// Elsewhere, with nothing but the id.
	sb, err := client.Connect(ctx, first.ID(), sandbox.ConnectOptions{Resources: first.Resources()})
	check(err)
	result, err := sb.Run(ctx, "echo two", sandbox.ExecOptions{})
	check(err)
	fmt.Println(sb.Name(), result.Seq, sb.RunID() == first.RunID())
	check(sb.Close(ctx)) // or Detach, which leaves it running
	// Output: shared 2 true
}

func ExampleHandle_Fork() {
	client, done := exampleClient()
	defer done()
	ctx := context.Background()
	parent, err := client.Create(ctx, sandbox.CreateOptions{Name: "base"})
	check(err)
	defer func() { check(parent.Close(ctx)) }()
	check(parent.WriteFile(ctx, "/tmp/state", []byte("ready"), 0))
	forks, err := parent.ForkAll(ctx, 2, sandbox.ForkOptions{Tag: "ready"})
	check(err)
	for _, fork := range forks {
		data, err := fork.ReadFile(ctx, "/tmp/state")
		check(err)
		details, err := client.GetSandbox(ctx, fork.Key())
		check(err)
		fmt.Println(string(data), details.ParentSandboxID == parent.ID())
		check(fork.Close(ctx))
	}
	fork, err := parent.Fork(ctx, sandbox.ForkOptions{}) // just one
	check(err)
	fmt.Println(strings.HasPrefix(fork.Name(), "fork-base-"))
	check(fork.Close(ctx))
	// Output:
	// ready true
	// ready true
	// true
}

func ExampleClient_RestoreSnapshot() {
	client, done := exampleClient()
	defer done()
	ctx := context.Background()
	first, err := client.Create(ctx, sandbox.CreateOptions{})
	check(err)
	check(first.WriteFile(ctx, "/tmp/state", []byte("kept"), 0))
	snapshot, err := first.Checkpoint(ctx, "")
	check(err)
	check(first.Close(ctx))
	sb, err := client.RestoreSnapshot(ctx, snapshot, sandbox.RestoreOptions{Name: "restored"})
	check(err)
	defer func() { check(sb.Close(ctx)) }()
	data, err := sb.ReadFile(ctx, "/tmp/state")
	check(err)
	fmt.Println(string(data))
	// Output: kept
}

func ExampleClient_Environment() {
	client, done := exampleClient()
	defer done()
	ctx := context.Background()
	env := client.Environment("tools", sandbox.EnvironmentOptions{
		Setup: func(ctx context.Context, sb *sandbox.Handle) error {
			_, err := sb.Run(ctx, "echo installed > /tmp/tool", sandbox.ExecOptions{Strict: true})
			return err
		},
	})
	sb, err := env.Create(ctx, sandbox.SpawnOptions{}) // builds it, this first time
	check(err)
	defer func() { check(sb.Close(ctx)) }()
	result, err := sb.Run(ctx, "cat /tmp/tool", sandbox.ExecOptions{})
	check(err)
	built, err := env.Info(ctx)
	check(err)
	again, err := env.Build(ctx) // anew, such as for another version
	check(err)
	list, err := client.Environments(ctx)
	check(err)
	fmt.Print(len(list), " ", list[0].Name, " ", again.SnapshotID != built.SnapshotID, " ", result.Stdout)
	check(client.DeleteEnvironment(ctx, "tools"))
	// Output: 1 tools true installed
}

func ExampleClient_Sandboxes() {
	client, done := exampleClient()
	defer done()
	ctx := context.Background()
	for _, name := range []string{"a", "b"} {
		sb, err := client.Create(ctx, sandbox.CreateOptions{Name: name})
		check(err)
		check(sb.Close(ctx))
	}
	for details, err := range client.Sandboxes(ctx, store.ListOptions{Name: "a"}) {
		check(err)
		fmt.Println(details.Name, details.Status)
	}
	limit := uint64(1)
	page, err := client.ListSandboxes(ctx, store.ListOptions{Limit: &limit})
	check(err)
	newest := store.Key{Name: page.Sandboxes[0].Name, SandboxID: page.Sandboxes[0].SandboxID}
	details, err := client.GetSandbox(ctx, newest)
	check(err)
	events, err := client.DeleteSandbox(ctx, newest) // what is recorded of it, and nothing else
	check(err)
	fmt.Println(details.Name, events)
	// Output:
	// a completed
	// b 2
}

func ExampleHandle_Exec() {
	client, done := exampleClient()
	defer done()
	ctx := context.Background()
	sb, err := client.Create(ctx, sandbox.CreateOptions{})
	check(err)
	defer func() { check(sb.Close(ctx)) }()
	exec, err := sb.Exec(ctx, "for i in 1 2 3; do echo line $i; done", sandbox.ExecOptions{
		Background: true, // a connection that is cut is made again
		Timeout:    time.Minute,
	})
	check(err)
	check(exec.Pipe(os.Stdout)) // as it comes
	result, err := exec.Wait()
	check(err)
	fmt.Println("exit", result.ExitCode)
	// Output:
	// line 1
	// line 2
	// line 3
	// exit 0
}

func ExampleHandle_Attach() {
	client, done := exampleClient()
	defer done()
	ctx := context.Background()
	sb, err := client.Create(ctx, sandbox.CreateOptions{})
	check(err)

	exec, err := sb.Exec(ctx, "sleep 3; echo built; exit 3", sandbox.ExecOptions{Background: true})
	check(err)
	check(exec.Detach(ctx))
	check(sb.Detach(ctx))

	// Later, maybe in another process.
	sb, err = client.Connect(ctx, sb.ID(), sandbox.ConnectOptions{})
	check(err)
	defer func() { check(sb.Close(ctx)) }()
	left, err := sb.Detached(ctx)
	check(err)
	exec, err = sb.Attach(ctx, left[0].Seq, sandbox.AttachOptions{})
	check(err)
	result, err := exec.Wait()
	check(err)
	fmt.Printf("exec %d: %scode %d\n", result.Seq, result.Stdout, result.ExitCode)
	// Output:
	// exec 1: built
	// code 3
}

func ExampleHandle_Interactive() {
	client, done := exampleClient()
	defer done()
	ctx := context.Background()
	sb, err := client.Create(ctx, sandbox.CreateOptions{})
	check(err)
	defer func() { check(sb.Close(ctx)) }()
	terminal, err := sb.Interactive(ctx, "", sandbox.TerminalOptions{Columns: 80, Rows: 24})
	check(err)
	result, err := terminal.Attach(strings.NewReader("echo sum $((40+2))\nexit 3\n"), io.Discard)
	check(err)
	fmt.Println(strings.Contains(result.Stdout, "sum 42"), result.ExitCode)
	// Output: true 3
}

func ExampleHandle_ExecCode() {
	client, done := exampleClient()
	defer done()
	ctx := context.Background()
	sb, err := client.Create(ctx, sandbox.CreateOptions{})
	check(err)
	defer func() { check(sb.Close(ctx)) }()
	bash, err := sb.CreateCodeContext(ctx, "bash", "")
	check(err)
	for _, code := range []string{"x=41", "echo $((x+1))"} {
		exec, err := sb.ExecCode(ctx, code, sandbox.CodeOptions{Context: *bash})
		check(err)
		result, err := exec.Wait()
		check(err)
		fmt.Print(result.Stdout)
	}
	// Output: 42
}

func ExampleHandle_CreateSession() {
	client, done := exampleClient()
	defer done()
	ctx := context.Background()
	sb, err := client.Create(ctx, sandbox.CreateOptions{})
	check(err)
	defer func() { check(sb.Close(ctx)) }()
	session, err := sb.CreateSession(ctx, "/tmp")
	check(err)
	for _, command := range []string{"cd /", "pwd"} {
		exec, err := session.Exec(ctx, command, sandbox.SessionOptions{})
		check(err)
		result, err := exec.Wait()
		check(err)
		fmt.Print(result.Stdout)
	}
	check(session.Close(ctx))
	// Output: /
}

func ExampleHandle_Upload() {
	client, done := exampleClient()
	defer done()
	ctx := context.Background()
	sb, err := client.Create(ctx, sandbox.CreateOptions{})
	check(err)
	defer func() { check(sb.Close(ctx)) }()
	check(sb.Upload(ctx, "/tmp/data/log.txt", bytes.NewReader([]byte("0123456789")), 0o600))
	whole, err := sb.Download(ctx, "/tmp/data/log.txt") // of any size
	check(err)
	all, err := io.ReadAll(whole)
	check(err)
	check(whole.Close())
	body, err := sb.DownloadRange(ctx, "/tmp/data/log.txt", 2, 3)
	check(err)
	part, err := io.ReadAll(body)
	check(err)
	check(body.Close())
	replaced, err := sb.Replace(ctx, "/tmp/data/log.txt", "9", "nine")
	check(err)
	found, err := sb.Search(ctx, "/tmp/data", "*.txt")
	check(err)
	check(sb.Move(ctx, "/tmp/data/log.txt", "/tmp/data/old.txt"))
	fmt.Println(string(all), string(part), replaced, len(found))
	// Output: 0123456789 234 1 1
}

func ExampleHandle_CopyIn() {
	client, done := exampleClient()
	defer done()
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "tree-")
	check(err)
	defer func() { _ = os.RemoveAll(dir) }()
	check(os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello\n"), 0o600))
	sb, err := client.Create(ctx, sandbox.CreateOptions{})
	check(err)
	defer func() { check(sb.Close(ctx)) }()
	check(sb.CopyIn(ctx, dir, "/tmp/project", sandbox.CopyOptions{
		Progress: func(p sandbox.CopyProgress) { fmt.Println(p.Path, p.Files, p.Bytes) },
	}))
	result, err := sb.Run(ctx, "cat a.txt", sandbox.ExecOptions{Cwd: "/tmp/project"})
	check(err)
	fmt.Print(result.Stdout)
	// Output:
	// a.txt 1 6
	// hello
}

func ExampleHandle_Forward() {
	client, done := exampleClient()
	defer done()
	ctx := context.Background()
	sb, err := client.Create(ctx, sandbox.CreateOptions{})
	check(err)
	defer func() { check(sb.Close(ctx)) }()
	check(sb.WriteFile(ctx, "/tmp/site/index.html", []byte("hello\n"), 0))
	serving, err := sb.Exec(ctx, "python3 -m http.server 3113", sandbox.ExecOptions{Cwd: "/tmp/site"})
	check(err)
	check(sb.WaitForHTTP(ctx, 3113, "/"))

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	forwarding, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- sb.Forward(forwarding, listener, 3113) }()
	resp, err := http.Get("http://" + listener.Addr().String() + "/index.html")
	check(err)
	_, err = io.Copy(os.Stdout, resp.Body)
	check(err)
	check(resp.Body.Close())
	http.DefaultClient.CloseIdleConnections()
	stop()
	check(<-ended)
	_ = serving // Close ends it
	// Output: hello
}

func ExampleHandle_AddNetworkRules() {
	client, done := exampleClient()
	defer done()
	ctx := context.Background()
	sb, err := client.Create(ctx, sandbox.CreateOptions{NetworkPolicy: &opensandbox.NetworkPolicy{DefaultAction: "deny"}})
	check(err)
	defer func() { check(sb.Close(ctx)) }()
	_, err = sb.AddNetworkRules(ctx, opensandbox.NetworkRule{Action: "allow", Target: "example.com"})
	check(err)
	status, err := sb.NetworkPolicy(ctx)
	check(err)
	fmt.Println(status.Policy.DefaultAction, status.Policy.Egress)
	_, err = sb.RemoveNetworkRules(ctx, "example.com")
	check(err)
	// Output: deny [{allow example.com}]
}

func ExampleClient_Operate() {
	client, done := exampleClient()
	defer done()
	ctx := context.Background()
	sb, err := client.Create(ctx, sandbox.CreateOptions{NetworkPolicy: &opensandbox.NetworkPolicy{DefaultAction: "deny"}})
	check(err)
	check(sb.Detach(ctx))

	// A program that drives it now, on this machine, would be asked. Nobody does.
	operator := client.Operate(sb.Key(), sandbox.ConnectOptions{})
	status, err := operator.AddNetworkRules(ctx, opensandbox.NetworkRule{Action: "allow", Target: "example.com"})
	check(err)
	check(operator.Close(ctx))
	fmt.Println(status.Mode)
	check(client.Stop(ctx, sb.Key()))
	// Output: enforcing
}

func ExampleHandle_Credentials() {
	client, done := exampleClient()
	defer done()
	ctx := context.Background()
	sb, err := client.Create(ctx, sandbox.CreateOptions{
		CredentialProxy: true, // it needs a policy, and the policy a rule for the host
		NetworkPolicy:   &opensandbox.NetworkPolicy{DefaultAction: "deny", Egress: []opensandbox.NetworkRule{{Action: "allow", Target: "api.example.com"}}},
	})
	check(err)
	defer func() { check(sb.Close(ctx)) }()

	token := credential.NewSecret("s3cr3t-t0k3n")
	check(sb.Credentials().Set(ctx, "example", token, credential.Bearer("api.example.com"), credential.Env("EXAMPLE_TOKEN")))
	// Every https request to api.example.com has the token now. Nothing in the sandbox can read it, and
	// what shows it all the same is redacted.
	result, err := sb.Run(ctx, "echo the token is s3cr3t-t0k3n", sandbox.ExecOptions{})
	check(err)
	fmt.Print(result.Stdout)
	list, err := sb.Credentials().ListBindings(ctx)
	check(err)
	for _, b := range list {
		fmt.Println(b.Name, b.Binding.Hosts, b.Binding.Injection.Type, b.Source)
	}
	another := credential.NewSecret("an0th3r-t0k3n")
	check(sb.Credentials().Patch(ctx, "example", sandbox.CredentialPatch{Value: &another}))
	check(sb.Credentials().Remove(ctx, "example"))
	// Output:
	// the token is [redacted]
	// example [api.example.com] bearer environment variable EXAMPLE_TOKEN
}

func ExampleHandle_Pause() {
	client, done := exampleClient()
	defer done()
	ctx := context.Background()
	sb, err := client.Create(ctx, sandbox.CreateOptions{})
	check(err)
	defer func() { check(sb.Close(ctx)) }()
	check(sb.Pause(ctx))
	_, err = sb.Run(ctx, "true", sandbox.ExecOptions{})
	fmt.Println(err != nil)
	check(sb.Unpause(ctx))
	_, err = sb.Run(ctx, "true", sandbox.ExecOptions{})
	fmt.Println(err != nil)
	// Output:
	// true
	// false
}

func ExampleHandle_Metrics() {
	client, done := exampleClient()
	defer done()
	ctx := context.Background()
	sb, err := client.Create(ctx, sandbox.CreateOptions{})
	check(err)
	defer func() { check(sb.Close(ctx)) }()
	m, err := sb.Metrics(ctx)
	check(err)
	fmt.Println(m.CPU >= 0, m.Memory > 0, m.Wire.CPUCount > 0)
	for m, err := range sb.WatchMetrics(ctx) { // every two seconds
		check(err)
		fmt.Println(m.Memory < 100)
		break
	}
	// Output:
	// true true true
	// true
}
