package unixsock

import (
	"net"

	"golang.org/x/sys/unix"
)

// peer is the user id of who is at the other end of a connection.
func peer(conn *net.UnixConn) (int, error) {
	return peerOf(conn, func(fd int) (int, error) {
		cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err != nil {
			return -1, err
		}
		return int(cred.Uid), nil
	})
}
