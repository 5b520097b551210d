package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
)

func newPolicy(a *app) *cobra.Command {
	cmd := group("policy", "Show and change what a sandbox may reach in the network",
		"  alineo-host policy get 6f1c2d3e\n  alineo-host policy allow 6f1c2d3e pypi.org '*.pythonhosted.org'",
		newPolicyGet(a),
		newPolicyAdd(a, "allow", opensandbox.ActionAllow, "Let a sandbox reach targets",
			`allow puts a rule for each target before the others, so that it decides, and drops those that were for the same
target. It prints what the rules are then. *.domain is for the names below a domain, not for itself.`),
		newPolicyAdd(a, "deny", opensandbox.ActionDeny, "Keep a sandbox from targets",
			`deny puts a rule for each target before the others, so that it decides, and drops those that were for the same
target. It prints what the rules are then.`),
		newPolicyRemove(a))
	cmd.Long = `policy works with sandboxes that were made with a network policy (create --allow and --deny). A target
is a host name, *.domain, an address or a CIDR. Changes hold at once, are recorded in the ledger,
and are given to a sandbox that is resumed from it. What another process on this machine runs in the
sandbox goes on: that process is asked to make the change and to record it.`
	return cmd
}

func newPolicyGet(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "get ID",
		Short: "Show what a sandbox may reach",
		Long: `get asks the sandbox's sidecar for its rules. The first one whose target matches decides; the last line is
for everything else. Rules for addresses hold where the mode of enforcement has nft in it.`,
		Example:           "  alineo-host policy get 6f1c2d3e\n  alineo-host policy get --json 6f1c2d3e",
		ValidArgsFunction: a.completeID,
		Args:              usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.look(cmd.Context(), args[0], func(ctx context.Context, sb *sandbox.Handle) error {
				status, err := sb.NetworkPolicy(ctx)
				if err != nil {
					return a.policyHint(err)
				}
				return a.printPolicy(status)
			})
		},
	}
}

// policyHint says where policies come from.
func (a *app) policyHint(err error) error {
	if errors.Is(err, opensandbox.ErrNotFound) || errors.Is(err, opensandbox.ErrUnsupported) || errors.Is(err, opensandbox.ErrUnavailable) {
		return fmt.Errorf("%w\n(only a sandbox that was made with create --allow or --deny has a policy)", err)
	}
	return err
}

func (a *app) printPolicy(status *opensandbox.PolicyStatus) error {
	if a.out.json {
		return a.out.data(status)
	}
	rows := [][]string{}
	if status.Policy != nil {
		for _, rule := range status.Policy.Egress {
			rows = append(rows, []string{rule.Action, rule.Target})
		}
		if status.Policy.DefaultAction != "" {
			rows = append(rows, []string{status.Policy.DefaultAction, "(everything else)"})
		}
	}
	a.out.notef("mode %s, enforced by %s", orDash(status.Mode), orDash(status.EnforcementMode))
	return a.out.table([]string{"ACTION", "TARGET"}, rows)
}

func newPolicyAdd(a *app, name, action, short, long string) *cobra.Command {
	return &cobra.Command{
		Use:               name + " ID TARGET…",
		Short:             short,
		Long:              long,
		Example:           fmt.Sprintf("  alineo-host policy %[1]s 6f1c2d3e example.com\n  alineo-host policy %[1]s 6f1c2d3e '*.example.com' 10.0.0.0/8", name),
		ValidArgsFunction: a.completeID,
		Args:              usage(cobra.MinimumNArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changePolicy(cmd.Context(), args[0], func(ctx context.Context, sb *changed) error {
				_, err := sb.AddNetworkRules(ctx, rules(action, args[1:])...)
				return err
			})
		},
	}
}

func newPolicyRemove(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "remove ID TARGET…",
		Short: "Drop the rules for targets",
		Long: `remove drops the rules for each target, those that the sandbox was made with, too; what other rules or the
default say then holds. Targets without a rule are no error. It prints what the rules are then.`,
		Example:           "  alineo-host policy remove 6f1c2d3e example.com",
		ValidArgsFunction: a.completeID,
		Args:              usage(cobra.MinimumNArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changePolicy(cmd.Context(), args[0], func(ctx context.Context, sb *changed) error {
				_, err := sb.RemoveNetworkRules(ctx, args[1:]...)
				return err
			})
		},
	}
}

// changePolicy changes the rules and shows what they are then.
func (a *app) changePolicy(ctx context.Context, id string, change func(context.Context, *changed) error) error {
	return a.change(ctx, id, func(ctx context.Context, sb *changed) error {
		if err := change(ctx, sb); err != nil {
			return a.policyHint(err)
		}
		status, err := sb.look.NetworkPolicy(ctx)
		if err != nil {
			return err
		}
		return a.printPolicy(status)
	})
}
