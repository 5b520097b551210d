package adapter_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/credential/brokertest"
	"github.com/alineo-labs/alineo-host/host/internal/adapter"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/internal/sidecar"
	"github.com/alineo-labs/alineo-host/plugins"
)

// vault holds secrets that can be changed while a guest is granted them.
type values struct {
	mu   sync.Mutex
	text map[string]string
}

func (v *values) put(name, value string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.text[name] = value
}

func (v *values) readers() map[string]capability.SecretReader {
	all := map[string]capability.SecretReader{}
	for name := range v.text {
		all[name] = func(context.Context) (credential.Secret, error) {
			v.mu.Lock()
			defer v.mu.Unlock()
			return credential.NewSecret(v.text[name]), nil
		}
	}
	return all
}

// openBroker loads a bundled broker.
func openBroker(t testing.TB, rt *plugin.Runtime, name string, opts capability.SetOptions, config string) (*adapter.Broker, error) {
	t.Helper()
	bundle, err := plugins.Find(name)
	if err != nil {
		return nil, err
	}
	return loadBroker(t, rt, plugin.Spec{Name: name, Wasm: bundle.Wasm, SHA256: bundle.SHA256, Config: []byte(config)}, opts)
}

// loadBroker loads a guest as a broker, until the test is over.
func loadBroker(t testing.TB, rt *plugin.Runtime, spec plugin.Spec, opts capability.SetOptions) (*adapter.Broker, error) {
	t.Helper()
	opts.Plugin = spec.Name
	caps := capability.NewSet(opts)
	spec.Caps = caps
	if spec.Limits == (plugin.Limits{}) {
		spec.Limits = patient
	}
	p, err := rt.Load(t.Context(), spec)
	if err != nil {
		return nil, errors.Join(err, caps.Close())
	}
	b := adapter.NewBroker(p)
	t.Cleanup(func() {
		if err := errors.Join(b.Close(context.Background()), caps.Close()); err != nil {
			t.Error(err)
		}
	})
	return b, nil
}

func openSidecar(o brokertest.SidecarOptions) (brokertest.Sidecar, error) { return sidecar.Open(o) }

func TestBrokerVault(t *testing.T) {
	t.Parallel()
	rt := newRuntime(t)
	brokertest.Run(t, func(bt brokertest.T) brokertest.Bench {
		secrets := &values{text: map[string]string{"github": "gh-\"value\" ü", "lines": "two\nlines"}}
		return brokertest.Bench{
			Open: func(context.Context) (credential.Broker, error) {
				return openBroker(bt.(*testing.T), rt, "broker-vault", capability.SetOptions{Secrets: secrets.readers()}, "")
			},
			Sidecar: openSidecar,
			Values:  map[string]string{"secret:github": "gh-\"value\" ü", "secret:lines": "two\nlines"},
			Rotate: func(reference, value string) error {
				secrets.put(strings.TrimPrefix(reference, "secret:"), value)
				return nil
			},
		}
	})
}
