package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/engine/trail"
)

func TestCovers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy, host string
		covers       bool
	}{
		{"deny: allow a.test", "a.test", true},
		{"deny: allow A.test.", "a.test", true},
		{"allow:", "a.test", false},
		{"deny: allow *.test", "a.test", true},
		{"deny: allow *.test", "*.a.test", true},
		{"deny: allow *.a.test", "a.test", false},
		{"deny: allow *.a.test", "*.a.test", true},
		{"deny: allow *.b.a.test", "*.a.test", false},
		{"deny: allow a.test", "*.a.test", false},
		{"deny: deny a.test, allow *.test", "a.test", false},
		{"deny: deny *.a.test, allow *.test", "*.a.test", false},
		{"deny: deny x.a.test, allow *.a.test", "*.a.test", true},
		{"deny: allow 10.0.0.0/8", "a.test", false},
	} {
		p := parse(t, c.policy)
		if got := compile(&p).covers(c.host); got != c.covers {
			t.Errorf("%q covers %q: %v", c.policy, c.host, got)
		}
	}
}

// TestCheck lets nobody take away what is needed.
func TestCheck(t *testing.T) {
	t.Parallel()
	needed := errors.New("a.test is needed")
	g, err := NewGateway(Options{Check: func(covers func(string) bool) error {
		if !covers("a.test") {
			return needed
		}
		return nil
	}, Policy: &Policy{Egress: []Rule{{Allow, "a.test"}}}})
	if err != nil {
		t.Fatal(err)
	}
	err = g.SetPolicy(Policy{DefaultAction: Allow})
	if !errors.Is(err, needed) || !strings.HasPrefix(err.Error(), "credential vault policy validation: ") || len(g.Policy().Egress) != 1 {
		t.Errorf("%v, and the policy is %v", err, g.Policy())
	}
	if err := g.Hold(func(covers func(string) bool) error {
		if covers("a.test") {
			return needed
		}
		return nil
	}); !errors.Is(err, needed) {
		t.Errorf("%v", err)
	}
}

// taker takes the connections to one name.
type taker struct {
	wants  atomic.Bool
	forgot atomic.Int64
}

func (k *taker) Wants(name string, port uint16) bool {
	return k.wants.Load() && name == "a.test" && port == 443
}

func (k *taker) Serve(c net.Conn, name string, _ uint16) {
	_, _ = io.WriteString(c, "taken over for "+name)
	_ = c.Close()
}

func (k *taker) Forget() { k.forgot.Add(1) }

func (k *taker) Bypassed(name string, _ uint16) string { return "bypassed " + name }

// TestIntercept takes connections over, those after a change at once, and cuts those from before.
func TestIntercept(t *testing.T) {
	t.Parallel()
	outside, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = outside.Close() }()
	go func() {
		for {
			c, err := outside.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.WriteString(c, "outside"); _, _ = io.Copy(io.Discard, c); _ = c.Close() }()
		}
	}()
	at := outside.Addr().(*net.TCPAddr).AddrPort()
	seen := trail.New()
	var to atomic.Pointer[netip.AddrPort]
	k := &taker{}
	g, err := NewGateway(Options{
		Policy:   &Policy{Egress: []Rule{{Allow, "a.test"}, {Allow, "127.0.0.1"}}},
		Resolve:  func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{at.Addr()}, nil },
		Original: func(*net.TCPConn) (netip.AddrPort, error) { return *to.Load(), nil },
		Record:   seen.Add,
	})
	if err != nil {
		t.Fatal(err)
	}
	g.Intercept(k)
	inside, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() { g.ServeTCP(inside); close(served) }()
	defer func() { _ = inside.Close(); <-served }()
	dial := func(name string, port uint16) (net.Conn, error) {
		address := netip.AddrPortFrom(g.names.address(name), port)
		to.Store(&address)
		return net.Dial("tcp", inside.Addr().String())
	}
	connect := func(name string, port uint16) net.Conn {
		t.Helper()
		c, err := dial(name, port)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
		return c
	}
	read := func(c net.Conn, want string) {
		t.Helper()
		b := make([]byte, len(want))
		if n, err := io.ReadFull(c, b); string(b[:n]) != want {
			t.Fatalf("%q %v, want %q", b[:n], err, want)
		}
	}
	old := connect("a.test", at.Port())
	read(old, "outside")
	k.wants.Store(true)
	g.Cut()
	if _, err := old.Write([]byte("x")); err != nil {
		t.Errorf("a connection to another port was cut: %v", err)
	}
	read(connect("a.test", 443), "taken over for a.test")
	if err := g.SetPolicy(Policy{}); err != nil {
		t.Fatal(err)
	}
	if k.forgot.Load() != 1 {
		t.Error("connections for later are kept")
	}
	if c, err := dial("a.test", 443); err == nil { // else it was reset as soon as it was there
		if b, err := io.ReadAll(c); err == nil || len(b) > 0 {
			t.Errorf("against the policy: %q %v", b, err)
		}
		_ = c.Close()
	}
	var log strings.Builder
	for _, e := range seen.Entries() {
		log.WriteString(e.String() + "\n")
	}
	for _, want := range []string{"withheld a.test:", "bypassed a.test", "refused a.test:443: " + notAllowed} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is not in:\n%s", want, log.String())
		}
	}
}

// TestCut resets a connection that the interceptor would have now.
func TestCut(t *testing.T) {
	t.Parallel()
	k := &taker{}
	g, err := NewGateway(Options{})
	if err != nil {
		t.Fatal(err)
	}
	g.Intercept(k)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	address := netip.AddrPortFrom(g.names.address("a.test"), 443)
	remove := g.joined.add(accepted.(*net.TCPConn), destination{name: "a.test", address: address})
	g.Cut()
	if _, err := accepted.Write([]byte("x")); err != nil {
		t.Fatal("cut although nobody wants it")
	}
	k.wants.Store(true)
	g.Cut()
	if b, err := io.ReadAll(c); err == nil {
		t.Errorf("not cut: %q", b)
	}
	remove()
	g.Cut()
}
