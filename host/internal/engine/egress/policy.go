package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// The two actions of a rule, and of a policy by default.
const (
	Allow = "allow"
	Deny  = "deny"
)

// Rule says what happens to connections to a target: a name, "*." and a domain (its sub-domains, not
// itself), an address, or a range of addresses.
type Rule struct {
	Action string `json:"action"`
	Target string `json:"target"`
}

// Policy is a list of rules, of which the first that matches counts, and what happens else.
type Policy struct {
	Egress        []Rule `json:"egress"`
	DefaultAction string `json:"defaultAction"`
}

// normalise returns the policy with its actions in lower case, or what is wrong with it. As in the
// original an empty action is deny, and the default action is not looked at closely: whatever is not
// allow denies.
func (p Policy) normalise() (Policy, error) {
	p.DefaultAction = strings.ToLower(strings.TrimSpace(p.DefaultAction))
	if p.DefaultAction == "" {
		p.DefaultAction = Deny
	}
	rules := make([]Rule, len(p.Egress))
	for i, r := range p.Egress {
		switch action := strings.ToLower(strings.TrimSpace(r.Action)); action {
		case Allow, Deny:
			r.Action = action
		case "":
			r.Action = Deny
		default:
			return Policy{}, fmt.Errorf("unsupported action %q", r.Action)
		}
		if r.Target = strings.TrimSpace(r.Target); r.Target == "" {
			return Policy{}, errors.New("egress target cannot be empty")
		}
		rules[i] = r
	}
	p.Egress = rules
	return p, nil
}

// modeOf is how the API calls a policy; nil is none yet.
func modeOf(p *Policy) string {
	switch {
	case p == nil || len(p.Egress) == 0 && p.DefaultAction != Allow:
		return "deny_all"
	case len(p.Egress) == 0:
		return "allow_all"
	}
	return "enforcing"
}

// merge puts rules before those of the policy, without the ones whose target they have.
func (p Policy) merge(rules []Rule) Policy {
	seen := make(map[string]bool, len(rules)+len(p.Egress))
	var merged []Rule
	for _, r := range slices.Concat(rules, p.Egress) {
		key := strings.ToLower(strings.TrimSpace(r.Target))
		if !seen[key] {
			seen[key] = true
			merged = append(merged, r)
		}
	}
	p.Egress = merged
	return p
}

// without takes away the rules of some targets and tells how many went.
func (p Policy) without(targets []string) (rest Policy, removed int) {
	gone := make(map[string]bool, len(targets))
	for _, t := range targets {
		gone[strings.ToLower(strings.TrimSpace(t))] = true
	}
	kept := make([]Rule, 0, len(p.Egress))
	for _, r := range p.Egress {
		if !gone[strings.ToLower(r.Target)] {
			kept = append(kept, r)
		}
	}
	removed = len(p.Egress) - len(kept)
	p.Egress = kept
	return p, removed
}

// compiled is a policy that can be asked quickly.
type compiled struct {
	rules []compiledRule
	allow bool // by default
}

type compiledRule struct {
	allow  bool
	name   string       // lower case, without a last dot; "" when it is about addresses
	below  bool         // name's sub-domains
	prefix netip.Prefix // when name is ""
}

// compile never fails: what is neither name nor address matches nothing, as in the original.
func compile(p *Policy) *compiled {
	c := &compiled{}
	if p == nil {
		return c
	}
	c.allow = p.DefaultAction == Allow
	for _, r := range p.Egress {
		c.rules = append(c.rules, compileRule(r))
	}
	return c
}

func compileRule(r Rule) compiledRule {
	rule := compiledRule{allow: r.Action == Allow}
	if a, err := netip.ParseAddr(r.Target); err == nil {
		a = a.Unmap().WithZone("")
		rule.prefix = netip.PrefixFrom(a, a.BitLen())
		return rule
	}
	if p, err := netip.ParsePrefix(r.Target); err == nil {
		rule.prefix = p.Masked()
		return rule
	}
	rule.name, rule.below = strings.CutPrefix(canonicalName(r.Target), "*.")
	return rule
}

// canonicalName is a name as names are compared.
func canonicalName(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// allowsName judges a name in its canonical form.
func (c *compiled) allowsName(name string) bool {
	for i := range c.rules {
		switch r := &c.rules[i]; {
		case r.name == "":
		case r.below && strings.HasSuffix(name, "."+r.name), !r.below && r.name == name:
			return r.allow
		}
	}
	return c.allow
}

// address judges an address by the rules about addresses. explicit tells that one of them matched.
func (c *compiled) address(a netip.Addr) (allow, explicit bool) {
	a = a.Unmap()
	for i := range c.rules {
		if r := &c.rules[i]; r.name == "" && r.prefix.Contains(a) {
			return r.allow, true
		}
	}
	return c.allow, false
}

// allowsAddress judges a connection to an address. One that no stranger should reach needs a rule.
func (c *compiled) allowsAddress(a netip.Addr, local func(netip.Addr) bool) bool {
	allow, explicit := c.address(a)
	return allow && (explicit || !local(a))
}

// allowsResolved judges an address that an allowed name has: a name does not lead to what no stranger
// should reach, nor to an address that a rule denies.
func (c *compiled) allowsResolved(a netip.Addr, local func(netip.Addr) bool) bool {
	allow, explicit := c.address(a)
	if explicit {
		return allow
	}
	return !local(a)
}

// covers tells whether a rule about names allows a host, or all names below a domain ("*.").
func (c *compiled) covers(host string) bool {
	domain, below := strings.CutPrefix(host, "*.")
	for i := range c.rules {
		switch r := &c.rules[i]; {
		case r.name == "":
		case r.below && (strings.HasSuffix(domain, "."+r.name) || below && domain == r.name), !r.below && !below && r.name == domain:
			return r.allow
		}
	}
	return false
}
