package unixsock

import (
	"fmt"
	"net"
	"os"
)

// Own returns a listener that takes only connections of the user that this process runs as, and of root.
// The socket's mode says so too, but not between its making and that. Whoever is turned away is told to
// turned; err is why it is not known who it was.
func Own(l *net.UnixListener, turned func(uid int, err error)) net.Listener {
	return &ownListener{l, turned}
}

type ownListener struct {
	*net.UnixListener

	turned func(uid int, err error)
}

// Accept waits for the next connection.
func (l *ownListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil, err //nolint:wrapcheck // net/http looks at it
		}
		uid, err := peer(conn)
		if err == nil && (uid == 0 || uid == os.Geteuid()) {
			return conn, nil
		}
		l.turned(uid, err)
		_ = conn.Close()
	}
}

// peerOf asks the system for who is at the other end of a connection.
func peerOf(conn *net.UnixConn, ask func(fd int) (int, error)) (uid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return -1, fmt.Errorf("asking who connects: %w", err)
	}
	var asked error
	if err := raw.Control(func(fd uintptr) { uid, asked = ask(int(fd)) }); err != nil {
		asked = err
	}
	if asked != nil {
		return -1, fmt.Errorf("asking who connects: %w", asked)
	}
	return uid, nil
}
