package engine_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/engine"
)

// get asks an address for a path, with a key when it is not empty.
func get(t *testing.T, url, key string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("OPEN-SANDBOX-API-KEY", key)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// listen serves an engine on free ports until the test ends.
func listen(t *testing.T, e *testEngine) (api, metrics string) {
	t.Helper()
	ready := make(chan [2]string, 1)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- e.Listen(ctx, engine.ListenOptions{
			Address: "127.0.0.1:0", Metrics: "127.0.0.1:0",
			Ready: func(api, metrics net.Addr) {
				ready <- [2]string{"http://" + api.String(), "http://" + metrics.String()}
			},
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the end of listening: %v", err)
		}
	})
	select {
	case at := <-ready:
		return at[0], at[1]
	case err := <-ended:
		ended <- err
		t.Fatalf("listening: %v", err)
		return "", ""
	}
}

// TestListen serves clients with a key, and counts what they do.
func TestListen(t *testing.T) {
	t.Parallel()
	e := openEngine(t, engine.Options{DataDir: t.TempDir(), APIKey: "k3y"})
	box := e.create(nil)
	api, metrics := listen(t, e)
	for _, c := range []struct {
		path, key string
		code      int
	}{
		{"/health", "", http.StatusOK},
		{"/v1/sandboxes/" + box.ID, "", http.StatusUnauthorized},
		{"/v1/sandboxes/" + box.ID, "other", http.StatusUnauthorized},
		{"/v1/sandboxes/" + box.ID, "k3y", http.StatusOK},
		{"/sandboxes/unknown", "k3y", http.StatusNotFound},
		{"/metrics", "k3y", http.StatusNotFound},
	} {
		if code, body := get(t, api+c.path, c.key); code != c.code {
			t.Errorf("%s with key %q: %d %s, want %d", c.path, c.key, code, body, c.code)
		}
	}
	code, body := get(t, metrics+"/metrics", "")
	if code != http.StatusOK {
		t.Fatalf("metrics: %d %s", code, body)
	}
	for _, want := range []string{
		`alineo_engine_sandboxes{state="Running"} 1`,
		`alineo_engine_up 1`,
		`alineo_engine_requests_total{route="/sandboxes",method="POST",code="202"} 1`,
		`alineo_engine_requests_total{route="/sandboxes/{id}",method="GET",code="401"} 2`,
		`alineo_engine_requests_total{route="/sandboxes/{id}",method="GET",code="404"} 1`,
		`alineo_engine_answer_seconds_count{route="/health",method="GET"} 1`,
		`process_open_fds`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("metrics lack %s in\n%s", want, body)
		}
	}
	if strings.Contains(body, box.ID) || strings.Contains(body, "k3y") {
		t.Error("metrics name a sandbox or the key")
	}
}

// TestListenAddress lets nobody else in without a key.
func TestListenAddress(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.com:0"} {
		err := e.Listen(t.Context(), engine.ListenOptions{Address: address})
		if err == nil || !strings.Contains(err.Error(), "api_key") {
			t.Errorf("%s: %v", address, err)
		}
	}
	if err := e.Listen(t.Context(), engine.ListenOptions{Address: "8080"}); err == nil || !strings.Contains(err.Error(), "127.0.0.1:8080") {
		t.Errorf("an address without a host: %v", err)
	}
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	err = e.Listen(t.Context(), engine.ListenOptions{Address: "127.0.0.1:0", Metrics: taken.Addr().String()})
	if err == nil || !strings.Contains(err.Error(), "metrics") {
		t.Errorf("metrics on a port that is taken: %v", err)
	}
}

// TestStatus asks a data directory that is served, and one that is not.
func TestStatus(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	if code, _, out := e.do(http.MethodPost, "/sandboxes/"+box.ID+"/snapshots", map[string]string{"name": "one"}); code != http.StatusAccepted {
		t.Fatalf("snapshot: %d %s", code, out)
	}
	eventually(t, "the snapshot", func() bool {
		_, _, out := e.do(http.MethodGet, "/snapshots", nil)
		return strings.Contains(out, "Ready")
	})
	got, err := engine.Status(t.Context(), engine.Options{DataDir: e.dir})
	if err != nil || !got.Serving || got.PID == 0 || got.Isolation != engine.IsolationNamespaces ||
		got.Sandboxes["Running"] != 1 || got.Snapshots["Ready"] != 1 {
		t.Errorf("served: %+v %v", got, err)
	}
	got, err = engine.Status(t.Context(), engine.Options{DataDir: t.TempDir()})
	if err != nil || got.Serving {
		t.Errorf("not served: %+v %v", got, err)
	}
	if _, err = engine.Status(t.Context(), engine.Options{DataDir: "/dev/null/x"}); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("an impossible directory: %v", err)
	}
}
