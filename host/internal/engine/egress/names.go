package egress

import (
	"encoding/binary"
	"net/netip"
	"sync"
)

// synthetic is the range whose addresses stand for names, and nameserver the one of it that a
// sandbox's resolver is told; every address answers DNS.
const (
	synthetic  = "198.18.0.0/15"
	Nameserver = "198.18.0.1"
)

// maxNames is how many names a sandbox may have addresses for; the oldest loses its own to a new one.
const maxNames = 4096

// names gives names addresses. It is safe for concurrent use.
type names struct {
	mu     sync.Mutex
	byName map[string]netip.Addr
	ring   []string // by address
	next   int
}

func newNames() *names { return &names{byName: map[string]netip.Addr{}} }

// first is the address of ring[0].
func first() uint32 {
	a := netip.MustParsePrefix(synthetic).Addr().As4()
	return binary.BigEndian.Uint32(a[:]) + 256 // past the name server
}

// address returns the name's address, giving it one if need be.
func (n *names) address(name string) netip.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	if a, ok := n.byName[name]; ok {
		return a
	}
	if len(n.ring) < maxNames {
		n.ring = append(n.ring, "")
	}
	at := n.next % maxNames
	n.next++
	if old := n.ring[at]; old != "" {
		delete(n.byName, old)
	}
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], first()+uint32(at)) //nolint:gosec // below maxNames
	a := netip.AddrFrom4(b)
	n.ring[at], n.byName[name] = name, a
	return a
}

// name returns whose address it is; "" when it is nobody's.
func (n *names) name(a netip.Addr) string {
	if !a.Is4() {
		return ""
	}
	b := a.As4()
	at := int64(binary.BigEndian.Uint32(b[:])) - int64(first())
	n.mu.Lock()
	defer n.mu.Unlock()
	if at < 0 || at >= int64(len(n.ring)) {
		return ""
	}
	return n.ring[at]
}
