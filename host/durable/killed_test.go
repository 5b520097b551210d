//go:build !race

package durable_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// TestKilledBeforeRecord kills a host with SIGKILL when it has the answer that its sandbox was made, and has not
// recorded it yet. Another host's sweep destroys the sandbox, and ends the run.
func TestKilledBeforeRecord(t *testing.T) {
	t.Parallel()
	s := newHosts(t)
	engine, err := url.Parse(s.engine)
	if err != nil {
		t.Fatal(err)
	}
	// Between the host and the engine: the first request about a sandbox that was just made finds its host killed.
	var made atomic.Bool
	var first *process
	var once sync.Once
	started, killed := make(chan struct{}), make(chan struct{})
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(engine) }, ModifyResponse: func(r *http.Response) error {
		if r.Request.Method == http.MethodPost && strings.HasSuffix(r.Request.URL.Path, "/sandboxes") && r.StatusCode < http.StatusMultipleChoices {
			made.Store(true)
		}
		return nil
	}}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if made.Load() {
			<-started
			once.Do(func() {
				_ = first.cmd.Process.Kill() // unless it has ended, which the test will see
				_ = first.cmd.Wait()         // it was killed
				close(killed)
			})
			panic(http.ErrAbortHandler)
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	text, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	through := &hosts{t: t, config: filepath.Join(t.TempDir(), "alineo.toml")}
	if err := os.WriteFile(through.config, []byte(strings.Replace(string(text), s.engine, proxy.URL, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	first = through.child("start", map[string]string{childRun: "run", childScript: "echo never", childAfter: "0"})
	close(started)
	select {
	case <-killed:
	case <-time.After(childTime):
		t.Fatalf("no sandbox was made: %s", first.err)
	}
	wire, err := opensandbox.New(opensandbox.Options{BaseURL: s.engine})
	if err != nil {
		t.Fatal(err)
	}
	boxes := func() (n int) {
		t.Helper()
		for _, err := range wire.ListSandboxes(t.Context(), opensandbox.SandboxFilter{}) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	if n := boxes(); n != 1 {
		t.Fatalf("the killed host left %d sandboxes, not 1", n)
	}
	runs := openRuns(t, s.config)
	destroyed := 0
	for ends := time.Now().Add(childTime); ; time.Sleep(100 * time.Millisecond) {
		// It doesn't wait for the dead host's leases, so it is asked again.
		sweep, err := runs.Reap(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		destroyed += sweep.Machines
		run, err := runs.Get(t.Context(), "run")
		if err != nil {
			t.Fatal(err)
		}
		if boxes() == 0 && run.Status == store.RunFailed {
			break
		}
		if time.Now().After(ends) {
			t.Fatalf("%d sandboxes are left, and the run is %s", boxes(), run.Status)
		}
	}
	page, err := runs.Stores().Instances.List(t.Context(), store.InstanceListOptions{})
	if err != nil || len(page.Instances) != 0 || destroyed != 1 {
		t.Errorf("%d sandboxes were destroyed, and the records are %+v: %v", destroyed, page.Instances, err)
	}
}
