package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

func newPause(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "pause ID",
		Short: "Freeze a sandbox's processes",
		Long: `pause freezes the processes of a running sandbox, waits until they are frozen and records it. They
keep their memory and use no cpu. It can be deleted, and some servers take a checkpoint of it; the
other commands want it unpaused first.

What another process runs in it (run, exec, shell) stands still, and goes on with unpause. That process
stays the sandbox's driver, so neither is recorded then.`,
		Example:           "  alineo-host pause 6f1c2d3e\n  alineo-host unpause 6f1c2d3e",
		ValidArgsFunction: a.completeID,
		Args:              usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.driveUnlessAtWork(cmd.Context(), args[0], sandbox.ConnectOptions{}, func(ctx context.Context, sb *driven) error {
				if err := sb.Pause(ctx); err != nil {
					return err
				}
				a.out.notef("paused %s", sb.ID())
				return a.out.changed(change{Type: "paused", SandboxID: sb.ID(), Recorded: new(true)})
			}, func(ctx context.Context, wire *opensandbox.Client, id string) error {
				if err := wire.PauseSandbox(ctx, id); err != nil {
					return err
				}
				if err := awaitState(ctx, wire, id, opensandbox.StatePaused); err != nil {
					return err
				}
				a.out.notef("paused %s; what is run in it goes on with %s unpause %.8[1]s (not recorded, so as not to take it over)", id, a.self())
				return a.out.changed(change{Type: "paused", SandboxID: id, Recorded: new(false)})
			})
		},
	}
}

func newUnpause(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "unpause ID",
		Short: "Let a paused sandbox go on",
		Long: `unpause lets a paused sandbox go on where it was, with its processes and their memory where the server
keeps them, waits until it answers and records it. One that is not paused is an error.`,
		Example:           "  alineo-host unpause 6f1c2d3e",
		ValidArgsFunction: a.completeID,
		Args:              usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.driveUnlessAtWork(cmd.Context(), args[0], sandbox.ConnectOptions{AllowPaused: true}, func(ctx context.Context, sb *driven) error {
				if err := sb.Unpause(ctx); err != nil {
					return err
				}
				a.out.notef("%s goes on", sb.ID())
				return a.out.changed(change{Type: "unpaused", SandboxID: sb.ID(), Recorded: new(true)})
			}, func(ctx context.Context, wire *opensandbox.Client, id string) error {
				if err := wire.ResumeSandbox(ctx, id); err != nil {
					return err
				}
				if err := awaitState(ctx, wire, id, opensandbox.StateRunning); err != nil {
					return err
				}
				a.out.notef("%s goes on, with what is run in it (not recorded, so as not to take it over)", id)
				return a.out.changed(change{Type: "unpaused", SandboxID: id, Recorded: new(false)})
			})
		},
	}
}

// driveUnlessAtWork is drive, but when the ledger has something that may still be running, whose driver
// must stay who it is: then aside does what is to be done, unrecorded.
func (a *app) driveUnlessAtWork(
	ctx context.Context, id string, opts sandbox.ConnectOptions, f func(context.Context, *driven) error,
	aside func(ctx context.Context, wire *opensandbox.Client, id string) error,
) error {
	return a.withHost(ctx, func(ctx context.Context, h *host.Host) error {
		details, err := a.findSandbox(ctx, h.Store(), id)
		if err != nil {
			return err
		}
		busy, err := atWork(ctx, h.Store(), store.Key{Name: details.Name, SandboxID: details.SandboxID})
		if err != nil {
			return err
		}
		if !busy {
			return a.driveOn(ctx, h, details, opts, f)
		}
		wire, err := h.Wire(ctx)
		if err != nil {
			return err
		}
		return aside(ctx, wire, details.SandboxID)
	})
}

// atWork reports whether the end of a sandbox's ledger has an exec that has not ended and was not left:
// somebody follows it, unless they were killed.
func atWork(ctx context.Context, st store.Ledger, key store.Key) (bool, error) {
	const last = 2000
	page, err := st.Read(ctx, key, store.ReadOptions{Last: last})
	if err != nil {
		return false, fmt.Errorf("reading the ledger of %s: %w", key, err)
	}
	open := map[int64]bool{}
	for i := range page.Entries {
		switch e := &page.Entries[i]; store.CurrentName(e.Event) {
		case store.EventExecStarted, store.EventExecOutput:
			open[e.StepIndex] = true
		case store.EventExecCompleted, store.EventExecDetached:
			delete(open, e.StepIndex)
		}
	}
	return len(open) > 0, nil
}

// awaitState waits until a sandbox is in a state.
func awaitState(ctx context.Context, wire *opensandbox.Client, id, want string) error {
	const pause, within = 100 * time.Millisecond, 2 * time.Minute
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("sandbox %s is not %s within %s", id, want, within))
	defer cancel()
	for {
		box, err := wire.GetSandbox(ctx, id)
		if err != nil {
			return err
		}
		switch box.Status.State {
		case want:
			return nil
		case opensandbox.StateFailed, opensandbox.StateTerminated:
			return fmt.Errorf("sandbox %s is %s", id, box.Status.State)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}
