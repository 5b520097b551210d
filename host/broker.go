package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/internal/adapter"
)

// ErrNoBroker is wrapped by errors of Broker when [credentials] broker names none.
var ErrNoBroker = errors.New("no credential broker is configured")

// Broker returns the credential broker that [credentials] names. Its plugin is loaded when it is first
// asked for; the Host closes it.
func (h *Host) Broker(ctx context.Context) (credential.Broker, error) {
	h.brokering.Lock()
	defer h.brokering.Unlock()
	if h.broker != nil {
		return h.broker, nil
	}
	name := h.cfg.Credentials.Broker
	if name == "" {
		return nil, fmt.Errorf("opening the credential broker: %w: name one below [credentials]", ErrNoBroker)
	}
	p, err := h.load(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("opening the credential broker: %w", err)
	}
	if err := p.needKind("broker"); err != nil {
		return nil, fmt.Errorf("opening the credential broker: %w", err)
	}
	h.broker = adapter.NewBroker(p.plugin)
	return h.broker, nil
}
