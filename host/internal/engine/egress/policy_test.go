package egress

import (
	"net/netip"
	"strings"
	"testing"
)

func TestPolicyNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy string // default: action target, …
		name   string
		want   bool
	}{
		{"deny: allow example.org", "example.org", true},
		{"deny: allow example.org", "EXAMPLE.org.", true},
		{"deny: allow Example.ORG", "example.org", true},
		{"deny: allow example.org.", "example.org", true},
		{"deny: allow example.org", "www.example.org", false},
		{"deny: allow example.org", "notexample.org", false},
		{"deny: allow *.example.org", "example.org", false},
		{"deny: allow *.example.org", "a.b.example.org", true},
		{"deny: allow *.example.org", "aexample.org", false},
		{"deny: deny a.example.org, allow *.example.org", "a.example.org", false},
		{"deny: deny a.example.org, allow *.example.org", "b.example.org", true},
		{"deny: allow *.example.org, deny a.example.org", "a.example.org", true},
		{"allow: deny *.example.org", "a.example.org", false},
		{"allow: deny *.example.org", "example.org", true},
		{"allow:", "anything", true},
		{"deny:", "anything", false},
		{":", "anything", false},
		{"nonsense:", "anything", false},
		{"deny: allow 10.0.0.0/8", "10.0.0.1", false},
		{"deny: allow https://example.org", "example.org", false},
		{"deny: allow *", "example.org", false},
	} {
		p := parse(t, c.policy)
		if got := compile(&p).allowsName(canonicalName(c.name)); got != c.want {
			t.Errorf("%q: %s is %v", c.policy, c.name, got)
		}
	}
}

func TestPolicyAddresses(t *testing.T) {
	t.Parallel()
	local := newLocal()
	for _, c := range []struct {
		policy, address  string
		direct, resolved bool
	}{
		{"allow:", "93.184.216.34", true, true},
		{"allow:", "10.1.2.3", false, false},
		{"allow:", "127.0.0.1", false, false},
		{"allow:", "169.254.169.254", false, false},
		{"allow:", "::1", false, false},
		{"allow:", "::ffff:127.0.0.1", false, false},
		{"allow:", "2002:7f00:1::", false, false},
		{"allow:", "64:ff9b::7f00:1", false, false},
		{"allow:", "fd00::1", false, false},
		{"allow:", "0.0.0.0", false, false},
		{"allow:", "255.255.255.255", false, false},
		{"allow: deny 93.184.0.0/16", "93.184.216.34", false, false},
		{"deny:", "93.184.216.34", false, true},
		{"deny: allow 93.184.216.34", "93.184.216.34", true, true},
		{"deny: allow 93.184.0.0/16", "93.184.216.34", true, true},
		{"deny: allow 10.0.0.0/8", "10.1.2.3", true, true},
		{"deny: allow 10.0.0.0/8", "11.1.2.3", false, true},
		{"deny: deny 10.1.0.0/16, allow 10.0.0.0/8", "10.1.2.3", false, false},
		{"deny: allow 10.0.0.0/8, deny 10.1.0.0/16", "10.1.2.3", true, true},
		{"deny: allow fd00::/8", "fd00::1", true, true},
		{"deny: allow ::ffff:10.0.0.1", "10.0.0.1", true, true},
		{"deny: allow 0.0.0.0/0", "127.0.0.1", true, true},
		{"deny: allow example.org", "93.184.216.34", false, true},
	} {
		p := parse(t, c.policy)
		a, rules := netip.MustParseAddr(c.address), compile(&p)
		if got := rules.allowsAddress(a, local); got != c.direct {
			t.Errorf("%q: %s is %v", c.policy, c.address, got)
		}
		if got := rules.allowsResolved(a.Unmap(), local); got != c.resolved {
			t.Errorf("%q: a name's %s is %v", c.policy, c.address, got)
		}
	}
}

// parse reads "default: action target, …".
func parse(t *testing.T, text string) Policy {
	t.Helper()
	action, rules, _ := strings.Cut(text, ":")
	p := Policy{DefaultAction: action}
	for r := range strings.SplitSeq(rules, ", ") {
		if r = strings.TrimSpace(r); r != "" {
			action, target, _ := strings.Cut(r, " ")
			p.Egress = append(p.Egress, Rule{action, target})
		}
	}
	p, err := p.normalise()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestOwnAddressIsLocal(t *testing.T) {
	t.Parallel()
	local := newLocal()
	if local(netip.MustParseAddr("93.184.216.34")) || !local(netip.MustParseAddr("127.0.0.1")) {
		t.Error("public and loopback are mixed up")
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	n := newNames()
	a := n.address("a")
	if n.address("a") != a || n.name(a) != "a" || !netip.MustParsePrefix(synthetic).Contains(a) {
		t.Errorf("a has %v, which is %q's", a, n.name(a))
	}
	for i := range maxNames {
		n.address(strings.Repeat("x", i+1))
	}
	if got := n.name(a); got == "a" {
		t.Error("the oldest name keeps its address for ever")
	}
	if b := n.address("a"); b == a || n.name(b) != "a" {
		t.Errorf("a again has %v, as before", b)
	}
	if len(n.byName) != maxNames {
		t.Errorf("%d names", len(n.byName))
	}
	for _, free := range []string{Nameserver, "1.2.3.4", "198.19.255.255", "::1"} {
		if got := n.name(netip.MustParseAddr(free)); got != "" {
			t.Errorf("%s is %q's", free, got)
		}
	}
}
