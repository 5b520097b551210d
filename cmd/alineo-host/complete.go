package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
)

// What completion offers at most, and how long it may take.
const (
	maxCompletions = 200
	completeWithin = 5 * time.Second
)

// completeID offers the ids of sandboxes for the first argument, running ones first; what follows are
// names of files. It stays silent about problems: a shell would print them into the line.
func (a *app) completeID(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return a.sandboxIDs(cmd.Context(), typed, ""), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeSides offers names of files, and ids with a colon.
func (a *app) completeSides(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 1 || strings.ContainsAny(typed, "/.:") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	if found := a.sandboxIDs(cmd.Context(), typed, ":"); typed != "" && len(found) > 0 {
		return found, cobra.ShellCompDirectiveNoSpace
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// completeEnvironment offers the names of environments.
func (a *app) completeEnvironment(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	var found []string
	if len(args) == 0 {
		_ = a.lookUp(cmd.Context(), func(ctx context.Context, h *host.Host) error {
			list, err := h.Store().ListEnvironments(ctx)
			for _, env := range list {
				found = offer(found, typed, env.Name, env.Image)
			}
			return err
		})
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completePlugin offers the names of plugins for the first argument, beside names of files, and of operations for
// the second of "plugin call".
func (a *app) completePlugin(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	var found []string
	switch {
	case len(args) == 0:
		cfg, err := a.config()
		if err != nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		for _, p := range host.ListPlugins(cfg) {
			found = offer(found, typed, p.Name, p.Source)
		}
		return found, cobra.ShellCompDirectiveDefault
	case len(args) == 1 && cmd.Name() == "call":
		for _, op := range host.PluginOperations(nil) {
			found = offer(found, typed, op.Name, op.Request)
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeTag offers the tags of a sandbox whose id has been typed, the last one first.
func (a *app) completeTag(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	var found []string
	if len(args) > 0 {
		_ = a.lookUp(cmd.Context(), func(ctx context.Context, h *host.Host) error {
			details, err := h.Store().FindSandbox(ctx, args[0])
			if err != nil {
				return err
			}
			key := store.Key{Name: details.Name, SandboxID: details.SandboxID}
			for c, err := range ledger.Checkpoints(ctx, h.Store(), key) {
				if err != nil {
					return err
				}
				if c.Tag != "" {
					found = offer(found, typed, c.Tag, clock(c.CreatedAt))
				}
			}
			return nil
		})
		slices.Reverse(found)
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// offer adds what may be meant, with what it is.
func offer(found []string, typed, word, about string) []string {
	if !strings.HasPrefix(word, typed) || len(found) >= maxCompletions {
		return found
	}
	return append(found, word+"\t"+oneLine(about, maxCell))
}

// lookUp is withHost for completion.
func (a *app) lookUp(ctx context.Context, do func(context.Context, *host.Host) error) error {
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	return a.withHost(ctx, do)
}

func (a *app) sandboxIDs(ctx context.Context, typed, suffix string) []string {
	var running, rest []string
	_ = a.lookUp(ctx, func(ctx context.Context, h *host.Host) error {
		for d, err := range eachSandbox(ctx, h.Store(), store.ListOptions{IDPrefix: typed}) {
			if err != nil {
				return err
			}
			entry := d.SandboxID + suffix + "\t" + oneLine(d.Name, maxCell) + ", " + d.Status
			if d.Status == store.StatusRunning {
				running = append(running, entry)
			} else {
				rest = append(rest, entry)
			}
			if len(running)+len(rest) >= maxCompletions {
				return nil
			}
		}
		return nil
	})
	return append(running, rest...)
}
