package intercept

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"

	"github.com/alineo-labs/alineo-host/host/internal/engine/trail"
)

// target is where a connection was going.
type target struct {
	name string
	port uint16
}

func (t target) scheme() string {
	if t.port == portHTTP {
		return "http"
	}
	return "https"
}

type sessionKey struct{}

// session is one connection of the sandbox's. With HTTP/1 its requests are judged as they are read.
type session struct {
	net.Conn
	target
	plain *strict // nil with HTTP/2
	once  *sync.Once
	done  chan struct{} // closed with it
}

func (s *session) Read(b []byte) (int, error) {
	if s.plain != nil {
		return s.plain.Read(b)
	}
	return s.Conn.Read(b) //nolint:wrapcheck // it stands for it
}

func (s *session) Close() error {
	defer s.once.Do(func() { close(s.done) })
	return s.Conn.Close() //nolint:wrapcheck // it stands for it
}

// sessionOf finds the session of what the server serves: with HTTP/2 it is below TLS.
func sessionOf(c net.Conn) *session {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	s, _ := c.(*session) //nolint:errcheck // there is no other
	return s
}

// Serve serves a connection that was going to a name and port, and closes it.
func (p *Proxy) Serve(c net.Conn, name string, port uint16) {
	s := &session{Conn: c, target: target{name, port}, once: &sync.Once{}, done: make(chan struct{})}
	defer func() { _ = s.Close() }()
	serve, err := p.open(s)
	if err != nil {
		if _, ok := errors.AsType[malformed](err); !ok { // that has been recorded
			p.opts.Record(trail.Entry{Kind: trail.Refused, Host: name, Port: port, Reason: "TLS failed: does the process trust the sandbox's certificate authority?"})
		}
		return
	}
	select {
	case p.conns <- serve:
	case <-p.closed:
		return
	}
	select {
	case <-s.done:
	case <-p.closed:
	}
}

// open does TLS, and returns what the server is to serve.
func (p *Proxy) open(s *session) (net.Conn, error) {
	refused := func(reason string) {
		p.opts.Record(trail.Entry{Kind: trail.Refused, Host: s.name, Port: s.port, Reason: reason})
	}
	if s.port == portHTTP {
		s.plain = &strict{from: s.Conn, refused: refused}
		return s, nil
	}
	conf := &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if n := strings.ToLower(strings.TrimSuffix(hello.ServerName, ".")); n != "" && n != s.name {
				m := malformed{fmt.Sprintf("the server name of TLS is %q", n)}
				refused(m.reason)
				return nil, m
			}
			return p.opts.Authority.certificate(s.name)
		},
	}
	encrypted := tls.Server(s, conf)
	ctx, cancel := context.WithTimeout(context.Background(), handshakeWithin)
	defer cancel()
	if err := encrypted.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("TLS with a process of the sandbox: %w", err)
	}
	if encrypted.ConnectionState().NegotiatedProtocol == "h2" {
		return encrypted, nil
	}
	return &session{
		Conn: encrypted, target: s.target, once: s.once, done: s.done,
		plain: &strict{from: encrypted, refused: refused},
	}, nil
}
