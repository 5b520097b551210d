package brokertest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/credential/brokertest"
	"github.com/alineo-labs/alineo-host/host/internal/sidecar"
	"github.com/alineo-labs/alineo-host/internal/nativebroker"
)

func openSidecar(o brokertest.SidecarOptions) (brokertest.Sidecar, error) { return sidecar.Open(o) }

// bench makes benches for a native broker with this fault.
func bench(fault string, values map[string]string) func(brokertest.T) brokertest.Bench {
	return func(brokertest.T) brokertest.Bench {
		return brokertest.Bench{
			Open: func(context.Context) (credential.Broker, error) {
				return faulty{nativebroker.New(nativebroker.Options{Known: values}), fault}, nil
			},
			Sidecar: openSidecar, Values: values,
		}
	}
}

// TestNativeBroker: a broker in Go passes, whether it finds values or not.
func TestNativeBroker(t *testing.T) {
	t.Parallel()
	for name, values := range map[string]map[string]string{"resolves": {"a:b": "value \"1\""}, "only delivers": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, r := range brokertest.Check(t.Context(), bench("", values), brokertest.CheckOptions{Parallel: 4, Deadline: time.Minute, Dir: t.TempDir()}) {
				if r.Status == brokertest.Failed {
					t.Errorf("%s: %q", r.Case.Name, r.Messages)
				}
				if r.Status == brokertest.NotRun && !strings.HasPrefix(r.Case.Name, "resolve/") {
					t.Errorf("%s did not run: %q", r.Case.Name, r.Messages)
				}
			}
		})
	}
}

// TestFaultsBeyondGuests: rules that the host keeps for guests are broken by brokers in Go, and noticed.
func TestFaultsBeyondGuests(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"fault/silent", "fault/canceled", "resolve/undeclared"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			only := brokertest.CheckOptions{Match: func(c brokertest.Case) bool { return c.Name == fault }, Deadline: time.Minute}
			results := brokertest.Check(t.Context(), bench(fault, nil), only)
			if len(results) != 1 || results[0].Status != brokertest.Failed {
				t.Errorf("the fault is not noticed: %+v", results)
			}
		})
	}
}

// panicking is a broker that does.
type panicking struct{ credential.Broker }

func (panicking) Features() credential.Features { panic("no features") }

// TestCheckSurvives: a panic and a stop end cases, not the check.
func TestCheckSurvives(t *testing.T) {
	t.Parallel()
	fresh := func(brokertest.T) brokertest.Bench {
		return brokertest.Bench{Open: func(context.Context) (credential.Broker, error) { return panicking{}, nil }, Sidecar: openSidecar}
	}
	only := brokertest.CheckOptions{Match: func(c brokertest.Case) bool { return strings.HasPrefix(c.Name, "resolve/") }, Parallel: 2}
	var heard []string
	only.Ended = func(r brokertest.Result) { heard = append(heard, r.Case.Name) }
	results := brokertest.Check(t.Context(), fresh, only)
	for i, r := range results {
		if r.Status != brokertest.Failed || !strings.Contains(strings.Join(r.Messages, ""), "panic: no features") || heard[i] != r.Case.Name {
			t.Errorf("%+v, heard %v", r, heard)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, r := range brokertest.Check(ctx, fresh, only) {
		if r.Status != brokertest.NotRun {
			t.Errorf("after a stop: %+v", r)
		}
	}
}
