package postgres_test

import (
	"net"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability/postgres"
)

// listen serves each connection with a function, and returns where.
func listen(t *testing.T, serve func(net.Conn)) (host, port string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(conn)
		}
	}()
	host, port, err = net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return host, port
}

// TestNoServer says of what is no server what it is, whether TLS was asked for or not.
func TestNoServer(t *testing.T) {
	t.Parallel()
	mute := func(conn net.Conn) { _, _ = conn.Read(make([]byte, 1024)) } // and it stays open
	noTLS := func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 1024))
		_, _ = conn.Write([]byte("N"))
		_ = conn.Close()
	}
	for _, c := range []struct {
		name  string
		serve func(net.Conn)
		mode  string
		want  string
	}{
		{"mute", mute, "prefer", "the database server can't be reached (no answer)"},
		{"mute", mute, "require", "the database server can't be reached (no answer)"},
		{"mute", mute, "disable", "the database server can't be reached (no answer)"},
		{"without TLS", noTLS, "prefer", "the database server can't be reached"},
		{"without TLS", noTLS, "require", "the database server does not speak TLS, which sslmode asks for"},
	} {
		t.Run(c.name+" "+c.mode, func(t *testing.T) {
			t.Parallel()
			host, port := listen(t, c.serve)
			db := open(t, postgres.Options{DSN: "host=" + host + " port=" + port + " user=x dbname=y sslmode=" + c.mode, ConnectTimeout: time.Second})
			failure := refused(t, db, true, nil, abi.CodeUnavailable, "", abi.SQLStep{SQL: "SELECT 1"})
			if failure.Message != c.want {
				t.Errorf("got %q, want %q", failure.Message, c.want)
			}
		})
	}
}
