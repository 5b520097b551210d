package opensandbox_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// egressAt returns the sidecar of a sandbox, which wants its own token and never sees the API key.
func egressAt(t *testing.T, answer http.HandlerFunc) (*recorder, *opensandbox.Egress) {
	t.Helper()
	calls := &recorder{answer: func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("OPENSANDBOX-EGRESS-AUTH") != "eg" || r.Header.Get("OPEN-SANDBOX-API-KEY") != "" {
			http.Error(w, "unauthorized", http.StatusUnauthorized)
			return
		}
		answer(w, r)
	}}
	sidecar := serve(t, calls.ServeHTTP)
	control := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/sandboxes/box/endpoints/18080" {
			http.NotFound(w, r)
			return
		}
		_, _ = fmt.Fprintf(w, `{"endpoint":"%s/proxy/18080","headers":{"OPENSANDBOX-EGRESS-AUTH":"eg"}}`, strings.TrimPrefix(sidecar.URL, "http://"))
	})
	return calls, newClient(t, opensandbox.Options{BaseURL: control.URL, APIKey: "k"}).Egress("box")
}

// The answers are recorded from the sidecar's own handlers.
func TestEgressPolicy(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"GET":    `{"status":"ok","mode":"deny_all","enforcementMode":"dns","policy":null}`,
		"PUT":    `{"status":"ok","mode":"enforcing","enforcementMode":"dns"}`,
		"PATCH":  `{"status":"ok","mode":"enforcing","enforcementMode":"dns"}`,
		"DELETE": `{"status":"ok","mode":"enforcing","enforcementMode":"dns","reason":"no matching targets found"}`,
	}
	calls, egress := egressAt(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, answers[r.Method]) })
	status, err := egress.Policy(t.Context())
	if err != nil || status.Mode != "deny_all" || status.EnforcementMode != "dns" || status.Policy != nil {
		t.Errorf("got %+v, %v", status, err)
	}
	allow := opensandbox.NetworkRule{Action: opensandbox.ActionAllow, Target: "example.org"}
	for want, change := range map[string]func() (*opensandbox.PolicyStatus, error){
		`PUT /proxy/18080/policy {"defaultAction":"deny","egress":[{"action":"allow","target":"example.org"}]}`: func() (*opensandbox.PolicyStatus, error) {
			return egress.SetPolicy(t.Context(), opensandbox.NetworkPolicy{DefaultAction: "deny", Egress: []opensandbox.NetworkRule{allow}})
		},
		`PATCH /proxy/18080/policy [{"action":"allow","target":"example.org"}]`: func() (*opensandbox.PolicyStatus, error) {
			return egress.AddRules(t.Context(), allow)
		},
		`DELETE /proxy/18080/policy ["nope.com"]`: func() (*opensandbox.PolicyStatus, error) {
			return egress.RemoveRules(t.Context(), "nope.com")
		},
	} {
		status, err := change()
		if err != nil || status.Mode != "enforcing" {
			t.Errorf("%s: got %+v, %v", want, status, err)
		}
		call, body := calls.last(t)
		same(t, "call", call+" "+body, want)
	}
	before := calls.count()
	for name, err := range map[string]error{
		"no rules":   second(egress.AddRules(t.Context())),
		"no targets": second(egress.RemoveRules(t.Context())),
		"bad action": second(egress.AddRules(t.Context(), opensandbox.NetworkRule{Action: "block", Target: "x"})),
		"no target":  second(egress.SetPolicy(t.Context(), opensandbox.NetworkPolicy{Egress: []opensandbox.NetworkRule{{Action: "deny"}}})),
	} {
		if !errors.Is(err, opensandbox.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if calls.count() != before {
		t.Error("something was sent")
	}
}

func second(_ *opensandbox.PolicyStatus, err error) error { return err }

// The sidecar's errors are plain text.
func TestEgressErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status int
		body   string
		is     error
	}{
		{413, "egress rule total count 6 exceeds limit 4\n", opensandbox.ErrInvalid},
		{400, "invalid merged policy: unsupported action \"block\"\n", opensandbox.ErrInvalid},
		{401, "unauthorized\n", opensandbox.ErrUnauthorized},
		{405, "Method Not Allowed\n", opensandbox.ErrUnsupported},
		{412, "credential vault requires transparent mitmproxy\n", opensandbox.ErrPrecondition},
		{426, "credential vault requires TLS\n", opensandbox.ErrUpgradeRequired},
	} {
		_, egress := egressAt(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.WriteHeader(test.status)
			_, _ = io.WriteString(w, test.body)
		})
		_, err := egress.Policy(t.Context())
		if !errors.Is(err, test.is) || !strings.Contains(err.Error(), strings.TrimSpace(test.body)) {
			t.Errorf("%d: got %v", test.status, err)
		}
	}
}

// A sidecar comes up behind its sandbox: a call that nobody took is asked again, changes too, because twice is
// once.
func TestEgressIsAskedAgain(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(*opensandbox.Egress) error{
		"get": func(e *opensandbox.Egress) error { _, err := e.Policy(t.Context()); return err },
		"add": func(e *opensandbox.Egress) error {
			_, err := e.AddRules(t.Context(), opensandbox.NetworkRule{Action: opensandbox.ActionAllow, Target: "example.org"})
			return err
		},
		"remove": func(e *opensandbox.Egress) error { _, err := e.RemoveRules(t.Context(), "example.org"); return err },
	} {
		left := 2
		calls, egress := egressAt(t, func(w http.ResponseWriter, _ *http.Request) {
			if left--; left >= 0 {
				http.Error(w, "Bad Gateway", http.StatusBadGateway)
			}
		})
		if err := call(egress); err != nil || calls.count() != 3 {
			t.Errorf("%s: %d calls, %v", name, calls.count(), err)
		}
	}
}
