//go:build !race

package durable_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"testing"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/durable"
	"github.com/alineo-labs/alineo-host/host/engine"
	"github.com/alineo-labs/alineo-host/internal/pgtest"
)

// A child is this test binary again, as another process. What it does is in childMode: "engine" serves an engine
// until its standard input ends, "start" starts a run and views it, "attach" views one, after an offset.
const (
	childMode   = "ALINEO_TEST_CHILD"
	childConfig = "ALINEO_TEST_CHILD_CONFIG"
	childRun    = "ALINEO_TEST_CHILD_RUN"
	childAfter  = "ALINEO_TEST_CHILD_AFTER"
	childScript = "ALINEO_TEST_CHILD_SCRIPT"
)

func TestMain(m *testing.M) {
	host.Init()
	if mode := os.Getenv(childMode); mode != "" {
		if err := child(context.Background(), mode); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(pgtest.Main(m))
}

func child(ctx context.Context, mode string) error {
	cfg, err := host.LoadConfig(os.Getenv(childConfig))
	if err != nil {
		return err
	}
	if mode == "engine" {
		return serveEngine(ctx, cfg)
	}
	h, err := host.Open(ctx, cfg)
	if err != nil {
		return err
	}
	runs, err := h.Runs(ctx)
	if err != nil {
		return errors.Join(err, h.Close(ctx))
	}
	return errors.Join(drive(ctx, runs, mode), h.Close(ctx))
}

// serveEngine says where it listens, and serves until its standard input ends.
func serveEngine(ctx context.Context, cfg *config.Config) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // its end is what counts
		cancel()
	}()
	return host.ServeEngine(ctx, cfg, engine.ListenOptions{
		Address: "127.0.0.1:0", Ready: func(api, _ net.Addr) { fmt.Println(api) },
	})
}

// drive views a run and prints each event in one line, which is one write: a killed process leaves no half.
func drive(ctx context.Context, runs *durable.Runs, mode string) error {
	id := os.Getenv(childRun)
	if mode == "start" {
		_, err := runs.Start(ctx, durable.StartOptions{
			RunID: id, ThreadID: id, Command: os.Getenv(childScript), Spec: durable.Spec{DestroyOnComplete: true},
		})
		if err != nil {
			return err
		}
	}
	after, err := strconv.ParseUint(os.Getenv(childAfter), 10, 64)
	if err != nil {
		return err
	}
	viewer, err := runs.Attach(ctx, id, durable.AttachOptions{After: after})
	if err != nil {
		return err
	}
	defer func() { _ = viewer.Close() }()
	for {
		event, err := viewer.Next(ctx)
		if errors.Is(err, io.EOF) {
			fmt.Println("eof")
			_, err = bufio.NewReader(os.Stdin).ReadString('\n') // it stays, and drives, until it is told to go
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
		if err != nil {
			return err
		}
		if _, err := fmt.Printf("%d %s %q\n", event.Offset, event.Kind, event.Data); err != nil {
			return err
		}
	}
}
