package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of one sandbox's gateway.
const (
	maxConns     = 256 // connections at once; more wait to be accepted
	maxQueries   = 64  // DNS queries at once; more are dropped, and asked again
	dialWithin   = 30 * time.Second
	lookupWithin = 5 * time.Second
)

// Options make a Gateway. Only Policy has no default that is right for all.
type Options struct {
	// Policy is the first policy; nil denies everything.
	Policy *Policy
	// MaxRules is how many rules a policy may have; 0 is DefaultMaxRules.
	MaxRules int
	// Resolve finds a name's addresses: this machine's resolver by default. A name that does not exist
	// is a *net.DNSError that says so.
	Resolve func(ctx context.Context, name string) ([]netip.Addr, error)
	// Local tells addresses that only a rule about addresses opens; by default all that are not public,
	// and this machine's.
	Local func(netip.Addr) bool
	// Original is where a redirected connection was going; by default the kernel is asked.
	Original func(*net.TCPConn) (netip.AddrPort, error)
}

// DefaultMaxRules is the original's limit.
const DefaultMaxRules = 4096

// Gateway connects a sandbox's processes with what its policy allows. It is safe for concurrent use.
type Gateway struct {
	opts  Options
	names *names
	dial  net.Dialer
	rules atomic.Pointer[compiled]

	mu     sync.Mutex
	policy *Policy // as it was given; nil until the first
}

// NewGateway makes a gateway. The policy's actions must be right: see Policy.Check.
func NewGateway(opts Options) (*Gateway, error) {
	if opts.Resolve == nil {
		opts.Resolve = resolve
	}
	if opts.Local == nil {
		opts.Local = newLocal()
	}
	if opts.Original == nil {
		opts.Original = originalDestination
	}
	if opts.MaxRules == 0 {
		opts.MaxRules = DefaultMaxRules
	}
	g := &Gateway{opts: opts, names: newNames(), dial: net.Dialer{Timeout: dialWithin}}
	g.rules.Store(compile(nil))
	if opts.Policy == nil {
		return g, nil
	}
	if err := g.SetPolicy(*opts.Policy); err != nil {
		return nil, err
	}
	return g, nil
}

// resolve asks this machine's resolver.
func resolve(ctx context.Context, name string) ([]netip.Addr, error) {
	if strings.Contains(name, ".") {
		name += "." // no search list: the name is what the policy was asked about
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", name) //nolint:wrapcheck // told by its kind
}

// LimitError tells that a policy has too many rules.
type LimitError struct{ Count, Limit int }

func (e *LimitError) Error() string {
	return fmt.Sprintf("egress rule total count %d exceeds limit %d", e.Count, e.Limit)
}

// Check tells what is wrong with a policy, nil when nothing is.
func (p Policy) Check() error {
	_, err := p.normalise()
	return err
}

// Policy returns the policy in force, nil when there has been none.
func (g *Gateway) Policy() *Policy {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.policy
}

// SetPolicy replaces the policy for connections to come.
func (g *Gateway) SetPolicy(p Policy) error {
	_, err := g.change(func(*Policy) (Policy, error) { return p, nil })
	return err
}

// change makes a new policy of the one in force, one change at a time.
func (g *Gateway) change(f func(*Policy) (Policy, error)) (*Policy, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p, err := f(g.policy)
	if err != nil {
		return nil, err
	}
	if len(p.Egress) > g.opts.MaxRules {
		return nil, &LimitError{Count: len(p.Egress), Limit: g.opts.MaxRules}
	}
	if p, err = p.normalise(); err != nil {
		return nil, err
	}
	g.policy = &p
	g.rules.Store(compile(&p))
	return &p, nil
}

// ServeTCP joins connections that were redirected to l with where they were going, until l is closed.
func (g *Gateway) ServeTCP(l net.Listener) {
	accept(l, maxConns, func(c net.Conn) {
		if tcp, ok := c.(*net.TCPConn); ok {
			g.join(tcp)
		}
	})
}

// breath is how long to wait when the kernel gives nothing, for want of descriptors perhaps: a sandbox
// must not lose its way out for good because it was busy once.
const breath = 20 * time.Millisecond

// accept serves the connections of l, so many at once, until it is closed.
func accept(l net.Listener, most int, serve func(net.Conn)) {
	room := make(chan struct{}, most)
	for {
		room <- struct{}{}
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			<-room
			time.Sleep(breath)
			continue
		}
		go func() {
			defer func() { <-room }()
			serve(c)
		}()
	}
}

// join connects c with its destination. What is not allowed, or not there, sees its connection reset.
func (g *Gateway) join(c *net.TCPConn) {
	out, err := g.connect(c)
	if err != nil {
		_ = c.SetLinger(0)
		_ = c.Close()
		return
	}
	var both sync.WaitGroup
	both.Go(func() { pipe(out, c) })
	both.Go(func() { pipe(c, out) })
	both.Wait()
	_ = c.Close()
	_ = out.Close()
}

// pipe copies one direction. When it ends by a fault, both ends are told.
func pipe(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err != nil {
		_ = to.SetLinger(0)
		_ = from.SetLinger(0)
		_ = to.Close()
		_ = from.Close()
		return
	}
	_ = to.CloseWrite()
}

var errRefused = errors.New("the policy does not allow it")

func (g *Gateway) connect(c *net.TCPConn) (*net.TCPConn, error) {
	to, err := g.opts.Original(c)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialWithin)
	defer cancel()
	addrs, err := g.destinations(ctx, to.Addr().Unmap())
	if err != nil {
		return nil, err
	}
	err = errRefused
	for _, a := range addrs {
		var out net.Conn
		out, err = g.dial.DialContext(ctx, "tcp", netip.AddrPortFrom(a, to.Port()).String())
		if err == nil {
			return out.(*net.TCPConn), nil //nolint:errcheck,forcetypeassert // tcp is what was asked for
		}
	}
	return nil, fmt.Errorf("connecting: %w", err)
}

// destinations are the addresses that a connection to an address may be made to.
func (g *Gateway) destinations(ctx context.Context, a netip.Addr) ([]netip.Addr, error) {
	rules := g.rules.Load()
	if name := g.names.name(a); name != "" {
		if !rules.allowsName(name) {
			return nil, errRefused
		}
		return g.lookup(ctx, rules, name)
	}
	if !rules.allowsAddress(a, g.opts.Local) {
		return nil, errRefused
	}
	return []netip.Addr{a}, nil
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
		return nil, errRefused
	}
	return allowed, nil
}
