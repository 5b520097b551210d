package sandbox

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

func TestTargets(t *testing.T) {
	t.Parallel()
	for _, target := range []string{
		"example.com", "a.b.c.example.com", "*.openai.com", "*.a.b.example.com", "localhost", "my-host.example-site.org", "example.com.",
		"1.2.3.4", "::1", "2001:db8::1", "10.0.0.0/8", "2001:db8::/32", "::ffff:1.2.3.4", "fe80::", " example.com ", "Example.COM",
	} {
		if !validTarget(target) {
			t.Errorf("%q is refused", target)
		}
	}
	for _, target := range []string{
		"", " ", "https://example.com", "example.com/path", "example.com:443", "exa mple.com", "*.*.com", "*", "1.2.3.4/33", "1.2.3.4/999",
		"-a.com", "a-.com", "foo:bar", "a..b", ".", "*.", "é.com",
	} {
		if validTarget(target) {
			t.Errorf("%q is taken", target)
		}
	}
}

func TestEgressFold(t *testing.T) {
	t.Parallel()
	added := func(rules string) store.Entry {
		return store.Entry{Event: "egress.rule_added", Payload: json.RawMessage(`{"rules":[` + rules + `]}`)}
	}
	removed := func(targets string) store.Entry {
		return store.Entry{Event: "egress_rule_removed", Payload: json.RawMessage(`{"targets":[` + targets + `]}`)}
	}
	const allowA, allowB, denyA, denyBoot = `{"action":"allow","target":"a.com"}`, `{"action":"allow","target":"b.com"}`, `{"action":"deny","target":"A.com"}`, `{"action":"deny","target":"boot.com"}`
	boot := &opensandbox.NetworkPolicy{DefaultAction: "deny", Egress: []opensandbox.NetworkRule{{Action: "allow", Target: "boot.com"}, {Action: "allow", Target: "kept.com"}}}
	for name, test := range map[string]struct {
		entries []store.Entry
		want    []string
	}{
		"nothing":                {nil, []string{"allow boot.com", "allow kept.com"}},
		"adds accumulate":        {[]store.Entry{added(allowA), added(allowB)}, []string{"allow a.com", "allow b.com", "allow boot.com", "allow kept.com"}},
		"the later one wins":     {[]store.Entry{added(allowA), added(allowB + "," + denyA)}, []string{"deny A.com", "allow b.com", "allow boot.com", "allow kept.com"}},
		"removal of a rule":      {[]store.Entry{added(allowA), removed(`"a.com"`)}, []string{"allow boot.com", "allow kept.com"}},
		"removal of a boot rule": {[]store.Entry{removed(`"boot.com"`)}, []string{"allow kept.com"}},
		"added again":            {[]store.Entry{added(allowA), removed(`"a.com","boot.com"`), added(allowA)}, []string{"allow a.com", "allow kept.com"}},
		"over a boot rule":       {[]store.Entry{added(denyBoot)}, []string{"deny boot.com", "allow kept.com"}},
	} {
		var all controls
		for _, entry := range test.entries {
			if err := all.take(&entry); err != nil {
				t.Fatal(err)
			}
		}
		policy := all.egress.onto(boot)
		var got []string
		for _, rule := range policy.Egress {
			got = append(got, rule.Action+" "+rule.Target)
		}
		if !slices.Equal(got, test.want) || policy.DefaultAction != "deny" {
			t.Errorf("%s: got %q", name, got)
		}
	}
	if err := new(controls).take(&store.Entry{Event: "egress.rule_added", Payload: json.RawMessage(`7`)}); err == nil {
		t.Error("a payload that can't be read was taken")
	}
}

func TestListening(t *testing.T) {
	t.Parallel()
	const table = `  sl  local_address rem_address   st tx_queue rx_queue
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000
   1: 0100007F:1F91 0100007F:0050 01 00000000:00000000
   2: 00000000000000000000000000000000:0016 00000000000000000000000000000000:0000 0A 0
   3: garbage`
	for port, want := range map[int]bool{8080: true, 8081: false, 22: true, 80: false} {
		if got := listening(table, port); got != want {
			t.Errorf("port %d: %v", port, got)
		}
	}
}
