package sandbox_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
)

// How much of its logs and events the caller wants is what the server is asked for, and what comes back.
func TestDiagnosticsThatAreAskedFor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	asked := make(chan string, 1)
	r.wire.do(http.MethodGet, "/diagnostics/", func(req *http.Request) (*http.Response, error) {
		asked <- req.URL.Path[strings.LastIndex(req.URL.Path, "/")+1:] + " " + req.URL.RawQuery
		return pass(req)
	})
	for _, test := range []struct {
		name string
		ask  func() (*opensandbox.Diagnostics, error)
		want string
	}{
		{"logs", func() (*opensandbox.Diagnostics, error) {
			return h.DiagnosticLogs(t.Context(), opensandbox.DiagnosticsQuery{Tail: 7, Since: "10m"})
		}, "logs since=10m&tail=7"},
		{"events", func() (*opensandbox.Diagnostics, error) {
			return h.DiagnosticEvents(t.Context(), opensandbox.DiagnosticsQuery{Limit: 3})
		}, "events limit=3"},
	} {
		found, err := test.ask()
		if got := <-asked; got != test.want || err != nil || found.Kind != test.name {
			t.Errorf("%s: asked for %q, want %q; got %+v, %v", test.name, got, test.want, found, err)
		}
	}
}
