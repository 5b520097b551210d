package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/engine"
)

// TestRequestFaults compares answers to wrong requests with the original's.
func TestRequestFaults(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	const id = "/sandboxes/00000000-0000-4000-8000-000000000000"
	create := func(change string) string {
		body := map[string]any{}
		b, _ := json.Marshal(hostImage())
		_ = json.Unmarshal(b, &body)
		var patch map[string]any
		if err := json.Unmarshal([]byte(change), &patch); err != nil {
			t.Fatal(err)
		}
		maps.Copy(body, patch)
		b, _ = json.Marshal(body)
		return string(b)
	}
	for _, c := range []struct {
		name, method, path, body string
		code                     int
		want                     string // a part of the body
	}{
		{"unknown path", "GET", "/nope", "", 404, `{"detail":"Not Found"}`},
		{"unknown path below /v1", "GET", "/v1/nope", "", 404, `{"detail":"Not Found"}`},
		{"wrong method", "PUT", "/v1/sandboxes", "", 405, `{"detail":"Method Not Allowed"}`},
		{"HEAD through the proxy", "HEAD", id + "/proxy/44772/ping", "", 405, ""},
		{"OPTIONS through the proxy", "OPTIONS", id + "/proxy/44772/ping", "", 405, `{"detail":"Method Not Allowed"}`},
		{"no body", "POST", "/sandboxes", "", 422, `{"detail":[{"type":"missing","loc":["body"],"msg":"Field required","input":null}]}`},
		{"no JSON", "POST", "/sandboxes", "{", 422, `{"detail":[{"type":"json_invalid","loc":["body",`},
		{"no object", "POST", "/sandboxes", "[]", 422, `"type":"model_attributes_type","loc":["body"]`},
		{"no image", "POST", "/sandboxes", create(`{"image":null}`), 422, `"msg":"Value error, Exactly one of image or snapshotId must be provided"`},
		{"image and snapshot", "POST", "/sandboxes", create(`{"snapshotId":"x"}`), 422, `Exactly one of image or snapshotId`},
		{"no uri", "POST", "/sandboxes", create(`{"image":{}}`), 422, `{"detail":[{"type":"missing","loc":["body","image","uri"],"msg":"Field required","input":{}}]}`},
		{"blank uri", "POST", "/sandboxes", create(`{"image":{"uri":" "}}`), 422, `"loc":["body","image","uri"]`},
		{"no entry point", "POST", "/sandboxes", create(`{"entrypoint":null}`), 422, `entrypoint is required`},
		{"empty entry point", "POST", "/sandboxes", create(`{"entrypoint":[]}`), 422, `"type":"too_short","loc":["body","entrypoint"]`},
		{"short timeout", "POST", "/sandboxes", create(`{"timeout":59}`), 422, `{"detail":[{"type":"greater_than_equal","loc":["body","timeout"],"msg":"Input should be greater than or equal to 60","input":59,"ctx":{"ge":60}}]}`},
		{"odd timeout", "POST", "/sandboxes", create(`{"timeout":"soon"}`), 422, `"type":"int_parsing"`},
		{"no limits", "POST", "/sandboxes", create(`{"resourceLimits":null}`), 422, `resourceLimits is required`},
		{"odd env", "POST", "/sandboxes", create(`{"env":{"A":1}}`), 422, `"loc":["body","env","A"]`},
		{"bad label", "POST", "/sandboxes", create(`{"metadata":{"a b":"c"}}`), 400, `"code":"SANDBOX::INVALID_METADATA_LABEL"`},
		{"reserved label", "POST", "/sandboxes", create(`{"metadata":{"opensandbox.io/x":"c"}}`), 400, `"code":"SANDBOX::INVALID_METADATA_LABEL"`},
		{"pool", "POST", "/sandboxes", create(`{"extensions":{"poolRef":"p"}}`), 400, `"code":"SANDBOX::UNSUPPORTED_POOL_REF"`},
		{"odd policy", "POST", "/sandboxes", create(`{"networkPolicy":{"defaultAction":"maybe"}}`), 422, `"type":"literal_error","loc":["body","networkPolicy","defaultAction"]`},
		{"host volume", "POST", "/sandboxes", create(`{"volumes":[{"name":"v","mountPath":"/v","host":{"path":"/etc"}}]}`), 400, `"code":"VOLUME::HOST_PATH_NOT_ALLOWED"`},
		{"unmapped image", "POST", "/sandboxes", create(`{"image":{"uri":"registry.invalid/python:3.12"}}`), 500, `{"code":"DOCKER::SANDBOX_IMAGE_PULL_FAILED","message":"Failed to pull image registry.invalid/python:3.12: `},
		{"unknown snapshot", "POST", "/sandboxes", `{"snapshotId":"nope","resourceLimits":{}}`, 404, `"code":"SNAPSHOT::NOT_FOUND"`},
		{"get unknown", "GET", id, "", 404, `"code":"DOCKER::SANDBOX_NOT_FOUND"`},
		{"delete unknown", "DELETE", id, "", 404, `"code":"DOCKER::SANDBOX_NOT_FOUND"`},
		{"renew unknown", "POST", id + "/renew-expiration", `{"expiresAt":"2999-01-01T00:00:00Z"}`, 404, `"code":"DOCKER::SANDBOX_NOT_FOUND"`},
		{"renew to nothing", "POST", id + "/renew-expiration", `{}`, 422, `"loc":["body","expiresAt"]`},
		{"renew to nonsense", "POST", id + "/renew-expiration", `{"expiresAt":"soon"}`, 422, `"type":"datetime_from_date_parsing"`},
		{"endpoint of unknown", "GET", id + "/endpoints/80", "", 404, `"code":"DOCKER::SANDBOX_NOT_FOUND"`},
		{"endpoint of no port", "GET", id + "/endpoints/http", "", 422, `"loc":["path","port"]`},
		{"endpoint of bad port", "GET", id + "/endpoints/70000", "", 400, `"code":"DOCKER::INVALID_PORT"`},
		{"signed endpoint", "GET", id + "/endpoints/80?expires=9", "", 400, `"code":"SANDBOX::API_NOT_SUPPORTED"`},
		{"signed and proxied", "GET", id + "/endpoints/80?expires=9&use_server_proxy=true", "", 400, `"code":"SANDBOX::INVALID_PARAMETER"`},
		{"proxy of unknown", "GET", id + "/proxy/80/", "", 404, `"code":"DOCKER::SANDBOX_NOT_FOUND"`},
		{"snapshot of unknown", "POST", id + "/snapshots", "", 404, `"code":"DOCKER::SANDBOX_NOT_FOUND"`},
		{"snapshot with no name", "POST", id + "/snapshots", `{"name":""}`, 422, `"type":"string_too_short"`},
		{"get unknown snapshot", "GET", "/snapshots/nope", "", 404, `"code":"SNAPSHOT::NOT_FOUND"`},
		{"delete unknown snapshot", "DELETE", "/snapshots/nope", "", 404, `"code":"SNAPSHOT::NOT_FOUND"`},
		{"page 0", "GET", "/sandboxes?page=0", "", 422, `{"detail":[{"type":"greater_than_equal","loc":["query","page"],"msg":"Input should be greater than or equal to 1","input":"0","ctx":{"ge":1}}]}`},
		{"large page", "GET", "/snapshots?pageSize=201", "", 422, `"type":"less_than_equal"`},
		{"odd page", "GET", "/sandboxes?page=x", "", 422, `"type":"int_parsing"`},
		{"odd filter", "GET", "/sandboxes?metadata=nonsense", "", 400, `"code":"INVALID_METADATA_FORMAT"`},
		{"trailing slash", "GET", "/v1/sandboxes/", "", 307, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, h, out := e.do(c.method, c.path, c.body)
			if code != c.code || !strings.Contains(out, c.want) {
				t.Errorf("%s %s %s:\n got %d %s\nwant %d …%s…", c.method, c.path, c.body, code, out, c.code, c.want)
			}
			if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(h.Get("X-Request-ID")) {
				t.Errorf("X-Request-ID %q", h.Get("X-Request-ID"))
			}
		})
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	var ids []string
	for _, m := range []map[string]string{{"project": "Apollo", "note": "a"}, {"project": "Apollo"}, {"project": "Gemini"}} {
		ids = append(ids, e.create(map[string]any{"metadata": m}).ID)
	}
	list := func(query string) (got []string, page map[string]any) {
		code, _, out := e.do(http.MethodGet, "/v1/sandboxes?"+query, nil)
		if code != http.StatusOK {
			t.Fatalf("list %s: %d %s", query, code, out)
		}
		var l struct {
			Items      []struct{ ID string }
			Pagination map[string]any
		}
		if err := json.Unmarshal([]byte(out), &l); err != nil {
			t.Fatal(err)
		}
		for _, i := range l.Items {
			got = append(got, i.ID)
		}
		return got, l.Pagination
	}
	for _, c := range []struct {
		query string
		want  []string
	}{
		{"", []string{ids[2], ids[1], ids[0]}},
		{"state=running", []string{ids[2], ids[1], ids[0]}},
		{"state=Paused", nil},
		{"state=Paused&state=RUNNING", []string{ids[2], ids[1], ids[0]}},
		{"metadata=" + url.QueryEscape("project=Apollo"), []string{ids[1], ids[0]}},
		{"metadata=" + url.QueryEscape("project=Apollo&note=a"), []string{ids[0]}},
		{"metadata=" + url.QueryEscape("project=apollo"), nil},
		{"pageSize=2", []string{ids[2], ids[1]}},
		{"pageSize=2&page=2", []string{ids[0]}},
		{"pageSize=2&page=3", nil},
		{"page=9223372036854775807", nil},
	} {
		if got, _ := list(c.query); strings.Join(got, " ") != strings.Join(c.want, " ") {
			t.Errorf("list %q: %v, want %v", c.query, got, c.want)
		}
	}
	_, page := list("pageSize=2")
	want := map[string]any{"page": 1.0, "pageSize": 2.0, "totalItems": 3.0, "totalPages": 2.0, "hasNextPage": true}
	for k, v := range want {
		if page[k] != v {
			t.Errorf("pagination %s: %v, want %v", k, page[k], v)
		}
	}
}

// TestResource checks what a sandbox looks like, byte for byte.
func TestResource(t *testing.T) {
	t.Parallel()
	e := openEngine(t, engine.Options{DataDir: t.TempDir(), Images: map[string]string{"default": "host", "python": "host"}})
	blot := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z`)
	norm := func(s string) string {
		return blot.ReplaceAllStringFunc(s, func(m string) string {
			if strings.HasSuffix(m, "Z") {
				return "TIME"
			}
			return "ID"
		})
	}
	req, err := http.NewRequest(http.MethodPost, e.BaseURL()+"/v1/sandboxes", strings.NewReader(`{"image":{"uri":"python:3.12"},"entrypoint":["tail","-f","/dev/null"],"resourceLimits":{"cpu":"nonsense"},"metadata":{"a":"b"},"timeout":60,"unknown":1,"networkPolicy":{"defaultAction":"deny"}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Request-ID", "  mine ")
	code, h, out := e.send(req)
	want := `{"id":"ID","status":{"state":"Running","reason":"CONTAINER_RUNNING","message":"Container is running.","lastTransitionAt":"TIME"},"metadata":{"a":"b"},"entrypoint":["tail","-f","/dev/null"],"expiresAt":"TIME","createdAt":"TIME"}`
	if code != http.StatusAccepted || norm(out) != want || h.Get("X-Request-ID") != "mine" || h.Get("Content-Type") != "application/json" {
		t.Errorf("create: %d %s %v", code, norm(out), h)
	}
	var box testBox
	if err := json.Unmarshal([]byte(out), &box); err != nil {
		t.Fatal(err)
	}
	_, _, out = e.do(http.MethodGet, "/sandboxes/"+box.ID, nil)
	if want := strings.Replace(want, `"status"`, `"image":{"uri":"python:3.12"},"status"`, 1); norm(out) != want {
		t.Errorf("get: %s", norm(out))
	}
	for _, q := range []string{"", "?use_server_proxy=true"} {
		_, _, out = e.do(http.MethodGet, "/v1/sandboxes/"+box.ID+"/endpoints/44772"+q, nil)
		if want := `{"endpoint":"` + strings.TrimPrefix(e.BaseURL(), "http://") + `/sandboxes/` + box.ID + `/proxy/44772"}`; out != want {
			t.Errorf("endpoint: %s, want %s", out, want)
		}
	}
	if _, _, out = e.do(http.MethodGet, "/health", nil); out != `{"status":"healthy"}` {
		t.Errorf("health: %s", out)
	}
}

// TestPorts reaches a server in the sandbox that isn't execd.
func TestPorts(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	box.e = e
	if r := box.run("command -v python3"); r.Code != "0" {
		t.Skip("no python3 to serve with")
	}
	box.must("echo hello > index.html; mkdir -p 'a b'; echo deep > 'a b/c%d'")
	box.run("python3 -m http.server 8000 --bind 127.0.0.1", "background", true)
	eventually(t, "the server", func() bool {
		code, _, _ := e.do(http.MethodGet, "/sandboxes/"+box.ID+"/proxy/8000/", nil)
		return code == http.StatusOK
	})
	for path, want := range map[string]string{"/8000": "hello\n", "/8000/": "hello\n", "/8000/index.html?x=1": "hello\n", "/8000/a%20b/c%25d": "deep\n"} {
		if code, _, out := e.do(http.MethodGet, "/v1/sandboxes/"+box.ID+"/proxy"+path, nil); code != http.StatusOK || out != want {
			t.Errorf("%s: %d %q", path, code, out)
		}
	}
	if code, _, _ := e.do(http.MethodGet, "/sandboxes/"+box.ID+"/proxy/8001/", nil); code != http.StatusBadGateway {
		t.Errorf("a port that nobody listens on: %d", code)
	}
}

// TestHandler serves the engine on a listener with a key, both from the
// serving process and from an attached one.
func TestHandler(t *testing.T) {
	t.Parallel()
	own := openEngine(t, engine.Options{DataDir: t.TempDir(), APIKey: "k3y"})
	attached := openEngine(t, engine.Options{DataDir: own.dir, APIKey: "k3y"})
	box := own.create(nil)
	for name, e := range map[string]*testEngine{"own": own, "attached": attached} {
		srv := httptest.NewServer(e.Handler())
		t.Cleanup(srv.Close)
		get := func(path, key string) (int, string) {
			req, err := http.NewRequest(http.MethodGet, srv.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if key != "" {
				req.Header.Set("OPEN-SANDBOX-API-KEY", key)
			}
			resp, err := srv.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			var b strings.Builder
			_ = resp.Write(&b)
			return resp.StatusCode, b.String()
		}
		for _, c := range []struct {
			path, key string
			code      int
			want      string
		}{
			{"/v1/sandboxes", "", 401, `"code":"MISSING_API_KEY"`},
			{"/v1/sandboxes", "wrong", 401, `"code":"INVALID_API_KEY"`},
			{"/v1/sandboxes", "k3y", 200, box.ID},
			{"/health", "", 200, "healthy"},
			{"/sandboxes/" + box.ID + "/proxy/44772/ping", "", 200, ""},
			{"/sandboxes/" + box.ID + "/endpoints/44772", "k3y", 200, strings.TrimPrefix(srv.URL, "http://") + "/sandboxes/" + box.ID + "/proxy/44772"},
		} {
			if code, out := get(c.path, c.key); code != c.code || !strings.Contains(out, c.want) {
				t.Errorf("%s: %s with %q: %d %s, want %d %s", name, c.path, c.key, code, out, c.code, c.want)
			}
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	requireNamespaces(t)
	for _, c := range []struct {
		name string
		opts engine.Options
		want string
	}{
		{"an unknown level", engine.Options{DataDir: t.TempDir(), Isolation: "total"}, `"total" is none of auto`},
		{"less without leave", engine.Options{DataDir: t.TempDir(), Isolation: engine.IsolationReduced}, "allow_reduced"},
	} {
		if _, err := engine.Open(t.Context(), c.opts); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if ordinaryUser() {
		return
	}
	dir, err := os.MkdirTemp("/var/lib", "engine-test") //nolint:usetesting // it has to lie there
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if _, err := engine.Open(t.Context(), engine.Options{DataDir: dir}); err == nil || !strings.Contains(err.Error(), "lies below /var, which sandboxes see") {
		t.Errorf("a data directory below /var: %v", err)
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, err := engine.Probe(t.Context(), engine.Options{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("level %s", r.Level)
	seen := map[string]bool{}
	for _, f := range r.Findings {
		t.Logf("%-16s %-5v %s | %s", f.Feature, f.OK, f.Reason, f.Fix)
		seen[f.Feature] = true
		if f.Reason == "" || !f.OK && f.Fix == "" && f.Feature != "user namespaces" {
			t.Errorf("%s has no reason, or no way out", f.Feature)
		}
	}
	for _, want := range []string{"data directory", "user namespaces", "landlock", "seccomp", "memfd", "cgroups", "disk"} {
		if !seen[want] {
			t.Errorf("nothing about %s", want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestProbeGivenUp stops while the machine is being looked at: that says
// nothing about the machine.
func TestProbeGivenUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := engine.Probe(ctx, engine.Options{DataDir: t.TempDir()}); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v %v", r, err)
	}
	_, err := engine.Open(ctx, engine.Options{DataDir: t.TempDir()})
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "isolation") {
		t.Errorf("%v", err)
	}
}
