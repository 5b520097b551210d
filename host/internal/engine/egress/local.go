package egress

import (
	"net"
	"net/netip"
)

// special are the ranges that are not the public internet.
func special() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"),         // this network
		netip.MustParsePrefix("10.0.0.0/8"),        // private
		netip.MustParsePrefix("100.64.0.0/10"),     // shared by carriers
		netip.MustParsePrefix("127.0.0.0/8"),       // loopback
		netip.MustParsePrefix("169.254.0.0/16"),    // link-local, and cloud metadata
		netip.MustParsePrefix("172.16.0.0/12"),     // private
		netip.MustParsePrefix("192.0.0.0/24"),      // protocol assignments
		netip.MustParsePrefix("192.168.0.0/16"),    // private
		netip.MustParsePrefix("198.18.0.0/15"),     // benchmarks, and our own synthetic addresses
		netip.MustParsePrefix("224.0.0.0/3"),       // multicast and reserved
		netip.MustParsePrefix("::/127"),            // unspecified and loopback
		netip.MustParsePrefix("64:ff9b::/96"),      // translated IPv4
		netip.MustParsePrefix("64:ff9b:1::/48"),    // translated IPv4, local
		netip.MustParsePrefix("100::/64"),          // discard
		netip.MustParsePrefix("2002::/16"),         // 6to4: IPv4 inside
		netip.MustParsePrefix("fc00::/7"),          // unique local
		netip.MustParsePrefix("fe80::/10"),         // link-local
		netip.MustParsePrefix("fd00:ec2::254/128"), // cloud metadata
		netip.MustParsePrefix("ff00::/8"),          // multicast
	}
}

// newLocal tells which addresses no stranger should reach: those that are not public, and this
// machine's own, which are asked for each time.
func newLocal() func(netip.Addr) bool {
	ranges := special()
	return func(a netip.Addr) bool {
		a = a.Unmap().WithZone("")
		for _, r := range ranges {
			if r.Contains(a) {
				return true
			}
		}
		addrs, err := net.InterfaceAddrs()
		if err != nil {
			return true
		}
		for _, own := range addrs {
			if n, ok := own.(*net.IPNet); ok {
				if ip, ok := netip.AddrFromSlice(n.IP); ok && ip.Unmap() == a {
					return true
				}
			}
		}
		return false
	}
}
