package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
)

func newCheckpoint(a *app) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "checkpoint ID",
		Short: "Keep a sandbox's files, so that resume can go on from here",
		Long: `checkpoint takes a snapshot of the files of a running sandbox, records it in the ledger and prints
the snapshot's id. Processes are not in it. resume goes on after it, with what was run
before answered from the ledger; restore makes a fresh sandbox of the snapshot alone.`,
		Example: `  alineo-host checkpoint 6f1c2d3e --name built
  alineo-host resume 6f1c2d3e --tag built -- make test`,
		ValidArgsFunction: a.completeID,
		Args:              usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.drive(cmd.Context(), args[0], sandbox.ConnectOptions{AllowPaused: true}, func(ctx context.Context, sb *driven) error {
				began := time.Now()
				a.out.progressf("taking a snapshot of %s …", sb.ID())
				snapshot, err := sb.Checkpoint(ctx, name)
				if err != nil {
					return err
				}
				a.out.progressf("it is ready after %s", time.Since(began).Round(time.Millisecond))
				if a.out.json {
					return a.out.data(struct {
						SandboxID  string `json:"sandboxId"`
						SnapshotID string `json:"snapshotId"`
						Name       string `json:"name,omitempty"`
					}{sb.ID(), snapshot, name})
				}
				return a.out.printf("%s\n", snapshot)
			})
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "`name` under which resume --tag finds it")
	return cmd
}

func newFork(a *app) *cobra.Command {
	var f makeFlags
	var tag string
	var resources sandbox.Resources
	cmd := &cobra.Command{
		Use:   "fork ID",
		Short: "Make another sandbox of a sandbox's files as they are now",
		Long: `fork takes a checkpoint of a running sandbox and makes a new one of it, which has its files and none
of its processes, and the same resources. Both go on by themselves; the new one's id is printed.
The ledger knows whose child it is. It has the parent's network policy and credentials; --allow and
--deny give it another policy in place of the parent's.

The resources are those in the ledger; for a sandbox of which it does not know them, give --cpu and
--memory.`,
		Example: `  alineo-host fork 6f1c2d3e
  other=$(alineo-host fork 6f1c2d3e --tag before-upgrade)`,
		ValidArgsFunction: a.completeID,
		Args:              usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return a.drive(cmd.Context(), args[0], sandbox.ConnectOptions{Resources: resources}, func(ctx context.Context, sb *driven) error {
				return a.leave(ctx, sb.host, "forked", func(_ *sandbox.Client, env map[string]string) (*sandbox.Handle, error) {
					child, err := sb.Fork(ctx, sandbox.ForkOptions{
						Tag: tag, RunID: f.runID, Env: env, Lifetime: f.lifetime, Volumes: f.volumes, NetworkPolicy: f.policy(),
					})
					if errors.Is(err, sandbox.ErrNoFork) {
						return nil, fmt.Errorf("%w; give --cpu and --memory", err)
					}
					return child, unresolvedHint(err)
				}, &f)
			})
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&tag, "tag", "", "`name` of the checkpoint that is made")
	cmd.Flags().StringVar(&resources.CPU, "cpu", "", "`cpus` of the new one, where the ledger does not know the old one's")
	cmd.Flags().StringVar(&resources.Memory, "memory", "", "memory of the new one, such as 512Mi, where the ledger does not know the old one's")
	return cmd
}

func newRestore(a *app) *cobra.Command {
	var f makeFlags
	cmd := &cobra.Command{
		Use:   "restore SNAPSHOT",
		Short: "Make a sandbox of a snapshot",
		Long: `restore makes a new sandbox of a snapshot, by its whole id, and prints the new sandbox's id. Nothing
is replayed: it begins with the files of the snapshot and an empty ledger. "sandboxes show" lists
the snapshots of a sandbox's checkpoints.`,
		Example: `  alineo-host restore 4f6e0c1a-…
  alineo-host restore $(alineo-host checkpoint 6f1c2d3e) --name copy`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return a.withHost(cmd.Context(), func(ctx context.Context, h *host.Host) error {
				return a.leave(ctx, h, "restored", func(boxes *sandbox.Client, env map[string]string) (*sandbox.Handle, error) {
					sb, err := boxes.RestoreSnapshot(ctx, args[0], sandbox.RestoreOptions{
						Name: f.name, RunID: f.runID, Env: env, Resources: f.resources, Lifetime: f.lifetime, Volumes: f.volumes, NetworkPolicy: f.policy(),
					})
					if errors.Is(err, opensandbox.ErrNotFound) {
						return nil, fmt.Errorf("%w\n(%s sandboxes show ID lists the snapshots of a sandbox)", err, a.self())
					}
					return sb, err
				}, &f)
			})
		},
	}
	f.add(cmd)
	f.addName(cmd)
	f.addResources(cmd)
	return cmd
}
