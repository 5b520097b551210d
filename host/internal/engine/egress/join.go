package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"github.com/alineo-labs/alineo-host/host/internal/engine/trail"
)

// Why the policy is against a connection.
const (
	notAllowed  = "egress policy does not allow it"
	notOpenedBy = "the name leads to addresses that no name opens (private, link-local, loopback), only a rule about them"
)

// destination is where a process wanted to go.
type destination struct {
	name    string // "" for an address
	address netip.AddrPort
}

func (d destination) host() string {
	if d.name != "" {
		return d.name
	}
	return d.address.Addr().String()
}

// join connects c with its destination. What is not allowed, or not there, sees its connection reset.
func (g *Gateway) join(c *net.TCPConn) {
	to, err := g.opts.Original(c)
	if err != nil {
		reset(c)
		return
	}
	to = netip.AddrPortFrom(to.Addr().Unmap(), to.Port())
	d := destination{name: g.names.name(to.Addr()), address: to}
	// It is known before the interceptor is asked: one that changes its mind then cuts it.
	defer g.joined.add(c, d)()
	if g.interceptor != nil && d.name != "" && g.interceptor.Wants(d.name, to.Port()) {
		if !g.Allows(d.name) {
			g.record(d, &trail.RefusedError{Reason: notAllowed})
			reset(c)
			return
		}
		g.joined.intercepted(c)
		g.interceptor.Serve(c, d.name, to.Port())
		return
	}
	out, err := g.connect(d)
	if err != nil {
		g.record(d, err)
		reset(c)
		return
	}
	if g.interceptor != nil {
		if reason := g.interceptor.Bypassed(d.name, to.Port()); reason != "" {
			g.opts.Record(trail.Entry{Kind: trail.Withheld, Host: d.host(), Port: to.Port(), Reason: reason})
		}
	}
	var both sync.WaitGroup
	both.Go(func() { pipe(out, c) })
	both.Go(func() { pipe(c, out) })
	both.Wait()
	_ = c.Close()
	_ = out.Close()
}

// record remembers what was refused, not what failed.
func (g *Gateway) record(d destination, err error) {
	if refused, ok := errors.AsType[*trail.RefusedError](err); ok {
		g.opts.Record(trail.Entry{Kind: trail.Refused, Host: d.host(), Port: d.address.Port(), Reason: refused.Reason})
	}
}

func reset(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}

func (g *Gateway) connect(d destination) (*net.TCPConn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), dialWithin)
	defer cancel()
	if d.name != "" {
		return g.dialName(ctx, d.name, d.address.Port())
	}
	if !g.rules.Load().allowsAddress(d.address.Addr(), g.opts.Local) {
		return nil, &trail.RefusedError{Reason: notAllowed}
	}
	return g.dialFirst(ctx, []netip.Addr{d.address.Addr()}, d.address.Port())
}

// Dial connects to a name, in its canonical form, as the policy has it now. Its error is a
// *trail.RefusedError when the policy is against it.
func (g *Gateway) Dial(ctx context.Context, name string, port uint16) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	c, err := g.dialName(ctx, name, port)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (g *Gateway) dialName(ctx context.Context, name string, port uint16) (*net.TCPConn, error) {
	rules := g.rules.Load()
	if !rules.allowsName(name) {
		return nil, &trail.RefusedError{Reason: notAllowed}
	}
	addrs, err := g.lookup(ctx, rules, name)
	if err != nil {
		return nil, err
	}
	return g.dialFirst(ctx, addrs, port)
}

// dialFirst connects to the first address that answers.
func (g *Gateway) dialFirst(ctx context.Context, addrs []netip.Addr, port uint16) (*net.TCPConn, error) {
	var all error
	for _, a := range addrs {
		out, err := g.dial.DialContext(ctx, "tcp", netip.AddrPortFrom(a, port).String())
		if err == nil {
			return out.(*net.TCPConn), nil //nolint:errcheck,forcetypeassert // tcp is what was asked for
		}
		all = err
	}
	return nil, fmt.Errorf("connecting: %w", all)
}

// lookup resolves a name to those of its addresses that it may lead to.
func (g *Gateway) lookup(ctx context.Context, rules *compiled, name string) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupWithin)
	defer cancel()
	all, err := g.opts.Resolve(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("resolving %s: %w", name, err)
	}
	allowed := make([]netip.Addr, 0, len(all))
	for _, a := range all {
		if a = a.Unmap().WithZone(""); rules.allowsResolved(a, g.opts.Local) {
			allowed = append(allowed, a)
		}
	}
	if len(allowed) == 0 {
		return nil, &trail.RefusedError{Reason: notOpenedBy}
	}
	return allowed, nil
}

// joined are the connections that go past the interceptor.
type joined struct {
	mu    sync.Mutex
	conns map[*net.TCPConn]destination
}

func (j *joined) add(c *net.TCPConn, d destination) (remove func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.conns == nil {
		j.conns = map[*net.TCPConn]destination{}
	}
	j.conns[c] = d
	return func() { j.intercepted(c) }
}

func (j *joined) intercepted(c *net.TCPConn) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.conns, c)
}

// Cut resets the connections that the interceptor would take over now: what is sent on them later would
// miss what it adds.
func (g *Gateway) Cut() {
	g.joined.mu.Lock()
	defer g.joined.mu.Unlock()
	for c, d := range g.joined.conns {
		if d.name != "" && g.interceptor != nil && g.interceptor.Wants(d.name, d.address.Port()) {
			reset(c)
		}
	}
}
