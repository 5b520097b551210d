package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/cmd/alineo-host/internal/script"
	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

func newResume(a *app) *cobra.Command {
	var f runFlags
	var tag string
	cmd := &cobra.Command{
		Use:   "resume [flags] ID [--] [COMMAND [ARG…]]",
		Short: "Go on with a sandbox after its last checkpoint, in a new sandbox",
		Long: `resume makes a new sandbox from a checkpoint that the ledger knows of. With --script, the
steps before the checkpoint are answered from the ledger: they don't run and write
nothing; a step that was changed since is refused, and both sides are shown. With a
command, that command runs after what was recorded. With neither, the sandbox is left
running and its id is printed.

The beginning of an id is enough. The sandbox that is resumed is not touched.`,
		Example: `  alineo-host resume 6f1c2d3e --script examples/wordcount/job.alineo
  alineo-host resume 6f1c2d3e -- ls -l /workspace
  alineo-host resume 6f1c2d3e --tag built --keep`,
		Args:              usage(cobra.MinimumNArgs(1)),
		ValidArgsFunction: a.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			steps, err := f.check(cmd, args[1:])
			if err != nil {
				return err
			}
			err = a.withHost(cmd.Context(), func(ctx context.Context, h *host.Host) error {
				return checkpointHint(a.resume(ctx, h, args[0], tag, &f, steps, args[1:]))
			})
			return hostFailed(err)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&tag, "tag", "", "the last checkpoint of this `name` instead of the last one")
	_ = cmd.RegisterFlagCompletionFunc("tag", a.completeTag) // the flag is there
	return cmd
}

// checkpointHint says where checkpoints come from when there is none.
func checkpointHint(err error) error {
	var none *ledger.NoCheckpointError
	if errors.As(err, &none) && len(none.Tags) == 0 {
		return fmt.Errorf("%w; \"checkpoint ID\", or a checkpoint step of a script, makes one", none)
	}
	return err
}

func (a *app) resume(ctx context.Context, h *host.Host, id, tag string, f *runFlags, steps *script.Script, args []string) error {
	r, err := newRunner(a, f)
	if err != nil {
		return err
	}
	details, err := a.findSandbox(ctx, h.Store(), id)
	if err != nil {
		return err
	}
	key := store.Key{Name: details.Name, SandboxID: details.SandboxID}
	var done []script.Done
	if steps != nil {
		if done, err = recorded(ctx, h.Store(), key, tag); err != nil {
			return err
		}
		if _, err := steps.Match(done); err != nil {
			return err
		}
	}
	boxes, err := a.sandboxes(ctx, h)
	if err != nil {
		return err
	}
	began := time.Now()
	a.out.progressf("resuming %s …", details.SandboxID)
	r.sb, err = boxes.Resume(ctx, details.SandboxID, sandbox.ResumeOptions{
		Tag: tag, Lifetime: f.life(h), NoReplay: steps == nil,
	})
	if err != nil {
		return unresolvedHint(err)
	}
	a.out.notef("resumed %s as %s", details.SandboxID, r.sb.ID())
	a.out.progressf("it is ready after %s", time.Since(began).Round(time.Millisecond))
	switch {
	case steps != nil:
		err = r.steps(ctx, steps, done)
	case len(args) > 0:
		err = r.command(ctx, commandLine(args))
	default:
		f.keep = true
		if a.out.json {
			err = a.out.data(resultLine{Type: "resumed", SandboxID: r.sb.ID(), Name: r.sb.Name()})
		} else {
			_, err = fmt.Fprintln(a.out.out, r.sb.ID())
		}
	}
	err = r.finish(ctx, h, err)
	if details.Status == store.StatusRunning {
		a.out.notef("the sandbox that it was resumed from may still run (%s sandboxes delete --keep-ledger %.8s stops it)",
			a.self(), details.SandboxID)
	}
	return err
}

// recorded returns the steps that the ledger has up to the checkpoint.
func recorded(ctx context.Context, st store.Ledger, key store.Key, tag string) ([]script.Done, error) {
	lineage, _, err := ledger.Lineage(ctx, st, key)
	if err != nil {
		return nil, err
	}
	checkpoint, err := ledger.SelectCheckpoint(ctx, st, lineage, tag)
	if err != nil {
		return nil, err
	}
	var rec script.Recorder
	for e, err := range ledger.ReadHistory(ctx, st, lineage) {
		if err != nil {
			return nil, err
		}
		if err := rec.Add(e); err != nil {
			return nil, err
		}
		if e.ID == checkpoint.ID && e.SandboxID == checkpoint.Key.SandboxID {
			return rec.Done(), nil
		}
	}
	return nil, errors.New("the checkpoint's entry is gone from the ledger")
}
