package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alineo-labs/alineo-host/host"
)

func main() {
	// The embedded engine starts this binary again as a sandbox's first process: then this call does
	// that work and does not return.
	host.Init()
	os.Exit(run(os.Args[1:]))
}

// run executes one command line and returns the exit code.
func run(args []string) int {
	ctx, stop, signalled := notify(context.Background())
	defer stop()
	cmd := newRoot()
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	code := exitFailed
	if coded, ok := errors.AsType[*exitError](err); ok {
		code = coded.code
		err = coded.err
	}
	if errors.Is(err, syscall.EPIPE) {
		return exitPipe // nobody reads; not worth a message
	}
	if sig := signalled(); sig != nil {
		code = exitInterrupted
		if sig == syscall.SIGTERM {
			code = exitTerminated
		}
		switch {
		case errors.Is(err, context.Canceled):
			err = fmt.Errorf("stopped by %v", sig)
		case err != nil:
			err = fmt.Errorf("stopped by %v: %w", sig, err)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "alineo-host:", err)
	}
	return code
}

// again is how long after the first signal another one counts as the same: a shell or timeout(1) may
// send it to the process and to its group.
const again = 500 * time.Millisecond

// notify returns a context that the first SIGINT or SIGTERM ends, so that the remote command is
// stopped and the sandbox closed; a later signal ends the program at once.
func notify(parent context.Context) (ctx context.Context, stop func(), signalled func() os.Signal) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	// Output into a closed pipe is an error of the write, so that the sandbox is closed. Not
	// signal.Ignore: what is started would inherit it.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	first := make(chan os.Signal, 1)
	go func() {
		select {
		case sig := <-signals:
			first <- sig
			cancel(context.Canceled)
			time.Sleep(again)
			// From here on the signals have their usual effect.
			signal.Stop(signals)
		case <-ctx.Done():
		}
	}()
	stop = func() {
		signal.Stop(signals)
		cancel(nil)
	}
	var got os.Signal
	return ctx, stop, func() os.Signal {
		select {
		case got = <-first:
		default:
		}
		return got
	}
}
