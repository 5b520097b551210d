//go:build !race

package sdktest_test

import (
	"context"
	"net/http/httptest"
	"runtime"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/examples/ledger-http-as/service"
	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/host/store/storetest"
)

// TestForwardedLedger runs the suite through the plugin in AssemblyScript and its service, each case on a
// service of its own.
func TestForwardedLedger(t *testing.T) {
	t.Parallel()
	wasm := language{name: "assemblyscript", build: "sdk-as.sh"}.module(t, "examples/ledger-http-as/ledger.ts")
	passed := 0
	storetest.Check(t.Context(), func(st storetest.T) storetest.Storage {
		url := serve(t, st.TempDir())
		return storetest.Storage{Open: func(ctx context.Context) (store.Ledger, error) {
			cfg := config.Default()
			p := config.DefaultPlugin("remote")
			p.Source, p.SHA256 = wasm, digest(t, wasm)
			p.Grant.HTTP = []string{url}
			p.Config = map[string]any{"url": url}
			cfg.Plugins = map[string]config.Plugin{"remote": p}
			cfg.Ledger.Plugin = "remote"
			h, err := host.Open(ctx, cfg, host.WithLogger(hclog.NewNullLogger()))
			if err != nil {
				return nil, err
			}
			return closing{h.Store(), h}, nil
		}}
	}, storetest.CheckOptions{
		Features: []storetest.Feature{storetest.FeatureEnvironments, storetest.FeatureReadAll, storetest.FeatureHandles, storetest.FeaturePersistent},
		Parallel: runtime.GOMAXPROCS(0), Rounds: 1, Dir: t.TempDir(),
		Ended: func(r storetest.Result) {
			switch r.Status {
			case storetest.Failed:
				t.Errorf("%s: %v", r.Case.Name, r.Messages)
			case storetest.Passed:
				passed++
			case storetest.NotRun:
			}
		},
	})
	const fewest = 75
	if passed < fewest {
		t.Errorf("only %d cases passed", passed)
	}
}

// closing closes the host with its store.
type closing struct {
	store.Ledger

	host *host.Host
}

func (c closing) Close(ctx context.Context) error { return c.host.Close(ctx) }

// serve starts a service on a ledger of its own, and returns its address.
func serve(t *testing.T, dir string) string {
	t.Helper()
	cfg, err := config.Parse(dir+"/alineo.toml", []byte("[plugins.sqlite.config]\npath = \"service.db\"\nsynchronous = \"normal\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(t.Context(), cfg, host.WithLogger(hclog.NewNullLogger()))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(service.New(h.Store()))
	t.Cleanup(func() {
		server.Close()
		if err := h.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return server.URL
}
