package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// checkNetwork is checkPolicy for a sandbox that may have the credential proxy, which needs a policy.
func checkNetwork(policy *opensandbox.NetworkPolicy, proxy bool) (*opensandbox.NetworkPolicy, error) {
	if proxy && policy == nil {
		return nil, fmt.Errorf("%w: the credential proxy needs a network policy (one that allows everything will do)", ErrInvalid)
	}
	return checkPolicy(policy)
}

// checkPolicy refuses a policy that a server would take and then not enforce, and returns what it gets.
func checkPolicy(policy *opensandbox.NetworkPolicy) (*opensandbox.NetworkPolicy, error) {
	if policy == nil {
		return nil, nil
	}
	switch policy.DefaultAction {
	case "", opensandbox.ActionAllow, opensandbox.ActionDeny:
	default:
		return nil, fmt.Errorf("%w: the network policy's default action %q is neither allow nor deny", ErrInvalid, policy.DefaultAction)
	}
	rules, err := checkRules(policy.Egress)
	if err != nil {
		return nil, err
	}
	return &opensandbox.NetworkPolicy{DefaultAction: policy.DefaultAction, Egress: rules}, nil
}

// checkRules is checkPolicy for rules. Blanks around a target are taken off: not every server would find the host.
func checkRules(rules []opensandbox.NetworkRule) ([]opensandbox.NetworkRule, error) {
	var problems []error
	rules = slices.Clone(rules)
	for i, rule := range rules {
		rules[i].Target = strings.TrimSpace(rule.Target)
		if rule.Action != opensandbox.ActionAllow && rule.Action != opensandbox.ActionDeny {
			problems = append(problems, fmt.Errorf("the network rule for %q: the action %q is neither allow nor deny", rule.Target, rule.Action))
		}
		if !validTarget(rule.Target) {
			problems = append(problems, fmt.Errorf("the network rule's target %q is no host name, *.domain, address or CIDR", rule.Target))
		}
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, errors.Join(problems...))
	}
	return rules, nil
}

// validTarget reports whether a rule's target is one that sidecars understand. Blanks around it don't
// matter.
func validTarget(target string) bool {
	target = strings.TrimSpace(target)
	if _, err := netip.ParseAddr(target); err == nil {
		return true
	}
	if _, err := netip.ParsePrefix(target); err == nil {
		return true
	}
	name := strings.TrimSuffix(strings.TrimPrefix(target, "*."), ".")
	const longest, label = 253, 63
	if name == "" || len(name) > longest {
		return false
	}
	for part := range strings.SplitSeq(name, ".") {
		if part == "" || len(part) > label || part[0] == '-' || part[len(part)-1] == '-' {
			return false
		}
		for _, r := range part {
			if r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
				return false
			}
		}
	}
	return true
}

// egressFold is what the rules that were added and removed while a sandbox ran come to.
type egressFold struct {
	rules   []opensandbox.NetworkRule // in the order in which their targets first came
	removed map[string]struct{}       // by sameTarget
}

func (f *egressFold) add(rules []opensandbox.NetworkRule) {
	for _, rule := range rules {
		delete(f.removed, sameTarget(rule.Target))
		if i := f.find(rule.Target); i >= 0 {
			f.rules[i] = rule
			continue
		}
		f.rules = append(f.rules, rule)
	}
}

func (f *egressFold) remove(targets []string) {
	for _, target := range targets {
		if i := f.find(target); i >= 0 {
			f.rules = slices.Delete(f.rules, i, i+1)
		}
		if f.removed == nil {
			f.removed = make(map[string]struct{})
		}
		f.removed[sameTarget(target)] = struct{}{}
	}
}

func (f *egressFold) find(target string) int {
	return slices.IndexFunc(f.rules, func(r opensandbox.NetworkRule) bool { return sameTarget(r.Target) == sameTarget(target) })
}

// sameTarget is what two spellings of a target have in common.
func sameTarget(target string) string {
	return strings.TrimSuffix(strings.ToLower(strings.TrimSpace(target)), ".")
}

// onto returns the policy that a new sandbox gets, so that none of its traffic comes before the rules.
func (f *egressFold) onto(boot *opensandbox.NetworkPolicy) *opensandbox.NetworkPolicy {
	policy := &opensandbox.NetworkPolicy{DefaultAction: boot.DefaultAction, Egress: slices.Clone(f.rules)}
	for _, rule := range boot.Egress {
		if _, gone := f.removed[sameTarget(rule.Target)]; !gone && f.find(rule.Target) < 0 {
			policy.Egress = append(policy.Egress, rule)
		}
	}
	return policy
}

// controls is what a sandbox's whole ledger says about its network and its credentials, also after
// the last checkpoint.
type controls struct {
	created     recordedCreation // the first sandbox.created
	hasCreated  bool
	egress      egressFold
	credentials boundList
}

func (c *Client) readControls(ctx context.Context, key store.Key) (*controls, error) {
	found := &controls{}
	for entry, err := range ledger.ReadSandbox(ctx, c.store, key) {
		if err != nil {
			return nil, err
		}
		if err := found.take(&entry); err != nil {
			return nil, fmt.Errorf("%s of %s: its payload can't be read: %w", entry.Event, key, err)
		}
	}
	return found, nil
}

// policy returns the policy that the sandbox has come to, nil for none.
func (c *controls) policy() *opensandbox.NetworkPolicy {
	if c.created.networkPolicy == nil {
		return nil
	}
	return c.egress.onto(c.created.networkPolicy)
}

func (c *controls) take(entry *store.Entry) error {
	switch store.CurrentName(entry.Event) {
	case store.EventSandboxCreated:
		if c.hasCreated {
			return nil
		}
		var err error
		c.created, err = readCreated(entry.Payload)
		c.hasCreated = true
		return err
	case store.EventEgressRuleAdded:
		var payload struct {
			Rules []opensandbox.NetworkRule `json:"rules"`
		}
		if err := json.Unmarshal(entry.Payload, &payload); err != nil {
			return err
		}
		c.egress.add(payload.Rules)
	case store.EventEgressRuleRemoved:
		var payload struct {
			Targets []string `json:"targets"`
		}
		if err := json.Unmarshal(entry.Payload, &payload); err != nil {
			return err
		}
		c.egress.remove(payload.Targets)
	case store.EventCredentialBound, store.EventCredentialRevoked:
		return c.takeCredential(entry)
	}
	return nil
}

func (c *controls) takeCredential(entry *store.Entry) error {
	var payload struct {
		Name    string             `json:"name"`
		Binding json.RawMessage    `json:"binding"`
		Source  *credential.Source `json:"source"`
	}
	if err := json.Unmarshal(entry.Payload, &payload); err != nil {
		return err
	}
	if store.CurrentName(entry.Event) == store.EventCredentialRevoked {
		c.credentials.revoke(payload.Name)
		return nil
	}
	bound := boundEntry{Bound: credential.Bound{Name: payload.Name, Source: payload.Source}}
	// One that can't be read may be revoked or bound anew later.
	if bound.err = json.Unmarshal(payload.Binding, &bound.Binding); bound.err == nil {
		bound.err = bound.Binding.Validate()
	}
	c.credentials.put(bound)
	return nil
}
