package serve

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

func controlOptions(dir string) ControlOptions {
	plugins := []Plugin{{Name: "mine", Status: PluginReady, Calls: 7, P50: 2 * time.Millisecond}, {Name: "other", Status: PluginFailed}}
	return ControlOptions{
		Dir: dir, Version: "1.2.3", Config: "/etc/alineo.toml", Plugins: func() []Plugin { return plugins },
		Reload: func(_ context.Context, name string) (Plugin, error) {
			switch name {
			case "mine":
				return plugins[0], nil
			case "a/b c":
				return Plugin{Name: name}, nil
			case "broken":
				return Plugin{}, errors.New("something else")
			}
			return Plugin{}, &ControlError{Code: name, Message: "about " + name}
		},
	}
}

// shortDir is a directory that sockets can be in.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "alineo-control-*") //nolint:usetesting // its paths are too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "data") // which is made
}

func TestControl(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	client := NewControl(dir)
	if _, err := client.Status(t.Context()); !errors.Is(err, ErrNoDaemon) {
		t.Errorf("without a daemon: %v", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	// What a daemon leaves that was killed.
	if err := os.WriteFile(filepath.Join(dir, controlSocket), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := listenControl(controlOptions(dir), hclog.NewNullLogger(), "127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, controlSocket)); err != nil || info.Mode().Perm() != 0o600 || info.Mode()&fs.ModeSocket == 0 {
		t.Errorf("the socket: %v, %v", info, err)
	}
	if _, err := listenControl(controlOptions(dir), hclog.NewNullLogger(), ""); !errors.Is(err, errHeld) {
		t.Errorf("a second daemon: %v", err)
	}
	status, err := client.Status(t.Context())
	if d := status.Daemon; err != nil || len(status.Plugins) != 2 || status.Plugins[0].Calls != 7 ||
		d.PID != os.Getpid() || d.Config != "/etc/alineo.toml" || d.Address != "127.0.0.1:1" || d.Version != "1.2.3" {
		t.Errorf("%+v, %v", status, err)
	}
	for _, name := range []string{"mine", "a/b c"} {
		if p, err := client.Reload(t.Context(), name); err != nil || p.Name != name {
			t.Errorf("reloading %q: %+v, %v", name, p, err)
		}
	}
	for _, code := range []string{CodeUnknownPlugin, CodeNotLoaded, CodeNotReloaded, CodePluginLost} {
		_, err := client.Reload(t.Context(), code)
		if refused, ok := errors.AsType[*ControlError](err); !ok || refused.Code != code || err.Error() != "about "+code {
			t.Errorf("%s: %v", code, err)
		}
	}
	_, err = client.Reload(t.Context(), "broken")
	if refused, ok := errors.AsType[*ControlError](err); !ok || refused.Code != CodeInternal || refused.Message != "something else" {
		t.Errorf("another error: %v", err)
	}
	if err := client.ask(t.Context(), http.MethodGet, "/nowhere", nil); err == nil || !strings.Contains(err.Error(), "another version") {
		t.Errorf("an endpoint that is none: %v", err)
	}
	c.close(t.Context())
	if _, err := client.Status(t.Context()); !errors.Is(err, ErrNoDaemon) {
		t.Errorf("after its end: %v", err)
	}
	again, err := listenControl(controlOptions(dir), hclog.NewNullLogger(), "")
	if err != nil {
		t.Fatal(err)
	}
	again.close(t.Context())
}

func TestPluginMetrics(t *testing.T) {
	t.Parallel()
	m := newServerMetrics()
	m.plugins = controlOptions("").Plugins
	var text bytes.Buffer
	m.writePlugins(&text)
	for _, want := range []string{
		`alineo_plugin_up{plugin="mine"} 1`, `alineo_plugin_up{plugin="other"} 0`, `alineo_plugin_calls_total{plugin="mine"} 7`,
		`alineo_plugin_call_seconds{plugin="mine",quantile="0.5"} 0.002`,
	} {
		if !strings.Contains(text.String(), want+"\n") {
			t.Errorf("no %s in\n%s", want, text.String())
		}
	}
}
