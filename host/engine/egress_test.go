package engine_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// outside is a server on one of the machine's own addresses that is not loopback; "" when it has none.
func outside(t *testing.T) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return serveAt(t, n.IP.String())
		}
	}
	return ""
}

// serveAt serves HTTP on an address and returns it with its port.
func serveAt(t *testing.T, ip string) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", net.JoinHostPort(ip, "0"))
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "outside saw %s", r.Host)
	})}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	return l.Addr().String()
}

// fetch is a program that says what an address answers.
const fetch = `python3 -c 'import urllib.request,sys
try: print(urllib.request.urlopen("http://%s/", timeout=10).read().decode())
except Exception as e: print("refused:", e)'`

// requireEgress leaves a test out where sandboxes have no way out.
func requireEgress(t *testing.T, e *testEngine) {
	t.Helper()
	box := e.create(nil)
	defer box.delete()
	if out := box.run("cat /proc/net/route"); strings.Count(out.Stdout, "\n") < 2 {
		t.Skip("LEFT OUT: this machine's sandboxes have no way out (no nf_tables?)")
	}
}

// TestEgress changes a sandbox's policy and sees what it reaches then.
func TestEgress(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	requireEgress(t, e)
	address := outside(t)
	if address == "" {
		t.Skip("LEFT OUT: this machine has no address but loopback")
	}
	ip, _, _ := net.SplitHostPort(address)
	box := e.create(map[string]any{"networkPolicy": map[string]any{
		"defaultAction": "deny", "egress": []any{map[string]string{"action": "allow", "target": ip + "/32"}},
	}})
	reaches := func(want bool) {
		t.Helper()
		out := box.must(fmt.Sprintf(fetch, address))
		if got := strings.Contains(out, "outside saw "+address); got != want {
			t.Errorf("reached: %v, want %v (%s)", got, want, out)
		}
	}
	reaches(true)

	code, _, out := e.do(http.MethodGet, "/sandboxes/"+box.ID+"/endpoints/18080", nil)
	var end struct {
		Endpoint string
		Headers  map[string]string
	}
	if err := json.Unmarshal([]byte(out), &end); err != nil || code != http.StatusOK || end.Headers["OPENSANDBOX-EGRESS-AUTH"] == "" {
		t.Fatalf("endpoint: %d %s", code, out)
	}
	policy := func(method, body string, withToken bool) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, e.BaseURL()+"/sandboxes/"+box.ID+"/proxy/18080/policy", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if withToken {
			req.Header.Set("OPENSANDBOX-EGRESS-AUTH", end.Headers["OPENSANDBOX-EGRESS-AUTH"])
		}
		code, _, out := e.send(req)
		return code, out
	}
	if code, out := policy(http.MethodGet, "", false); code != http.StatusUnauthorized {
		t.Errorf("without the token: %d %s", code, out)
	}
	if code, out := policy(http.MethodDelete, `["`+ip+`/32"]`, true); code != http.StatusOK {
		t.Errorf("taking the rule away: %d %s", code, out)
	}
	reaches(false)
	if code, out := policy(http.MethodPatch, `[{"action":"allow","target":"`+ip+`"}]`, true); code != http.StatusOK {
		t.Errorf("a new rule: %d %s", code, out)
	}
	reaches(true)
	if code, out := policy(http.MethodPut, `{"defaultAction":"allow"}`, true); code != http.StatusOK {
		t.Errorf("another policy: %d %s", code, out)
	}
	reaches(false) // not public, and no rule says otherwise
	if code, out := policy(http.MethodGet, "", true); code != http.StatusOK || !strings.Contains(out, `"mode":"allow_all"`) {
		t.Errorf("the policy: %d %s", code, out)
	}
	if out := box.run("env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null").Stdout; strings.Contains(out, end.Headers["OPENSANDBOX-EGRESS-AUTH"]) {
		t.Error("the sandbox knows the token")
	}
}

// TestEgressByDefault lets a sandbox without a policy out to what is public, and to nothing else.
func TestEgressByDefault(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	requireEgress(t, e)
	box := e.create(nil)
	for _, address := range []string{outside(t), "169.254.169.254:80", "10.255.255.1:80"} {
		if address == "" {
			continue
		}
		if out := box.must(fmt.Sprintf(fetch, address)); !strings.HasPrefix(out, "refused:") {
			t.Errorf("%s: %s", address, out)
		}
	}
	code, _, out := e.do(http.MethodGet, "/sandboxes/"+box.ID+"/endpoints/18080", nil)
	if code != http.StatusOK || strings.Contains(out, "OPENSANDBOX-EGRESS-AUTH") {
		t.Errorf("an egress API without a policy: %d %s", code, out)
	}
}

// TestEgressNames lets a name out that this machine knows, and no other.
func TestEgressNames(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	requireEgress(t, e)
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	found, err := net.DefaultResolver.LookupNetIP(t.Context(), "ip4", name)
	if err != nil {
		t.Skipf("LEFT OUT: this machine does not know the address of its own name %q: %v", name, err)
	}
	ip, port, err := net.SplitHostPort(serveAt(t, found[0].String()))
	if err != nil {
		t.Fatal(err)
	}
	box := e.create(map[string]any{"networkPolicy": map[string]any{"egress": []any{
		map[string]string{"action": "allow", "target": strings.ToUpper(name)}, map[string]string{"action": "allow", "target": ip},
	}}})
	if out := box.must(fmt.Sprintf(fetch, name+":"+port)); !strings.Contains(out, "outside saw "+name) {
		t.Errorf("%s: %s", name, out)
	}
	if out := box.must("getent hosts " + name); !strings.HasPrefix(out, "198.18.") {
		t.Errorf("%s is %s", name, out)
	}
	if out := box.run("getent hosts other.invalid"); out.Stdout != "" {
		t.Errorf("a name that is not allowed is %s", out.Stdout)
	}
}
