package serve_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/serve"
)

// TestStores keeps records the way an application does.
func TestStores(t *testing.T) {
	t.Parallel()
	onEach(t, "", testStores)
}

func testStores(t *testing.T, r *rig) {
	t.Helper()
	const instance = `{"key":"k/1","provider":"p","providerSandboxId":"s1","latestSnapshotId":"snap","threadId":"t","updatedAt":7}`
	const bare = `{"key":"k/1","provider":"p","providerSandboxId":"s2","threadId":"t","updatedAt":8}`
	for _, step := range []struct {
		code               int
		method, path, body string
		want               string // of the answer; empty: any
	}{
		{http.StatusNotFound, "GET", "/v1/instances/k%2F1", "", ""},
		{http.StatusNoContent, "PUT", "/v1/instances/k%2F1", instance, ""},
		{http.StatusOK, "GET", "/v1/instances/k%2F1", "", instance},
		{http.StatusNoContent, "PUT", "/v1/instances/k%2F1", bare, ""},
		{http.StatusOK, "GET", "/v1/instances/k%2F1", "", bare},
		{http.StatusPreconditionFailed, "PUT", "/v1/instances/k%2F1?expected=s1", instance, ""},
		{http.StatusPreconditionFailed, "PUT", "/v1/instances/k%2F1?absent=true", instance, ""},
		{http.StatusPreconditionFailed, "DELETE", "/v1/instances/k%2F1?expected=s1", "", ""},
		{http.StatusOK, "GET", "/v1/instances?updatedBefore=9", "", ""},
		{http.StatusNoContent, "DELETE", "/v1/instances/k%2F1?expected=s2", "", ""},
		{http.StatusNoContent, "DELETE", "/v1/instances/k%2F1", "", ""},
		{http.StatusBadRequest, "PUT", "/v1/instances/other", instance, ""},
		{http.StatusBadRequest, "PUT", "/v1/instances/k", `{"provider":"p","providerSandboxId":"s","threadId":"t","latestRunId":null}`, ""},

		{http.StatusCreated, "PUT", "/v1/runs/a", `{"threadId":"t","startedAt":10}`, `{"runId":"a","threadId":"t","status":"running","startedAt":10}`},
		{http.StatusOK, "PUT", "/v1/runs/a", `{"threadId":"x","startedAt":99,"status":"failed"}`, `{"runId":"a","threadId":"t","status":"running","startedAt":10}`},
		{
			http.StatusOK, "PATCH", "/v1/runs/a", `{"set":{"sandboxKey":"k","detachedSince":11,"cancelRequested":false,"driverEpoch":1,"usage":{"n":1},"error":{"message":"m"}}}`,
			`{"existed":true,"applied":true}`,
		},
		{
			http.StatusOK, "GET", "/v1/runs/a", "",
			`{"runId":"a","threadId":"t","status":"running","startedAt":10,"error":{"message":"m"},"usage":{"n":1},"sandboxKey":"k","detachedSince":11,"cancelRequested":false,"driverEpoch":1}`,
		},
		{http.StatusOK, "GET", "/v1/reclaimable?ttlMs=5&now=16", "", ""},
		{http.StatusOK, "PATCH", "/v1/runs/a", `{"clear":["detachedSince","error","cancelRequested","usage"]}`, `{"existed":true,"applied":true}`},
		{http.StatusOK, "GET", "/v1/runs/a", "", `{"runId":"a","threadId":"t","status":"running","startedAt":10,"sandboxKey":"k","driverEpoch":1}`},
		{http.StatusOK, "PATCH", "/v1/runs/nobody", `{"set":{"status":"failed"}}`, `{"existed":false,"applied":false}`},
		{http.StatusNotFound, "GET", "/v1/runs/nobody", "", ""},
		{http.StatusOK, "POST", "/v1/runs/a/claim", "", ""},
		{http.StatusOK, "PATCH", "/v1/runs/a?epoch=1", `{"set":{"status":"completed"}}`, ""},
		{http.StatusConflict, "DELETE", "/v1/runs/a", "", ""},
		{http.StatusOK, "PATCH", "/v1/runs/a?epoch=2", `{"set":{"status":"completed","finishedAt":20}}`, ""},
		{http.StatusOK, "GET", "/v1/threads/t/runs", "", ""},
		{http.StatusNotFound, "GET", "/v1/threads/t/run", "", ""},
		{http.StatusNoContent, "DELETE", "/v1/runs/a", "", ""},
		{http.StatusBadRequest, "PATCH", "/v1/runs/a", `{"set":{"error":null}}`, ""},
		{http.StatusBadRequest, "PATCH", "/v1/runs/a", `{"clear":["status"]}`, ""},
		{http.StatusBadRequest, "PATCH", "/v1/runs/a", `{"set":{"threadId":"x"}}`, ""},
		{http.StatusBadRequest, "PUT", "/v1/runs/a", `{"threadId":"t","status":"ended"}`, ""},
		{http.StatusBadRequest, "GET", "/v1/runs?limit=many", "", ""},
		{http.StatusBadRequest, "GET", "/v1/runs?limt=1", "", ""},
		{http.StatusNotFound, "POST", "/v1/nothing", "", ""},
		{http.StatusOK, "GET", "/healthz", "", `{"status":"ok"}`},
	} {
		text := r.want(step.code, step.method, step.path, step.body, nil)
		if step.want != "" && text != step.want {
			t.Errorf("%s %s: got %s, want %s", step.method, step.path, text, step.want)
		}
		if step.code >= http.StatusBadRequest && (!strings.Contains(text, `"code":"`) || !strings.Contains(text, `"message":"`)) {
			t.Errorf("%s %s: an error without code or message: %s", step.method, step.path, text)
		}
	}
	code, text := r.send(r.request(http.MethodPost, "/v1/runs", `{"command":"`+strings.Repeat("x", 5<<20)+`"}`))
	if code != http.StatusRequestEntityTooLarge {
		t.Errorf("a body without end: %d %s", code, text)
	}
	for path, count := range map[string]int{"/v1/runs": 0, "/v1/instances": 0} {
		if text := r.want(http.StatusOK, http.MethodGet, path, "", nil); strings.Count(text, `"threadId"`) != count {
			t.Errorf("%s: %s", path, text)
		}
	}
}

// TestAccess lets in who has the token; and without one, who is no browser that another site's page sent.
func TestAccess(t *testing.T) {
	t.Parallel()
	guarded, open := start(t, token), start(t, "")
	for name, tc := range map[string]struct {
		r      *rig
		path   string
		change func(*http.Request)
		want   int
	}{
		"token":        {guarded, "/v1/runs", func(*http.Request) {}, http.StatusOK},
		"no token":     {guarded, "/v1/runs", func(r *http.Request) { r.Header.Del("Authorization") }, http.StatusUnauthorized},
		"wrong token":  {guarded, "/v1/runs", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token+"x") }, http.StatusUnauthorized},
		"bare token":   {guarded, "/v1/runs", func(r *http.Request) { r.Header.Set("Authorization", token) }, http.StatusUnauthorized},
		"metrics":      {guarded, "/metrics", func(r *http.Request) { r.Header.Del("Authorization") }, http.StatusUnauthorized},
		"health":       {guarded, "/healthz", func(r *http.Request) { r.Header.Del("Authorization") }, http.StatusOK},
		"nothing":      {guarded, "/v2", func(r *http.Request) { r.Header.Del("Authorization") }, http.StatusUnauthorized},
		"open":         {open, "/v1/runs", func(*http.Request) {}, http.StatusOK},
		"localhost":    {open, "/v1/runs", func(r *http.Request) { r.Host = "localhost:1" }, http.StatusOK},
		"own page":     {open, "/v1/runs", func(r *http.Request) { r.Header.Set("Origin", "http://"+r.URL.Host) }, http.StatusOK},
		"other page":   {open, "/v1/runs", func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, http.StatusForbidden},
		"no origin":    {open, "/v1/runs", func(r *http.Request) { r.Header.Set("Origin", "null") }, http.StatusForbidden},
		"fetched":      {open, "/v1/runs", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, http.StatusForbidden},
		"rebound name": {open, "/v1/runs", func(r *http.Request) { r.Host = "evil.example:7777" }, http.StatusForbidden},
	} {
		req := tc.r.request(http.MethodGet, tc.path, "")
		tc.change(req)
		if code, text := tc.r.send(req); code != tc.want {
			t.Errorf("%s: %d %s, want %d", name, code, text, tc.want)
		}
	}
	for _, address := range []string{"0.0.0.0:0", ":0", "example.com:80", "7777"} {
		if _, err := serve.New(serve.Options{Runs: open.runs, Address: address}); err == nil {
			t.Errorf("%s is served without a token", address)
		}
	}
}
