//go:build !linux

package egress

import (
	"errors"
	"net"
	"net/netip"
)

func originalDestination(*net.TCPConn) (netip.AddrPort, error) {
	return netip.AddrPort{}, errors.ErrUnsupported
}
