package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

func newEnv(a *app) *cobra.Command {
	cmd := group("env", "Build, list and delete environments: snapshots that sandboxes are made of",
		"  alineo-host env build node -- 'apt-get update && apt-get install -y nodejs'\n  alineo-host create --environment node",
		newEnvBuild(a), newEnvList(a), newEnvDelete(a))
	cmd.Long = `An environment is a sandbox's files under a name: it is set up once, and any number of sandboxes are
then made of it, each in the state in which the setup left it.`
	return cmd
}

func (a *app) environmentHint(err error, name string) error {
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	reason := store.ErrNotFound
	if of, ok := errors.AsType[*sandbox.Error](err); ok {
		reason = of.Err // what it was asked for is said here
	}
	return fmt.Errorf("environment %q: %w (%s env build makes it; %[3]s env list shows what there is)", name, reason, a.self())
}

func newEnvBuild(a *app) *cobra.Command {
	var f makeFlags
	var image string
	var copies []string
	cmd := &cobra.Command{
		Use:   "build NAME [flags] [--] [COMMAND [ARG…]]",
		Short: "Build an environment, anew when it is there",
		Long: `build makes a sandbox, copies files into it, runs a command in it and keeps its files under a name.
A command that does not exit with 0 fails the build, and its exit code becomes build's; an
environment of that name that was built before stays as it was. Sandboxes that were made of it
before are not touched. The snapshot of the build before is deleted, unless a sandbox needs it.

What the build does is in the ledger like any other sandbox's work.`,
		Example: `  alineo-host env build node -- 'apt-get update && apt-get install -y nodejs'
  alineo-host env build --image alpine:3.20 --copy ./app:/srv/app app -- sh /srv/app/setup.sh
  alineo-host create --environment app`,
		Args: idThenCommand(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			pairs, err := parseCopies(copies)
			if err != nil {
				return err
			}
			env, err := parseEnv(f.env)
			if err != nil {
				return err
			}
			err = a.withHost(cmd.Context(), func(ctx context.Context, h *host.Host) error {
				boxes, err := a.sandboxes(ctx, h)
				if err != nil {
					return err
				}
				began := time.Now()
				a.out.progressf("building %s …", args[0])
				before, err := h.Store().GetEnvironment(ctx, args[0])
				if err != nil && !errors.Is(err, store.ErrNotFound) {
					return err
				}
				built, err := boxes.Environment(args[0], sandbox.EnvironmentOptions{
					Image: image, Resources: f.resources, Env: env,
					Setup: func(ctx context.Context, sb *sandbox.Handle) error {
						return a.setUp(ctx, sb, pairs, commandArgs(cmd), env)
					},
				}).Build(ctx)
				if err != nil {
					return err
				}
				if before.SnapshotID != "" {
					if err := a.deleteSnapshot(ctx, h, before.SnapshotID); err != nil {
						a.out.notef("the snapshot of the build before stays on the server: %v", err)
					}
				}
				a.out.notef("built %s in %s (%s create --environment %[1]s)", built.Name, time.Since(began).Round(time.Millisecond), a.self())
				if a.out.json {
					return a.out.data(built)
				}
				return nil
			})
			return hostFailed(err)
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows the name is the command's
	cmd.Flags().StringArrayVarP(&f.env, "env", "e", nil, "set a variable while it is built, `NAME=VALUE`; NAME alone passes yours on; may be repeated")
	cmd.Flags().StringVar(&image, "image", "", "image that it begins with (default: [sandbox] image)")
	cmd.Flags().StringArrayVar(&copies, "copy", nil, "copy a local file or a directory's content in first, `LOCAL:PATH`; may be repeated")
	f.addResources(cmd)
	return cmd
}

func parseCopies(texts []string) ([][2]string, error) {
	pairs := make([][2]string, len(texts))
	for i, text := range texts {
		at := strings.LastIndex(text, ":/")
		if at < 1 {
			return nil, &exitError{code: exitUsage, err: fmt.Errorf("--copy %q is not LOCAL:PATH with an absolute path, such as ./app:/srv/app", text)}
		}
		pairs[i] = [2]string{text[:at], text[at+1:]}
	}
	return pairs, nil
}

// setUp is what an environment's sandbox goes through before its files are kept.
func (a *app) setUp(ctx context.Context, sb *sandbox.Handle, copies [][2]string, command []string, env map[string]string) error {
	for _, pair := range copies {
		a.out.progressf("copying %s to %s", pair[0], pair[1])
		if err := sb.CopyIn(ctx, pair[0], pair[1], sandbox.CopyOptions{}); err != nil {
			return err
		}
	}
	if len(command) == 0 {
		return nil
	}
	r := &runner{a: a, f: &runFlags{}, sb: sb, opts: sandbox.ExecOptions{Env: env}, began: time.Now()}
	line := commandLine(command)
	err := r.command(ctx, line)
	var code *exitError
	if errors.As(err, &code) && code.err == nil {
		code.err = fmt.Errorf("the command exited with code %d: %s", code.code, oneLine(line, maxCell))
	}
	return err
}

func newEnvList(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the environments of the ledger, newest first",
		Long: `list shows the environments that were built, the image that each began with, when it was built last, and
its snapshot on the server. "create --environment" makes a sandbox of one.`,
		Example: "  alineo-host env list\n  alineo-host env list --json",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withHost(cmd.Context(), func(ctx context.Context, h *host.Host) error {
				list, err := h.Store().ListEnvironments(ctx)
				if err != nil {
					return err
				}
				if a.out.json {
					for _, e := range list {
						if err := a.out.data(e); err != nil {
							return err
						}
					}
					return nil
				}
				if len(list) == 0 {
					a.out.notef("no environments in %s (%s env build makes one)", h.LedgerText(), a.self())
					return nil
				}
				rows := make([][]string, len(list))
				for i, e := range list {
					rows[i] = []string{e.Name, orDash(e.Image), clock(e.BuiltAt), e.SnapshotID}
				}
				return a.out.table([]string{"NAME", "IMAGE", "BUILT", "SNAPSHOT"}, rows)
			})
		},
	}
}

func newEnvDelete(a *app) *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:   "delete NAME",
		Short: "Forget an environment, and delete its snapshot",
		Long: `delete deletes the snapshot of an environment from the server and forgets the environment. Servers that
keep a snapshot while sandboxes that were made of it live refuse that; nothing is changed then. Delete
them first, or forget the environment alone with --keep-snapshot.`,
		Example:           "  alineo-host env delete node\n  alineo-host env delete --keep-snapshot node",
		Args:              usage(cobra.ExactArgs(1)),
		ValidArgsFunction: a.completeEnvironment,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withHost(cmd.Context(), func(ctx context.Context, h *host.Host) error {
				return a.deleteEnvironment(ctx, h, args[0], keep)
			})
		},
	}
	cmd.Flags().BoolVar(&keep, "keep-snapshot", false, "only forget it; its snapshot stays on the server")
	return cmd
}

func (a *app) deleteEnvironment(ctx context.Context, h *host.Host, name string, keep bool) error {
	known, err := h.Store().GetEnvironment(ctx, name)
	if err != nil {
		return a.environmentHint(err, name)
	}
	if !keep {
		if err := a.deleteSnapshot(ctx, h, known.SnapshotID); err != nil {
			return fmt.Errorf("environment %q stays: %w", name, err)
		}
	}
	if err := h.Store().DeleteEnvironment(ctx, name); err != nil {
		return err
	}
	a.out.notef("deleted environment %s", name)
	return a.out.changed(change{Type: "deleted", Name: name})
}

// deleteSnapshot deletes a snapshot from the server. One that is gone is a success.
func (a *app) deleteSnapshot(ctx context.Context, h *host.Host, id string) error {
	if _, err := a.sandboxes(ctx, h); err != nil {
		return err
	}
	wire, err := h.Wire(ctx)
	if err != nil {
		return err
	}
	if err := wire.DeleteSnapshot(ctx, id); err != nil && !errors.Is(err, opensandbox.ErrNotFound) {
		return err
	}
	return nil
}
