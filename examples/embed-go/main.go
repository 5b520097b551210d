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

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/sandbox"
)

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
	cfg, err := host.LoadConfig("") // ./alineo.toml, or the defaults: SQLite in ./.alineo/ledger.db
	if err != nil {
		return err
	}
	h, err := host.Open(ctx, cfg)
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
	sb, err := boxes.Create(ctx, sandbox.CreateOptions{Name: "embed-go", Lifetime: 10 * time.Minute})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sb.Close(ctx)) }()

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
