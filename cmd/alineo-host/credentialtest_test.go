package main

import (
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/credential"
)

func TestOutside(t *testing.T) {
	t.Parallel()
	header := credential.Injection{Type: credential.TypeHeader, Header: "X-Api-Key"}
	narrow := credential.Binding{Hosts: []string{"api.test", "*.wide.test"}, Paths: []string{"/v1*", "/one"}, Injection: header}
	plain := credential.Binding{Hosts: []string{"api.test"}, Schemes: []string{"http"}, Injection: header}
	both := credential.Binding{Hosts: []string{"api.test"}, Schemes: []string{"https", "http"}, Injection: header}
	ported := credential.Binding{Hosts: []string{"api.test"}, Ports: []int{8443}, Injection: header}
	posts := credential.Binding{Hosts: []string{"api.test"}, Methods: []string{"POST"}, Injection: header}
	placed := credential.Substitution("api.test", "", "__K__", "query")
	for _, c := range []struct {
		binding      credential.Binding
		address, why string
	}{
		{narrow, "https://api.test/v1/x?y", ""},
		{narrow, "https://API.test:443/one", ""},
		{narrow, "https://a.wide.test/v1", ""},
		{narrow, "https://wide.test/v1", "another host"},
		{narrow, "https://api.test.evil/v1", "another host"},
		{narrow, "https://api.test/one/more", "another path"},
		{narrow, "https://api.test", "another path"},
		{narrow, "http://api.test/v1", "another scheme"},
		{narrow, "https://api.test:444/v1", "another port"},
		{narrow, "api.test/v1", "no URL"},
		{narrow, "https://%zz", "no URL"},
		{plain, "http://api.test", ""},
		{plain, "https://api.test", "another scheme"},
		{both, "http://api.test/", ""},
		{both, "https://api.test/", ""},
		{ported, "https://api.test:8443/", ""},
		{ported, "https://api.test/", "another port"},
		{posts, "https://api.test/", "another method"},
		{placed, "https://api.test/?k=__K__", ""},
		{placed, "https://api.test/", `does not have "__K__"`},
	} {
		if why := outside(c.binding, c.address); (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s, %+v: %q, want %q", c.address, c.binding, why, c.why)
		}
	}
}

func TestWithheld(t *testing.T) {
	t.Parallel()
	const (
		head     = "Status:     running"
		other    = `Egress:     2026-01-01T00:00:00Z injected GET api.test:443/: binding "other"`
		injected = `Egress:     2026-01-01T00:00:00Z injected GET api.test:443/: binding "key"`
		again    = `Egress:     2026-01-01T00:00:00Z injected GET api.test:443/: binding "key" (2 times)`
		refused  = `Egress:     2026-01-01T00:00:00Z refused GET api.test:443/..: the path is ambiguous`
		stranger = `Egress:     2026-01-01T00:00:00Z refused evil.test: egress policy does not allow it`
	)
	for _, c := range []struct {
		before, now trail
		why         string
	}{
		{nil, nil, ""},
		{trail{head}, trail{head, stranger}, ""},
		{trail{head}, trail{head, injected}, ""},
		{trail{injected}, trail{again}, ""},
		{trail{injected}, trail{injected, refused}, "the path is ambiguous"},
		{nil, trail{other}, `binding "other"`},
		{nil, trail{refused, injected}, ""},
	} {
		if why := c.before.withheld(c.now, "api.test", "key"); why != c.why {
			t.Errorf("%q to %q: %q, want %q", c.before, c.now, why, c.why)
		}
	}
}
