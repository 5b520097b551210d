package lifecycle

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// FuzzCreate checks that every body is either refused in a way that can be
// written, or gives a request that keeps the rules.
func FuzzCreate(f *testing.F) {
	f.Add(`{"image":{"uri":"host"},"entrypoint":["x"],"resourceLimits":{"cpu":"1","memory":"1Gi"},"timeout":60,"env":{"A":"b","C":null},"metadata":{"a":"b"}}`)
	f.Add(`{"snapshotId":"x","resourceLimits":{},"networkPolicy":{"defaultAction":"deny","egress":[{"action":"deny","target":"x"}]}}`)
	f.Add(`{"extensions":{"poolRef":1},"volumes":[{"name":"v","mountPath":"/v","host":{}}],"platform":{"os":"linux","arch":"amd64"},"credentialProxy":{"enabled":true}}`)
	f.Add(`{"timeout":1e400,"entrypoint":{}}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, in string) {
		b, err := parseBody([]byte(in), false)
		var q createRequest
		if err == nil {
			q, err = parseCreate(b)
		}
		if err != nil {
			w := httptest.NewRecorder()
			_ = writeError(w, err)
			if !json.Valid(w.Body.Bytes()) || w.Code < 400 || w.Code > 499 {
				t.Errorf("%q: %d %s", in, w.Code, w.Body)
			}
			return
		}
		if (q.image == "") == (q.snapshotID == "") || len(q.entrypoint) == 0 || q.timeout != 0 && q.timeout < time.Minute || q.limits.Memory < 0 || q.limits.CPU < 0 {
			t.Errorf("%q passes as %+v", in, q)
		}
	})
}

// FuzzRoute sends odd paths and methods to a server with nothing in it.
func FuzzRoute(f *testing.F) {
	for _, p := range []string{"/v1/sandboxes", "/sandboxes/", "/sandboxes/x/proxy/80", "/sandboxes/x/endpoints/", "/v1", "/v1x", "/snapshots/", "/health", "//", "/v1/v1/health"} {
		f.Add("GET", p)
	}
	m, err := Open(f.Context(), Options{DataDir: f.TempDir(), Level: "none"})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(m.Close)
	s := Guard("key", NewServer(m))
	f.Fuzz(func(t *testing.T, method, path string) {
		if method == "" || strings.ContainsAny(method, " \x00") {
			t.Skip()
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Method, r.URL = method, &url.URL{Path: path}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		open := strings.HasPrefix(path, "/health") || proxyPath.MatchString(path)
		if w.Code != 401 && !open {
			t.Errorf("%s %q passes without a key: %d %s", method, path, w.Code, w.Body)
		}
		r.Header.Set(keyHeader, "key")
		w = httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code >= 500 && !json.Valid(w.Body.Bytes()) || w.Header().Get(requestIDHeader) == "" {
			t.Errorf("%s %q: %d %s", method, path, w.Code, w.Body)
		}
	})
}

func TestQuantities(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int64{
		"500m": 500, "1": 1000, "0.5": 500, "2.25": 2250, "0.0001": 1, "": -1, "-1": -1, "0": -1, "x": -1, "NaN": -1, "Inf": -1, "1e300": -1, "m": -1,
	} {
		got, ok := parseCPU(in)
		if ok != (want > 0) || ok && got != want {
			t.Errorf("cpu %q: %d %v", in, got, ok)
		}
	}
	for in, want := range map[string]int64{
		"512Mi": 512 << 20, "2Gi": 2 << 30, "1G": 1e9, "512m": 512e6, "100b": 100, "100": 100, "1KiB": 1 << 10, "1kb": 1000, "3T": 3e12,
		"": -1, "0": -1, "-1": -1, "1x": -1, "i": -1, "1i": -1, "1gg": -1, "9999999999Ti": -1, "1.5Gi": -1,
	} {
		got, ok := parseBytes(in)
		if ok != (want > 0) || ok && got != want {
			t.Errorf("memory %q: %d %v", in, got, ok)
		}
	}
}

func FuzzQuantities(f *testing.F) {
	f.Add("512Mi")
	f.Add("0.5")
	f.Fuzz(func(t *testing.T, in string) {
		if v, ok := parseBytes(in); ok && v <= 0 {
			t.Errorf("memory %q: %d", in, v)
		}
		if v, ok := parseCPU(in); ok && v <= 0 {
			t.Errorf("cpu %q: %d", in, v)
		}
	})
}

func TestMetadataRules(t *testing.T) {
	t.Parallel()
	for _, m := range []map[string]string{{"a": "b"}, {"example.com/a": ""}, {"a_b.c-d": "A.b_c-9"}, {strings.Repeat("a", 63): strings.Repeat("b", 63)}} {
		if err := validMetadata(m); err != nil {
			t.Errorf("%v: %v", m, err)
		}
	}
	for _, m := range []map[string]string{
		{"": "b"}, {"-a": "b"}, {"a": "b c"}, {"a": "-"}, {"A.com/x": "y"}, {"/x": "y"}, {"a/b/c": "d"}, {"opensandbox.io/x": "y"}, {strings.Repeat("a", 64): ""}, {"a": strings.Repeat("b", 64)},
	} {
		var p *Problem
		if err := validMetadata(m); !errors.As(err, &p) || p.Code != codeInvalidLabel {
			t.Errorf("%v: %v", m, err)
		}
	}
}

func FuzzMetadataFilter(f *testing.F) {
	f.Add("a=b&c=d+e%26")
	f.Fuzz(func(t *testing.T, in string) {
		filter, err := metadataFilter(in)
		if err != nil {
			return
		}
		// What passes says the same when it is written once more.
		q := url.Values{}
		for k, v := range filter {
			q.Set(k, v)
		}
		again, err := metadataFilter(q.Encode())
		if err != nil || !maps.Equal(filter, again) {
			t.Errorf("%q: %v, then %v %v", in, filter, again, err)
		}
	})
}

func TestStamp(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("x", 3600))
	for add, want := range map[time.Duration]string{
		0: `"2026-01-02T02:04:05Z"`, time.Millisecond: `"2026-01-02T02:04:05.001000Z"`, 1234567: `"2026-01-02T02:04:05.001234Z"`, 999: `"2026-01-02T02:04:05Z"`,
	} {
		if b, err := json.Marshal(stamp(at.Add(add))); err != nil || string(b) != want {
			t.Errorf("%v: %s %v", add, b, err)
		}
	}
	if stampOf(time.Time{}) != nil {
		t.Error("no time is a time")
	}
}

func TestParseTime(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"2026-01-02T03:04:05Z": "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123456789+01:00": "2026-01-02T02:04:05.123456Z", "2026-01-02T03:04:05": "2026-01-02T03:04:05Z", "2026-01-02 03:04:05": "2026-01-02T03:04:05Z",
	} {
		if got, ok := parseTime(in); !ok || got.Format(time.RFC3339Nano) != want {
			t.Errorf("%q: %v %v", in, got, ok)
		}
	}
	for _, in := range []string{"", "soon", "2026-01-02", "03:04"} {
		if got, ok := parseTime(in); ok {
			t.Errorf("%q: %v", in, got)
		}
	}
}

func TestAfterPort(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"/sandboxes/x/proxy/80": "/", "/sandboxes/x/proxy/80/": "/", "/v1/sandboxes/x/proxy/80/a/proxy/81/b": "/a/proxy/81/b", "/sandboxes/x/proxy/80//a": "//a",
	} {
		if got := afterPort(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
