package opensandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// PortEgress is the port of the sidecar that decides what a sandbox may reach.
const PortEgress = 18080

// Actions of a network policy.
const (
	ActionAllow = "allow"
	ActionDeny  = "deny"
)

// NetworkRule allows or denies one target.
type NetworkRule struct {
	Action string `json:"action"`
	// Target is a host name, *.domain for the names below a domain, an IP address or a CIDR. Servers
	// that filter by name only keep the last two without enforcing them.
	Target string `json:"target"`
}

// NetworkPolicy is what a sandbox may reach: the first rule that matches decides, and DefaultAction
// where none does. At create, one without rules and default allows everything; given to the sidecar
// later, it denies everything.
type NetworkPolicy struct {
	DefaultAction string        `json:"defaultAction,omitempty"`
	Egress        []NetworkRule `json:"egress"`
}

// MarshalJSON writes no rules as an empty list.
func (p NetworkPolicy) MarshalJSON() ([]byte, error) {
	type plain NetworkPolicy
	if p.Egress == nil {
		p.Egress = []NetworkRule{}
	}
	return json.Marshal(plain(p))
}

func (p NetworkPolicy) check() error {
	var problems []error
	if a := p.DefaultAction; a != "" && !isAction(a) {
		problems = append(problems, fmt.Errorf("network policy: the default action %q is neither allow nor deny", a))
	}
	return errors.Join(append(problems, checkRules(p.Egress))...)
}

func checkRules(rules []NetworkRule) error {
	var problems []error
	for _, rule := range rules {
		if !isAction(rule.Action) {
			problems = append(problems, fmt.Errorf("network rule for %q: the action %q is neither allow nor deny", rule.Target, rule.Action))
		}
		if strings.TrimSpace(rule.Target) == "" {
			problems = append(problems, errors.New("a network rule has no target"))
		}
	}
	return errors.Join(problems...)
}

func isAction(s string) bool {
	return strings.EqualFold(s, ActionAllow) || strings.EqualFold(s, ActionDeny)
}

// PolicyStatus is what the sidecar enforces.
type PolicyStatus struct {
	Mode            string         `json:"mode"`            // deny_all, allow_all or enforcing
	EnforcementMode string         `json:"enforcementMode"` // dns or dns+nft
	Reason          string         `json:"reason,omitempty"`
	Policy          *NetworkPolicy `json:"policy,omitempty"` // nil until one was set, and in answers to changes
}

// Egress is the sidecar that decides what one sandbox may reach; sandboxes that were created with a
// network policy have it. It is safe for concurrent use.
type Egress struct {
	c         *Client
	sandboxID string
}

// Egress returns the sidecar of a sandbox. It does no I/O.
func (c *Client) Egress(sandboxID string) *Egress { return &Egress{c: c, sandboxID: sandboxID} }

// Policy returns what is enforced.
func (e *Egress) Policy(ctx context.Context) (*PolicyStatus, error) {
	return e.policy(ctx, "get network policy", http.MethodGet, nil)
}

// SetPolicy replaces the whole policy.
func (e *Egress) SetPolicy(ctx context.Context, policy NetworkPolicy) (*PolicyStatus, error) {
	const op = "set network policy"
	if err := policy.check(); err != nil {
		return nil, e.invalid(op, err)
	}
	return e.policy(ctx, op, http.MethodPut, policy)
}

// AddRules puts rules before the others; rules that had the same target are dropped. The default
// action stays.
func (e *Egress) AddRules(ctx context.Context, rules ...NetworkRule) (*PolicyStatus, error) {
	const op = "add network rules"
	if len(rules) == 0 {
		return nil, e.invalid(op, errors.New("there are none"))
	}
	if err := checkRules(rules); err != nil {
		return nil, e.invalid(op, err)
	}
	return e.policy(ctx, op, http.MethodPatch, rules)
}

// RemoveRules drops the rules for targets. It is no error when there are none; Reason says so then.
func (e *Egress) RemoveRules(ctx context.Context, targets ...string) (*PolicyStatus, error) {
	const op = "remove network rules"
	if len(targets) == 0 {
		return nil, e.invalid(op, errors.New("no target is named"))
	}
	return e.policy(ctx, op, http.MethodDelete, targets)
}

func (e *Egress) invalid(op string, err error) error {
	return fmt.Errorf("%s %q: %w: %s", op, e.sandboxID, ErrInvalid, strings.ReplaceAll(err.Error(), "\n", "; "))
}

func (e *Egress) policy(ctx context.Context, op, method string, body any) (*PolicyStatus, error) {
	call := call{
		op: op, subject: e.sandboxID, to: target{sandboxID: e.sandboxID, port: PortEgress}, method: method, path: "/policy",
		// All of them say what there is to be, not what to add to what there is: twice is once.
		idempotent: true,
	}
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", call.name(), err)
		}
		call.body = bytes.TrimSpace(encoded)
	}
	var status PolicyStatus
	if err := e.c.do(ctx, call, &status); err != nil {
		return nil, err
	}
	return &status, nil
}
