package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alineo-labs/alineo-host/examples/embed-go/memory"
	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
)

// settings are what alineo.toml would say. The broker is the bundled WebAssembly plugin; a source and a
// sha256 would make it one of your own. It may use one secret, whose value it never sees.
const settings = `
[credentials]
broker = "broker-vault"

[plugins.broker-vault.grant]
secrets = ["api-token"]

[secrets]
api-token = "env:API_TOKEN"
`

func main() {
	// First thing in main: the embedded engine starts this program again as a sandbox's first process.
	host.Init()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "embed-go:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	cfg, err := config.Parse("settings", []byte(settings))
	if err != nil {
		return err
	}
	// The ledger is a store of our own, in Go; the broker is a plugin.
	h, err := host.Open(ctx, cfg, host.WithStore(memory.New()))
	if err != nil {
		return err
	}
	// Close drains the ledger, also after a signal.
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
		defer cancel()
		err = errors.Join(err, h.Close(closing))
	}()

	boxes, err := h.Sandboxes(ctx)
	if err != nil {
		return err
	}
	sb, err := boxes.Create(ctx, options(true))
	proxied := err == nil
	if errors.Is(err, opensandbox.ErrUnsupported) { // this machine's engine keeps no network from a sandbox
		fmt.Println("no credentials:", err)
		sb, err = boxes.Create(ctx, options(false))
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sb.Close(ctx)) }()

	if proxied {
		if err := bind(ctx, h, sb); err != nil {
			return err
		}
	}
	exec, err := sb.Exec(ctx, "echo hello from $(hostname); date -u +%Y", sandbox.ExecOptions{Strict: true})
	if err != nil {
		return err
	}
	if _, err := io.Copy(os.Stdout, exec.Stdout()); err != nil {
		return err
	}
	if _, err := exec.Wait(); err != nil {
		return err
	}

	// An event of our own, in the same ledger.
	if err := sb.Emit(ctx, "example.greeted", map[string]int{"times": 1}); err != nil {
		return err
	}
	for entry, err := range ledger.ReadSandbox(ctx, h.Store(), sb.Key()) {
		if err != nil {
			return err
		}
		fmt.Printf("%3d %-20s %s\n", entry.ID, entry.Event, entry.Payload)
	}
	return nil
}

// options are of a sandbox that may reach one host, if it may reach any.
func options(proxied bool) sandbox.CreateOptions {
	opts := sandbox.CreateOptions{Name: "embed-go", Lifetime: 10 * time.Minute}
	if proxied {
		opts.CredentialProxy = true
		opts.NetworkPolicy = &opensandbox.NetworkPolicy{
			DefaultAction: opensandbox.ActionDeny,
			Egress:        []opensandbox.NetworkRule{{Action: opensandbox.ActionAllow, Target: "api.example.com"}},
		}
	}
	return opts
}

// bind gives the sandbox's requests to one host a token that nothing in the sandbox sees. The broker finds the
// value by its reference, now and whenever the sandbox is resumed or forked.
func bind(ctx context.Context, h *host.Host, sb *sandbox.Handle) error {
	broker, err := h.Broker(ctx)
	if err != nil {
		return err
	}
	source := credential.External("secret:api-token")
	found, err := broker.Resolve(ctx, "api", *source)
	if err != nil {
		return fmt.Errorf("finding the token (set API_TOKEN): %w", err)
	}
	credentials := sb.Credentials()
	if err := credentials.SetResolved(ctx, "api", found, credential.Header("api.example.com", "", "X-Api-Key"), source); err != nil {
		return err
	}
	bound, err := credentials.ListBindings(ctx)
	if err != nil {
		return err
	}
	for _, b := range bound {
		fmt.Printf("credential %s is bound for %v, in the sidecar: %v, in the ledger: %v\n", b.Name, b.Binding.Hosts, b.Live, b.Recorded)
	}
	return nil
}
