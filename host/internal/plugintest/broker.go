package plugintest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/credential/brokertest"
	"github.com/alineo-labs/alineo-host/host/internal/adapter"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/internal/sidecar"
)

// kindBroker is a plugin that is tried with brokertest; all others are with storetest.
const kindBroker = "broker"

// BrokerList returns every case of a plugin of kind "broker", without an ending.
func BrokerList() []Case {
	var list []Case
	for _, c := range checks() {
		list = append(list, Case{Name: c.name, Rule: c.rule})
	}
	for _, c := range brokertest.Cases() {
		list = append(list, Case{Name: c.Name, Rule: c.Rule})
	}
	return list
}

// runBroker runs the broker's suite. What sandboxes get is asked of the embedded engine's own vault.
func (s *subject) runBroker(ctx context.Context, ended func(Case)) {
	brokertest.Check(ctx, s.bench, brokertest.CheckOptions{
		Match:    func(c brokertest.Case) bool { return s.matches(c.Name) },
		Parallel: s.opts.Parallel, Deadline: s.opts.Deadline, Dir: s.opts.Dir,
		Ended: func(r brokertest.Result) {
			c := Case{Name: r.Case.Name, Rule: r.Case.Rule, Status: NotRun, Messages: r.Messages, Took: r.Took}
			switch r.Status {
			case brokertest.Passed:
				c.Status = Passed
			case brokertest.Failed:
				c.Status = Failed
				s.explain(&c)
			case brokertest.NotRun:
			}
			ended(c)
		},
	})
}

// bench makes what one case needs: secrets of its own, and brokers that are granted them.
func (s *subject) bench(t brokertest.T) brokertest.Bench {
	secrets := newMadeUp(s.secretNames())
	bench := brokertest.Bench{
		Open: func(ctx context.Context) (credential.Broker, error) {
			p, err := s.openBroker(ctx, t.Name(), secrets)
			if err != nil {
				return nil, err
			}
			t.Cleanup(func() {
				if err := p.Close(context.WithoutCancel(ctx)); err != nil {
					t.Errorf("closing the broker: %v", err)
				}
			})
			return adapter.NewBroker(p), nil
		},
		Sidecar: func(o brokertest.SidecarOptions) (brokertest.Sidecar, error) { return sidecar.Open(o) },
		Values:  map[string]string{},
		Rotate: func(reference, value string) error {
			secrets.put(s.opts.References[reference], value)
			return nil
		},
	}
	for reference, name := range s.opts.References {
		bench.Values[reference] = secrets.get(name)
	}
	return bench
}

func (s *subject) openBroker(ctx context.Context, name string, secrets *madeUp) (*instance, error) {
	caps := capability.NewSet(capability.SetOptions{Plugin: s.opts.Name, Secrets: secrets.readers(), Web: s.opts.Web, Logger: s.opts.Logger})
	seen := func(failure *plugin.Error) { s.note(name, failure) }
	p, err := s.runtime.Load(ctx, s.spec(caps))
	if err != nil {
		if failure, ok := errors.AsType[*plugin.Error](err); ok {
			seen(failure)
		}
		return nil, errors.Join(err, caps.Close())
	}
	return &instance{Plugin: p, caps: caps, seen: seen}, nil
}

// secretNames are those that the plugin asks for by name, or that references lead to.
func (s *subject) secretNames() []string {
	names := slices.Collect(maps.Values(s.opts.References))
	for _, want := range s.manifest.Capabilities {
		if want.Name == "secret" && want.Resource != "" {
			names = append(names, want.Resource)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// madeUp are secrets of one case.
type madeUp struct {
	mu   sync.Mutex
	text map[string]string
}

func newMadeUp(names []string) *madeUp {
	m := &madeUp{text: map[string]string{}}
	for _, name := range names {
		m.text[name] = fmt.Sprintf("%s \"of\" %s ü", rand.Text(), name)
	}
	return m
}

func (m *madeUp) get(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text[name]
}

func (m *madeUp) put(name, value string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.text[name] = value
}

func (m *madeUp) readers() map[string]capability.SecretReader {
	m.mu.Lock()
	defer m.mu.Unlock()
	readers := make(map[string]capability.SecretReader, len(m.text))
	for name := range m.text {
		readers[name] = func(context.Context) (credential.Secret, error) { return credential.NewSecret(m.get(name)), nil }
	}
	return readers
}

// grantsOfBroker are what the plan tells of them.
func (s *subject) grantsOfBroker() []Granted {
	var list []Granted
	for _, want := range s.manifest.Capabilities {
		if want.Name == "secret" && want.Resource != "" {
			list = append(list, Granted{Capability: want.Name, Resource: want.Resource, Reason: want.Reason, As: "a text that is made up for each case"})
		}
	}
	return list
}
