package host

import (
	"context"
	"fmt"
	"os"

	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/capability/outbound"
)

// web is where a plugin may send HTTP requests.
func (h *Host) web(name string, grant config.Grant) (capability.Web, error) {
	opts := outbound.Options{Allow: grant.HTTP, Private: grant.Private}
	if grant.CA != "" {
		pem, err := os.ReadFile(grant.CA)
		if err != nil {
			return nil, fmt.Errorf("granting HTTP to plugin %q: reading who vouches for its servers: %w", name, err)
		}
		opts.CA = pem
	}
	client, err := outbound.New(opts)
	if err != nil {
		return nil, fmt.Errorf("plugin %q: %w", name, err)
	}
	return client, nil
}

// secrets are those that a plugin is granted, each read anew when it is asked for.
func (h *Host) secrets(grant config.Grant) map[string]capability.SecretReader {
	readers := make(map[string]capability.SecretReader, len(grant.Secrets))
	for _, name := range grant.Secrets {
		readers[name] = func(context.Context) (credential.Secret, error) {
			secret, err := h.cfg.ReadSecret(name)
			if err != nil {
				return credential.Secret{}, err
			}
			value := credential.NewSecret(secret.Reveal())
			h.redactor.Add(value) // it may be another one than when the host was opened
			return value, nil
		}
	}
	return readers
}
