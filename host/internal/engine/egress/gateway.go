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

	"github.com/alineo-labs/alineo-host/host/internal/engine/trail"
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
	// Check may refuse a policy: covers tells whether it allows a host, a name or "*." and a domain, by a
	// rule of its own. nil refuses none.
	Check func(covers func(host string) bool) error
	// Record gets what is not let out; nil gets nothing.
	Record func(trail.Entry)
}

// Interceptor takes connections over.
type Interceptor interface {
	// Wants tells whether connections to a name and port are for it.
	Wants(name string, port uint16) bool
	// Serve serves such a connection, and closes it.
	Serve(c net.Conn, name string, port uint16)
	// Bypassed tells what is worth recording of a connection that is not for it, "" is nothing. name is ""
	// for one to an address.
	Bypassed(name string, port uint16) string
	// Forget lets go of connections that it keeps for later: the policy has changed.
	Forget()
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

	interceptor Interceptor // nil: nobody
	joined      joined
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
	if opts.Record == nil {
		opts.Record = func(trail.Entry) {}
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
	rules := compile(&p)
	if g.opts.Check != nil {
		if err := g.opts.Check(rules.covers); err != nil {
			return nil, &CheckError{err}
		}
	}
	g.policy = &p
	g.rules.Store(rules)
	if g.interceptor != nil {
		g.interceptor.Forget()
	}
	return &p, nil
}

// CheckError tells that a policy takes something away that is needed.
type CheckError struct{ Err error }

func (e *CheckError) Error() string { return "credential vault policy validation: " + e.Err.Error() }

func (e *CheckError) Unwrap() error { return e.Err }

// Hold runs f while the policy doesn't change. covers is as in Options.Check.
func (g *Gateway) Hold(f func(covers func(host string) bool) error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return f(g.rules.Load().covers)
}

// Intercept lets i take connections over. It is called before Serve.
func (g *Gateway) Intercept(i Interceptor) { g.interceptor = i }

// Allows tells whether a name, in its canonical form, is allowed now.
func (g *Gateway) Allows(name string) bool { return g.rules.Load().allowsName(name) }

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
