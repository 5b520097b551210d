package egress

import (
	"fmt"
	"net"
	"os"
	"sync"
)

// Sockets are a sandbox's ways out: connections, DNS queries, and DNS queries over TCP.
type Sockets struct{ TCP, DNS, DNSStream *os.File }

// Close closes them. Nothing answers the sandbox then.
func (s *Sockets) Close() {
	for _, f := range [...]*os.File{s.TCP, s.DNS, s.DNSStream} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// Serve answers on a sandbox's sockets, which it takes over, until stop is called; stop returns when
// nothing runs any more but connections that were joined already.
func (g *Gateway) Serve(s *Sockets) (stop func(), err error) {
	defer s.Close()
	var ways struct {
		tcp, stream net.Listener
		dns         net.PacketConn
	}
	ways.tcp, err = net.FileListener(s.TCP)
	if err == nil {
		ways.stream, err = net.FileListener(s.DNSStream)
	}
	if err == nil {
		ways.dns, err = net.FilePacketConn(s.DNS)
	}
	closeAll := func() {
		for _, c := range [...]interface{ Close() error }{ways.tcp, ways.stream, ways.dns} {
			if c != nil {
				_ = c.Close()
			}
		}
	}
	if err != nil {
		closeAll()
		return nil, fmt.Errorf("taking the sandbox's sockets: %w", err)
	}
	var running sync.WaitGroup
	running.Go(func() { g.ServeTCP(ways.tcp) })
	running.Go(func() { g.ServeDNSStream(ways.stream) })
	running.Go(func() { g.ServeDNS(ways.dns) })
	return func() {
		closeAll()
		running.Wait()
	}, nil
}
