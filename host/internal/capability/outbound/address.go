package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// dial connects to one of the addresses that a host stands for, all of which have been looked at.
func (c *Client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	host = canonicalHost(host)
	addresses, err := c.addresses(ctx, host)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, addr := range addresses {
		conn, err := c.dialer.DialContext(ctx, network, net.JoinHostPort(addr.String(), port))
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// addresses returns those that may be dialled.
func (c *Client) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil // the grant names it
	}
	found, err := c.lookup(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("looking up %s: %w", host, err)
	}
	var allowed []netip.Addr
	var refused error
	for _, addr := range found {
		addr = addr.Unmap()
		switch kind := kindOf(addr); {
		case kind == public, kind == private && slices.Contains(c.private, host), host == "localhost" && addr.IsLoopback():
			allowed = append(allowed, addr)
		case kind == private:
			refused = deniedf("%s stands for %s, which is a private address; private = [%q] in the plugin's grant allows that", host, addr, host)
		default:
			refused = deniedf("%s stands for %s, which no name may stand for", host, addr)
		}
	}
	if len(allowed) == 0 {
		if refused == nil {
			refused = fmt.Errorf("looking up %s: it has no address", host)
		}
		return nil, refused
	}
	return allowed, nil
}

type addressKind uint8

const (
	public    addressKind = iota
	private               // loopback, or of a network of somebody's own
	forbidden             // link-local, multicast, unspecified and the like
)

// kindOf says what an address is, looking through the forms in which IPv6 carries IPv4.
func kindOf(addr netip.Addr) addressKind {
	addr = addr.Unmap()
	if addr.Zone() != "" {
		return forbidden
	}
	if inner, ok := embedded(addr); ok {
		return kindOf(inner)
	}
	switch {
	case addr.IsLinkLocalUnicast(), addr.IsMulticast(), addr.IsUnspecified(), !addr.IsValid():
		return forbidden
	case addr.IsLoopback(), addr.IsPrivate():
		return private
	}
	for _, p := range special() {
		if p.prefix.Contains(addr) {
			return p.kind
		}
	}
	return public
}

type specialPrefix struct {
	prefix netip.Prefix
	kind   addressKind
}

// special are the blocks that netip has no word for.
func special() [7]specialPrefix {
	return [...]specialPrefix{
		{netip.MustParsePrefix("0.0.0.0/8"), forbidden},      // this network
		{netip.MustParsePrefix("100.64.0.0/10"), private},    // carriers' own, which clouds use inside
		{netip.MustParsePrefix("192.0.0.0/24"), forbidden},   // protocol assignments
		{netip.MustParsePrefix("198.18.0.0/15"), private},    // benchmarks
		{netip.MustParsePrefix("240.0.0.0/4"), forbidden},    // reserved, and broadcast
		{netip.MustParsePrefix("fec0::/10"), private},        // site-local, of old
		{netip.MustParsePrefix("64:ff9b:1::/48"), forbidden}, // translation of somebody's own making
	}
}

// embedded returns the IPv4 address in a translated (64:ff9b::/96), 6to4 (2002::/16) or compatible one.
func embedded(addr netip.Addr) (netip.Addr, bool) {
	if !addr.Is6() {
		return netip.Addr{}, false
	}
	b := addr.As16()
	switch {
	case [12]byte(b[:12]) == [12]byte{0x00, 0x64, 0xff, 0x9b}:
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case b[0] == 0x20 && b[1] == 0x02:
		return netip.AddrFrom4([4]byte(b[2:6])), true
	case [12]byte(b[:12]) == [12]byte{} && b[12] != 0:
		return netip.AddrFrom4([4]byte(b[12:16])), true
	}
	return netip.Addr{}, false
}
