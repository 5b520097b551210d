package engine_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/engine"
)

func TestPatchMetadata(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(map[string]any{"metadata": map[string]string{"a": "1", "b": "2"}})
	path := "/v1/sandboxes/" + box.ID + "/metadata"
	for _, c := range []struct {
		patch string
		want  map[string]string
	}{
		{`{"b":null,"c":"3"}`, map[string]string{"a": "1", "c": "3"}},
		{`{}`, map[string]string{"a": "1", "c": "3"}},
		{`{"nothing":null}`, map[string]string{"a": "1", "c": "3"}},
		{`{"a":null,"c":null}`, nil},
		{`{"example.com/x":""}`, map[string]string{"example.com/x": ""}},
	} {
		code, _, out := e.do(http.MethodPatch, path, c.patch)
		var got struct {
			ID       string
			Metadata map[string]string
		}
		if err := json.Unmarshal([]byte(out), &got); code != http.StatusOK || err != nil || got.ID != box.ID || !maps.Equal(got.Metadata, c.want) {
			t.Errorf("%s: %d %s, want %v", c.patch, code, out, c.want)
		}
	}
	for patch, want := range map[string]string{
		`{"opensandbox.io/x":"y"}`:                `{"code":"INVALID_METADATA_LABEL","message":"Metadata key 'opensandbox.io/x' is reserved (opensandbox.io/ prefix)."}`,
		`{"opensandbox.io/x":null}`:               `"code":"INVALID_METADATA_LABEL"`,
		`{"ok":"1","a b":"c"}`:                    `"code":"SANDBOX::INVALID_METADATA_LABEL"`,
		`{"a":"` + strings.Repeat("x", 64) + `"}`: `"code":"SANDBOX::INVALID_METADATA_LABEL"`,
	} {
		if code, _, out := e.do(http.MethodPatch, path, patch); code != 400 || !strings.Contains(out, want) {
			t.Errorf("%s: %d %s", patch, code, out)
		}
	}
	for patch, want := range map[string]string{`{"a":1}`: `{"detail":[{"type":"string_type","loc":["body","a"],"msg":"Input should be a valid string","input":1}]}`, `[]`: `"loc":["body"]`, ``: `"type":"missing"`} {
		if code, _, out := e.do(http.MethodPatch, path, patch); code != 422 || !strings.Contains(out, want) {
			t.Errorf("%s: %d %s", patch, code, out)
		}
	}
	e.want(http.MethodGet, "/sandboxes?metadata=example.com%2Fx%3D", 200, box.ID)
	if code, _, out := e.do(http.MethodPatch, "/sandboxes/nope/metadata", `{}`); code != 404 || !strings.Contains(out, "DOCKER::SANDBOX_NOT_FOUND") {
		t.Errorf("of no sandbox: %d %s", code, out)
	}
	// The next engine knows it too.
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := openEngine(t, engine.Options{DataDir: e.dir})
	next.want(http.MethodGet, "/sandboxes/"+box.ID, 200, `"metadata":{"example.com/x":""}`)
}

func TestRenew(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box, forever := e.create(nil), e.create(map[string]any{"timeout": nil})
	renew := func(id, at string) (int, string) {
		code, _, out := e.do(http.MethodPost, "/v1/sandboxes/"+id+"/renew-expiration", map[string]string{"expiresAt": at})
		return code, out
	}
	for _, c := range []struct {
		id, at string
		code   int
		want   string
	}{
		{box.ID, "2999-01-01T00:00:00.5+01:00", 200, `{"expiresAt":"2998-12-31T23:00:00.500000Z"}`},
		{box.ID, "2998-01-01T00:00:00", 200, `{"expiresAt":"2998-01-01T00:00:00Z"}`}, // a shorter life, in UTC
		{box.ID, "2020-01-01T00:00:00Z", 400, `"code":"DOCKER::INVALID_EXPIRATION"`},
		{forever.ID, "2999-01-01T00:00:00Z", 409, `"code":"DOCKER::INVALID_EXPIRATION"`},
	} {
		if code, out := renew(c.id, c.at); code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%s: %d %s, want %d %s", c.at, code, out, c.code, c.want)
		}
	}
	e.want(http.MethodGet, "/sandboxes/"+box.ID, 200, `"expiresAt":"2998-01-01T00:00:00Z"`)
}

// TestRenewOnAccess has requests through the proxy prolong a life.
func TestRenewOnAccess(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	expiry := func(b *testBox) time.Time {
		_, _, out := e.do(http.MethodGet, "/sandboxes/"+b.ID, nil)
		var got struct{ ExpiresAt time.Time }
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatal(err)
		}
		return got.ExpiresAt
	}
	box := e.create(map[string]any{"timeout": 60, "extensions": map[string]string{"access.renew.extend.seconds": "3600", "other": "x"}})
	plain := e.create(map[string]any{"timeout": 60})
	first := expiry(plain)
	for _, b := range []*testBox{box, plain} {
		b.must("true")
	}
	if left := time.Until(expiry(box)); left < 50*time.Minute || left > time.Hour {
		t.Errorf("%s left after a request", left)
	}
	if got := expiry(plain); !got.Equal(first) {
		t.Errorf("a life that nobody asked to prolong: %s, then %s", first, got)
	}
	for _, v := range []string{"299", "86401", "soon", "1.5"} {
		body := hostImage()
		body["extensions"] = map[string]string{"access.renew.extend.seconds": v}
		if code, _, out := e.do(http.MethodPost, "/sandboxes", body); code != 400 || !strings.Contains(out, "SANDBOX::INVALID_PARAMETER") {
			t.Errorf("%s: %d %s", v, code, out)
		}
	}
}
