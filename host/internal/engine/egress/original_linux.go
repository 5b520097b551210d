package egress

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// soOriginalDst is SO_ORIGINAL_DST of linux/netfilter_ipv4.h.
const soOriginalDst = 80

// originalDestination asks the kernel where a redirected connection was going.
func originalDestination(c *net.TCPConn) (netip.AddrPort, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("asking for a connection's destination: %w", err)
	}
	var to netip.AddrPort
	var gerr error
	err = raw.Control(func(fd uintptr) {
		// The answer is a sockaddr_in, which has the size of what this call reads.
		m, err := unix.GetsockoptIPv6Mreq(int(fd), unix.IPPROTO_IP, soOriginalDst)
		if err != nil {
			gerr = err
			return
		}
		to = netip.AddrPortFrom(netip.AddrFrom4([4]byte(m.Multiaddr[4:8])), binary.BigEndian.Uint16(m.Multiaddr[2:4]))
	})
	if err == nil {
		err = gerr
	}
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("asking for a connection's destination: %w", err)
	}
	return to, nil
}
