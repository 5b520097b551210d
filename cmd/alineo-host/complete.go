package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host"
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

func (a *app) sandboxIDs(ctx context.Context, typed, suffix string) []string {
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	var running, rest []string
	_ = a.withHost(ctx, func(ctx context.Context, h *host.Host) error {
		for d, err := range eachSandbox(ctx, h.Store(), store.ListOptions{}) {
			if err != nil {
				return err
			}
			if !strings.HasPrefix(d.SandboxID, typed) {
				continue
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
