//go:build !linux

package egress

import (
	"errors"
	"net"
)

// Open needs Linux's network namespaces.
func Open() (*Sockets, error) { return nil, errors.ErrUnsupported }

// Send needs what Open makes.
func (s *Sockets) Send(int) error { return errors.ErrUnsupported }

// Receive needs what Send sends.
func Receive(*net.UnixConn) (*Sockets, error) { return nil, errors.ErrUnsupported }
