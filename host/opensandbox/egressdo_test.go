package opensandbox_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

func TestEgressDo(t *testing.T) {
	t.Parallel()
	calls, egress := egressAt(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/proxy/18080/away":
			http.Redirect(w, r, "http://elsewhere.example/", http.StatusTemporaryRedirect)
		default:
			http.Error(w, "not now", http.StatusPreconditionFailed)
		}
	})
	for path, status := range map[string]int{"/credential-vault?x=a%2Fb": http.StatusPreconditionFailed, "/away": http.StatusTemporaryRedirect} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(`{"a":1}`))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := egress.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != status {
			t.Errorf("%s: %d %q %v", path, resp.StatusCode, body, err)
		}
		if call, sent := calls.last(t); !strings.HasPrefix(call, "POST /proxy/18080/") || sent != `{"a":1}` {
			t.Errorf("%s became %s %s", path, call, sent)
		}
	}
	before := calls.count()
	for _, path := range []string{"/../../v1/sandboxes", "/%2e%2e/x", "relative", "https://elsewhere.example"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := egress.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		if !errors.Is(err, opensandbox.ErrInvalid) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if calls.count() != before {
		t.Error("a refused request went out")
	}
}
