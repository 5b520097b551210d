//go:build unix

package shim

import (
	"net/http"
	"path/filepath"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/engine/egress"
	"github.com/alineo-labs/alineo-host/host/internal/engine/unixsock"
)

// openNetwork answers what the sandbox sends out, as long as this process lives, and serves the egress
// API.
func (s *keeper) openNetwork() error {
	n := s.config.Network
	gateway, err := egress.NewGateway(egress.Options{Policy: n.Policy})
	if err != nil {
		return err
	}
	l, err := unixsock.Listen(filepath.Join(s.config.Dir, EgressSocket))
	if err != nil {
		return err
	}
	if _, err := gateway.Serve(s.init.sockets); err != nil {
		return err
	}
	srv := &http.Server{
		Handler: egress.NewServer(gateway, n.Token), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second,
	}
	go func() { _ = srv.Serve(l) }() // ends with this process
	return nil
}
