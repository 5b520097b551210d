package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// resolver knows a few names.
func resolver(_ context.Context, name string) ([]netip.Addr, error) {
	switch name {
	case "public.test", "sub.wild.test":
		return []netip.Addr{netip.MustParseAddr("93.184.216.34"), netip.MustParseAddr("127.0.0.1")}, nil
	case "inside.test":
		return []netip.Addr{netip.MustParseAddr("10.0.0.1")}, nil
	case "broken.test":
		return nil, errors.New("server misbehaving")
	}
	return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
}

func query(t testing.TB, name string, kind dnsmessage.Type) []byte {
	t.Helper()
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 7, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: kind, Class: dnsmessage.ClassINET}},
	}
	b, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDNS(t *testing.T) {
	t.Parallel()
	g, err := NewGateway(Options{Resolve: resolver, Policy: &Policy{DefaultAction: Deny, Egress: []Rule{
		{Allow, "public.test"}, {Allow, "*.wild.test"}, {Allow, "inside.test"}, {Allow, "broken.test"}, {Allow, "missing.test"},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		kind  dnsmessage.Type
		code  dnsmessage.RCode
		found bool
	}{
		{"public.test.", dnsmessage.TypeA, dnsmessage.RCodeSuccess, true},
		{"PUBLIC.test.", dnsmessage.TypeA, dnsmessage.RCodeSuccess, true},
		{"public.test.", dnsmessage.TypeAAAA, dnsmessage.RCodeSuccess, false},
		{"public.test.", dnsmessage.TypeTXT, dnsmessage.RCodeSuccess, false},
		{"sub.wild.test.", dnsmessage.TypeA, dnsmessage.RCodeSuccess, true},
		{"wild.test.", dnsmessage.TypeA, dnsmessage.RCodeNameError, false},
		{"other.test.", dnsmessage.TypeA, dnsmessage.RCodeNameError, false},
		{"other.test.", dnsmessage.TypeTXT, dnsmessage.RCodeNameError, false},
		{"inside.test.", dnsmessage.TypeA, dnsmessage.RCodeNameError, false},
		{"missing.test.", dnsmessage.TypeA, dnsmessage.RCodeNameError, false},
		{"broken.test.", dnsmessage.TypeA, dnsmessage.RCodeServerFailure, false},
		{".", dnsmessage.TypeNS, dnsmessage.RCodeNameError, false},
	} {
		var m dnsmessage.Message
		if err := m.Unpack(g.Answer(t.Context(), query(t, c.name, c.kind))); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if m.ID != 7 || !m.Response || m.RCode != c.code || len(m.Answers) > 0 != c.found || len(m.Questions) != 1 {
			t.Errorf("%s %v: %v", c.name, c.kind, m.GoString())
		}
		if len(m.Answers) > 0 {
			a := netip.AddrFrom4(m.Answers[0].Body.(*dnsmessage.AResource).A)
			if g.names.name(a) != canonicalName(c.name) {
				t.Errorf("%s: %v is %q's", c.name, a, g.names.name(a))
			}
		}
	}
}

// FuzzDNS answers anything: an answer can be read, and belongs to the query.
func FuzzDNS(f *testing.F) {
	f.Add(query(f, "public.test.", dnsmessage.TypeA))
	f.Add(query(f, "a.b.c.", dnsmessage.TypeHTTPS))
	f.Add([]byte{0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 0x0c, 0, 1, 0, 1})
	g, err := NewGateway(Options{Resolve: resolver, Policy: &Policy{DefaultAction: Allow}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, packet []byte) {
		answer := g.Answer(t.Context(), packet)
		if answer == nil {
			return
		}
		var m dnsmessage.Message
		if err := m.Unpack(answer); err != nil {
			t.Fatalf("the answer can't be read: %v", err)
		}
		if !m.Response || len(packet) < 2 || answer[0] != packet[0] || answer[1] != packet[1] {
			t.Fatalf("not an answer to this query: %x", answer)
		}
	})
}
