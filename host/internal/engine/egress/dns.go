package egress

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/alineo-labs/alineo-host/host/internal/engine/trail"
)

const (
	maxPacket = 4096             // of a query
	answerTTL = 5                // seconds: a changed policy is asked for soon
	idleDNS   = 10 * time.Second // of a connection that asks nothing
)

// ServeDNS answers queries that were redirected to c, until c is closed.
func (g *Gateway) ServeDNS(c net.PacketConn) {
	room := make(chan struct{}, maxQueries)
	buf := make([]byte, maxPacket)
	for {
		n, from, err := c.ReadFrom(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(breath)
			continue
		}
		select {
		case room <- struct{}{}:
		default:
			continue // resolvers ask again
		}
		query := append([]byte(nil), buf[:n]...)
		go func() {
			defer func() { <-room }()
			if answer := g.Answer(context.Background(), query); answer != nil {
				_, _ = c.WriteTo(answer, from) // a lost answer is asked for again
			}
		}()
	}
}

// ServeDNSStream answers queries over TCP, until l is closed.
func (g *Gateway) ServeDNSStream(l net.Listener) {
	accept(l, maxQueries, func(c net.Conn) {
		g.answerStream(c)
		_ = c.Close()
	})
}

// answerStream answers the queries of one connection, one after the other.
func (g *Gateway) answerStream(c net.Conn) {
	for {
		if err := c.SetDeadline(time.Now().Add(idleDNS)); err != nil {
			return
		}
		var size [2]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(c, query); err != nil {
			return
		}
		answer := g.Answer(context.Background(), query)
		if answer == nil {
			return
		}
		framed := append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...) //nolint:gosec // one question, one record
		if _, err := c.Write(framed); err != nil {
			return
		}
	}
}

// Answer answers one DNS query; nil is no answer, for what is no query.
func (g *Gateway) Answer(ctx context.Context, query []byte) []byte {
	var p dnsmessage.Parser
	head, err := p.Start(query)
	if err != nil || head.Response {
		return nil
	}
	q, err := p.Question()
	reply := dnsmessage.Header{
		ID: head.ID, Response: true, OpCode: head.OpCode,
		RecursionDesired: head.RecursionDesired, RecursionAvailable: true,
	}
	if err != nil {
		reply.RCode = dnsmessage.RCodeFormatError
		return pack(reply, nil, nil)
	}
	if head.OpCode != 0 || q.Class != dnsmessage.ClassINET {
		reply.RCode = dnsmessage.RCodeNotImplemented
		return pack(reply, &q, nil)
	}
	name := canonicalName(q.Name.String())
	rules := g.rules.Load()
	if name == "" || !rules.allowsName(name) {
		if name != "" {
			g.record(destination{name: name}, &trail.RefusedError{Reason: notAllowed})
		}
		reply.RCode = dnsmessage.RCodeNameError
		return pack(reply, &q, nil)
	}
	if q.Type != dnsmessage.TypeA {
		// Connections go to IPv4 addresses of our own, and nothing else is needed to make them.
		return pack(reply, &q, nil)
	}
	_, err = g.lookup(ctx, rules, name)
	var dnsErr *net.DNSError
	switch {
	case err == nil:
		a := g.names.address(name).As4()
		return pack(reply, &q, &dnsmessage.AResource{A: a})
	case isRefused(err):
		g.record(destination{name: name}, err)
		reply.RCode = dnsmessage.RCodeNameError
	case errors.As(err, &dnsErr) && dnsErr.IsNotFound:
		reply.RCode = dnsmessage.RCodeNameError
	default:
		reply.RCode = dnsmessage.RCodeServerFailure
	}
	return pack(reply, &q, nil)
}

func isRefused(err error) bool {
	_, ok := errors.AsType[*trail.RefusedError](err)
	return ok
}

// pack writes an answer with at most one question and one record.
func pack(h dnsmessage.Header, q *dnsmessage.Question, a *dnsmessage.AResource) []byte {
	m := dnsmessage.Message{Header: h}
	if q != nil {
		m.Questions = []dnsmessage.Question{*q}
	}
	if a != nil {
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: answerTTL},
			Body:   a,
		}}
	}
	b, err := m.Pack()
	if err != nil {
		return nil // a name that can't be written again
	}
	return b
}
