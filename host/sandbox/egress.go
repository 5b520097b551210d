package sandbox

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// Network rules work in sandboxes that were created with a network policy. Those that are added and
// removed are recorded, and a resumed sandbox begins with what they had come to.

// NetworkPolicy returns what the sandbox may reach now.
func (h *Handle) NetworkPolicy(ctx context.Context) (*opensandbox.PolicyStatus, error) {
	const op = "getting network policy"
	if err := h.open(); err != nil {
		return nil, h.fail(op, err)
	}
	status, err := h.c.wire.Egress(h.id).Policy(ctx)
	if err != nil {
		return nil, h.fail(op, err)
	}
	return status, nil
}

// AddNetworkRules puts rules before the others; those that had the same target are dropped. When the
// ledger does not take the event, the rules hold all the same, and the error is the ledger's.
func (h *Handle) AddNetworkRules(ctx context.Context, rules ...opensandbox.NetworkRule) (*opensandbox.PolicyStatus, error) {
	const op = "adding network rules"
	if len(rules) == 0 {
		return nil, h.fail(op, fmt.Errorf("%w: there are none", ErrInvalid))
	}
	rules, err := checkRules(rules)
	if err != nil {
		return nil, h.fail(op, err)
	}
	return h.changeNetwork(ctx, op, store.EventEgressRuleAdded,
		struct {
			Rules []opensandbox.NetworkRule `json:"rules"`
		}{rules},
		func(e *opensandbox.Egress) (*opensandbox.PolicyStatus, error) { return e.AddRules(ctx, rules...) },
		func(policy *opensandbox.NetworkPolicy) bool {
			for _, rule := range rules {
				if !slices.ContainsFunc(policy.Egress, func(r opensandbox.NetworkRule) bool {
					return r.Action == rule.Action && strings.EqualFold(r.Target, rule.Target)
				}) {
					return false
				}
			}
			return true
		})
}

// RemoveNetworkRules drops the rules for targets, also those that the sandbox was created with.
func (h *Handle) RemoveNetworkRules(ctx context.Context, targets ...string) (*opensandbox.PolicyStatus, error) {
	const op = "removing network rules"
	if len(targets) == 0 {
		return nil, h.fail(op, fmt.Errorf("%w: no target is named", ErrInvalid))
	}
	targets = slices.Clone(targets)
	for i := range targets {
		targets[i] = strings.TrimSpace(targets[i])
	}
	return h.changeNetwork(ctx, op, store.EventEgressRuleRemoved,
		struct {
			Targets []string `json:"targets"`
		}{targets},
		func(e *opensandbox.Egress) (*opensandbox.PolicyStatus, error) { return e.RemoveRules(ctx, targets...) },
		func(policy *opensandbox.NetworkPolicy) bool {
			for _, target := range targets {
				if slices.ContainsFunc(policy.Egress, func(r opensandbox.NetworkRule) bool { return strings.EqualFold(r.Target, target) }) {
					return false
				}
			}
			return true
		})
}

func (h *Handle) changeNetwork(
	ctx context.Context, op, event string, payload any,
	change func(*opensandbox.Egress) (*opensandbox.PolicyStatus, error), holds func(*opensandbox.NetworkPolicy) bool,
) (*opensandbox.PolicyStatus, error) {
	raw, err := encode(payload)
	if err != nil {
		return nil, h.fail(op, err)
	}
	if err := h.c.mayRecord("a target", payload); err != nil {
		return nil, h.fail(op, err)
	}
	if err := h.drives(); err != nil {
		return nil, h.fail(op, err)
	}
	status, err := change(h.c.wire.Egress(h.id))
	if err != nil && lost(err) {
		status, err = h.networkNow(ctx, err, holds)
	}
	if status == nil {
		return nil, h.fail(op, err)
	}
	// It holds now, and that is to be recorded whether or not its caller still waits.
	if err := h.append(context.WithoutCancel(ctx), ledger.Event{Step: -1, Name: event, Payload: raw}); err != nil {
		return status, h.fail(op, fmt.Errorf("the rules are changed, but that is not recorded: %w", err))
	}
	return status, h.fail(op, err)
}

// networkNow finds out whether a change whose answer was lost holds; then it returns what holds now, with an error
// only when the caller has left.
func (h *Handle) networkNow(
	ctx context.Context, failure error, holds func(*opensandbox.NetworkPolicy) bool,
) (*opensandbox.PolicyStatus, error) {
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookWithin)
	defer cancel()
	status, err := h.c.wire.Egress(h.id).Policy(asking)
	if err != nil || status.Policy == nil || !holds(status.Policy) {
		return nil, failure
	}
	return status, context.Cause(ctx)
}
