package egress

import (
	"io"
	"net"
	"syscall"
	"testing"
)

// exhausted is a listener to which the kernel has given no descriptor for a while.
type exhausted struct {
	net.Listener
	left int
}

func (l *exhausted) Accept() (net.Conn, error) {
	if l.left > 0 {
		l.left--
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return l.Listener.Accept() //nolint:wrapcheck // it is a listener
}

// TestAcceptGoesOn serves again once there are descriptors.
func TestAcceptGoesOn(t *testing.T) {
	t.Parallel()
	inner, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		// More faults than there is room for: each gives its place back.
		accept(&exhausted{inner, 3}, 2, func(c net.Conn) {
			_, _ = io.WriteString(c, "served")
			_ = c.Close()
		})
	}()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if got, err := io.ReadAll(c); string(got) != "served" {
		t.Errorf("got %q, %v", got, err)
	}
	if err := inner.Close(); err != nil {
		t.Error(err)
	}
	<-ended
}
