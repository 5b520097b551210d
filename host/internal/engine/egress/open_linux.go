package egress

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Open makes this process's network namespace send everything to sockets of ours. Loopback is up
// already. It needs CAP_NET_ADMIN over the namespace, which what runs in it later must not have.
func Open() (_ *Sockets, err error) {
	s := &Sockets{}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	var ports [3]uint16
	if s.TCP, ports[0], err = listenTCP(); err != nil {
		return nil, err
	}
	if s.DNS, ports[1], err = listenUDP(); err != nil {
		return nil, err
	}
	if s.DNSStream, ports[2], err = listenTCP(); err != nil {
		return nil, err
	}
	if err := routeToLoopback(); err != nil {
		return nil, err
	}
	return s, redirect(ports[0], ports[1], ports[2])
}

func listenTCP() (*os.File, uint16, error) {
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, 0, fmt.Errorf("listening for connections out: %w", err)
	}
	defer func() { _ = l.Close() }()
	f, err := l.File()
	if err != nil {
		return nil, 0, fmt.Errorf("sharing the socket of connections out: %w", err)
	}
	return f, l.Addr().(*net.TCPAddr).AddrPort().Port(), nil //nolint:errcheck,forcetypeassert // tcp it is
}

func listenUDP() (*os.File, uint16, error) {
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, 0, fmt.Errorf("listening for DNS: %w", err)
	}
	defer func() { _ = c.Close() }()
	f, err := c.File()
	if err != nil {
		return nil, 0, fmt.Errorf("sharing the socket of DNS: %w", err)
	}
	return f, c.LocalAddr().(*net.UDPAddr).AddrPort().Port(), nil //nolint:errcheck,forcetypeassert // udp it is
}

// routeToLoopback makes every address reachable, so that connections to it get as far as the rules.
func routeToLoopback() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("routing out: finding loopback: %w", err)
	}
	err = netlink.RouteAdd(&netlink.Route{
		LinkIndex: lo.Attrs().Index, Scope: netlink.SCOPE_LINK, Src: net.IPv4(127, 0, 0, 1),
		Dst: &net.IPNet{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)},
	})
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("routing out: %w", err)
	}
	return nil
}

// redirect sends DNS of any kind and TCP to anywhere but loopback to local ports.
func redirect(tcp, dns, dnsStream uint16) error {
	c, err := nftables.New()
	if err != nil {
		return fmt.Errorf("redirecting: %w", err)
	}
	table := c.AddTable(&nftables.Table{Family: nftables.TableFamilyIPv4, Name: "alineo"})
	chain := c.AddChain(&nftables.Chain{
		Name: "out", Table: table, Type: nftables.ChainTypeNAT,
		Hooknum: nftables.ChainHookOutput, Priority: nftables.ChainPriorityNATDest,
	})
	rule := func(parts ...[]expr.Any) {
		var all []expr.Any
		for _, p := range parts {
			all = append(all, p...)
		}
		c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: all})
	}
	const dnsPort = 53
	rule(protocol(unix.IPPROTO_UDP), port(dnsPort), to(dns))
	rule(protocol(unix.IPPROTO_TCP), port(dnsPort), to(dnsStream))
	rule(notLoopback(), protocol(unix.IPPROTO_TCP), to(tcp))
	if err := c.Flush(); err != nil {
		return fmt.Errorf("redirecting (does the kernel have nf_tables with nat?): %w", err)
	}
	return nil
}

func protocol(p byte) []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{p}},
	}
}

// port matches the destination port, which TCP and UDP have in the same place.
func port(p uint16) []expr.Any {
	return []expr.Any{
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: binaryutil.BigEndian.PutUint16(p)},
	}
}

// notLoopback matches by the first byte of the destination address.
func notLoopback() []expr.Any {
	return []expr.Any{
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: 16, Len: 1},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: []byte{127}},
	}
}

func to(p uint16) []expr.Any {
	return []expr.Any{
		&expr.Immediate{Register: 1, Data: binary.BigEndian.AppendUint16(nil, p)},
		&expr.Redir{RegisterProtoMin: 1},
	}
}

// marker is the one byte that the sockets travel with.
const marker = 'e'

// Send passes the sockets on through a unix socket, and closes them here. Nil sockets tell the other
// side that there are none.
func (s *Sockets) Send(socket int) error {
	var rights []byte
	if s != nil {
		defer s.Close()
		rights = unix.UnixRights(int(s.TCP.Fd()), int(s.DNS.Fd()), int(s.DNSStream.Fd()))
	}
	if err := unix.Sendmsg(socket, []byte{marker}, rights, nil, 0); err != nil {
		return fmt.Errorf("handing out the sockets: %w", err)
	}
	return nil
}

// Receive takes what Send sent. Nothing else may have been read from c beyond it.
func Receive(c *net.UnixConn) (*Sockets, error) {
	b, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(3*4))
	n, oobn, _, _, err := c.ReadMsgUnix(b, oob)
	if err != nil {
		return nil, fmt.Errorf("receiving the sandbox's sockets: %w", err)
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return nil, fmt.Errorf("receiving the sandbox's sockets: %w", err)
	}
	var files []*os.File
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "egress"))
		}
	}
	if n != 1 || b[0] != marker || len(files) != 3 {
		for _, f := range files {
			_ = f.Close()
		}
		return nil, errors.New("the sandbox has no sockets to the outside")
	}
	return &Sockets{TCP: files[0], DNS: files[1], DNSStream: files[2]}, nil
}
