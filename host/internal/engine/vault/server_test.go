package vault_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/internal/engine/vault"
)

// allowing is a policy with rules for some hosts.
type allowing []string

func (a allowing) Hold(f func(vault.Covers) error) error {
	return f(func(host string) bool { return slices.Contains(a, host) })
}

// TestAPI goes through what the original was seen to answer, in its order, and then through the rest.
func TestAPI(t *testing.T) {
	t.Parallel()
	changes := 0
	srv := vault.NewServer(vault.NewStore(), allowing{"example.org", "*.example.org", "b.test"}, func() { changes++ })
	binding := func(name, match, auth string) string {
		return fmt.Sprintf(`{"name":%q,"match":{%s},"auth":%s}`, name, match, auth)
	}
	const key = `{"type":"apiKey","name":"x-api-key","credential":"t"}`
	plain := binding("b", `"hosts":["example.org"]`, key)
	const credential = `{"name":"t","source":{"type":"inline","value":"s3cr3t"}}`
	for _, c := range []struct {
		method, path, body string
		code               int
		want               string
	}{
		{"GET", "", "", 404, "credential vault not found\n"},
		{"DELETE", "", "", 404, "credential vault not found\n"},
		{"PATCH", "", "{}", 404, "credential vault not found\n"},
		{"GET", "/credentials", "", 404, "credential vault not found\n"},
		{"POST", "", `{"credentials":[` + credential + `],"bindings":[` + plain + `]}`, 201, `{"revision":1,"credentials":[{"name":"t","sourceType":"inline","revision":1}],"bindings":[{"name":"b","revision":1,"match":{"schemes":["https"],"ports":[443],"hosts":["example.org"],"methods":["GET","POST","PUT","PATCH","DELETE"],"paths":["/*"]},"auth":{"type":"apiKey","name":"X-Api-Key"}}]}` + "\n"},
		{"POST", "", `{}`, 409, "credential vault already exists\n"},
		{"PATCH", "", `{"expectedRevision":9}`, 409, "expectedRevision 9 does not match current revision 1\n"},
		{"PATCH", "", `{"bogus":1}`, 400, `invalid credential vault mutation request: json: unknown field "bogus"` + "\n"},
		{"PATCH", "", `{"bindings":{"add":[` + binding("b2", `"hosts":["other.com"]`, key) + `]}}`, 400, `binding "b2" host "other.com" is not covered by an explicit allow egress rule` + "\n"},
		{"PATCH", "", `{"bindings":{"add":[` + binding("b2", `"hosts":["example.org"],"paths":["/v1/*"]`, key) + `]}}`, 400, `bindings "b" and "b2" can match the same request` + "\n"},
		{"PATCH", "", `{"credentials":{"delete":["t"]}}`, 400, `binding "b" references unknown credential "t"` + "\n"},
		{"GET", "", "", 200, `{"revision":1,`},
		// Revisions.
		{"PATCH", "", `{"expectedRevision":1,"credentials":{"add":[{"name":"u","source":{"value":"other"}}]}}`, 200, `{"revision":2,"credentials":[{"name":"t","sourceType":"inline","revision":1},{"name":"u","sourceType":"inline","revision":2}],"bindings":[{"name":"b","revision":1,`},
		{"PATCH", "", `{"credentials":{"replace":[` + credential + `]}}`, 200, `{"revision":3,"credentials":[{"name":"t","sourceType":"inline","revision":3},{"name":"u","sourceType":"inline","revision":2}],"bindings":[{"name":"b","revision":3,`},
		{"GET", "/credentials", "", 200, `{"revision":3,"credentials":[{"name":"t"`},
		{"GET", "/credentials/u", "", 200, `{"name":"u","sourceType":"inline","revision":2}`},
		{"GET", "/credentials/x", "", 404, "credential not found\n"},
		{"GET", "/bindings", "", 200, `{"revision":3,"bindings":[{"name":"b"`},
		{"GET", "/bindings/b", "", 200, `{"name":"b","revision":3,`},
		{"GET", "/bindings/x", "", 404, "binding not found\n"},
		{"GET", "/_active", "", 403, "forbidden\n"},
		{"GET", "/other", "", 404, "not found\n"},
		{"POST", "/credentials", "{}", 405, "method not allowed\n"},
		{"OPTIONS", "", "", 405, "method not allowed\n"},
		// Mutations are right as a whole or not made.
		{"PATCH", "", `{"credentials":{"add":[{"name":"t","source":{"value":"x"}}]}}`, 400, `credential "t" already exists`},
		{"PATCH", "", `{"credentials":{"replace":[{"name":"x","source":{"value":"x"}}]}}`, 400, `credential "x" does not exist`},
		{"PATCH", "", `{"credentials":{"delete":["x"]}}`, 400, `credential "x" does not exist`},
		{"PATCH", "", `{"credentials":{"delete":["u"],"add":[{"name":"u","source":{"value":"x"}}]}}`, 400, `credential "u" mentioned by multiple operations`},
		{"PATCH", "", `{"credentials":{"add":[{"name":"v","source":{"value":"x"}},{"name":" v ","source":{"value":"x"}}]}}`, 400, `duplicate credential name "v"`},
		{"PATCH", "", `{"credentials":{"add":[{"name":"v","source":{"type":"env","value":"x"}}]}}`, 400, `unsupported source type "env"`},
		{"PATCH", "", `{"credentials":{"add":[{"name":"v","source":{"value":""}}]}}`, 400, `requires a value`},
		{"PATCH", "", `{"credentials":{"add":[{"name":" ","source":{"value":"x"}}]}}`, 400, `cannot be blank`},
		{"PATCH", "", `{"credentials":{"add":[{"name":"v","source":{"value":"x","ref":"y"}}]}}`, 400, `unknown field "ref"`},
		{"PATCH", "", `{"credentials":{"replace":[{"name":"t","source":{"value":"x\ny"}}]}}`, 400, `control characters`},
		{"PATCH", "", `{} {}`, 400, "something after"},
		{"PATCH", "", `{"expectedRevision":"s3cr3t"}`, 400, "is not of the type int64\n"},
		{"PATCH", "", `{"credentials":{"add":[{"name":"v","source":s3cr3t}]}}`, 400, "malformed JSON at byte"},
		{"PATCH", "", `{"x":"` + strings.Repeat("x", 1<<20) + `"}`, 400, "too large"},
		// What a binding may be.
		{"PATCH", "", `{"bindings":{"replace":[` + binding("b", `"hosts":["HTTPS://example.org"]`, key) + `]}}`, 400, "must not include scheme"},
		{"PATCH", "", `{"bindings":{"replace":[` + binding("b", `"hosts":["10.0.0.1"]`, key) + `]}}`, 400, "not an IP address"},
		{"PATCH", "", `{"bindings":{"replace":[` + binding("b", `"hosts":["localhost"]`, key) + `]}}`, 400, "must be an FQDN"},
		{"PATCH", "", `{"bindings":{"replace":[` + binding("b", `"hosts":["*.*.org"]`, key) + `]}}`, 400, "invalid wildcard"},
		{"PATCH", "", `{"bindings":{"replace":[` + binding("b", `"hosts":[]`, key) + `]}}`, 400, "match.hosts cannot be empty"},
		{"PATCH", "", `{"bindings":{"replace":[` + binding("b", `"hosts":["example.org"],"ports":[8443]`, key) + `]}}`, 400, "port 8443 is not intercepted"},
		{"PATCH", "", `{"bindings":{"replace":[` + binding("b", `"hosts":["example.org"],"schemes":["ftp"]`, key) + `]}}`, 400, "unsupported scheme"},
		{"PATCH", "", `{"bindings":{"replace":[` + binding("b", `"hosts":["example.org"],"paths":["v1"]`, key) + `]}}`, 400, "must start with /"},
		{"PATCH", "", `{"bindings":{"replace":[` + binding("b", `"hosts":["example.org"]`, `{"type":"apiKey","name":"Host","credential":"t"}`) + `]}}`, 400, "reserved credential header name"},
		{"PATCH", "", `{"bindings":{"replace":[` + binding("b", `"hosts":["example.org"]`, `{"type":"apiKey","name":"a b","credential":"t"}`) + `]}}`, 400, "invalid credential header name"},
		{"PATCH", "", `{"bindings":{"replace":[` + binding("b", `"hosts":["example.org"]`, `{"type":"bearer"}`) + `]}}`, 400, "bearer auth requires credential"},
		{"PATCH", "", `{"bindings":{"replace":[` + binding("b", `"hosts":["example.org"]`, `{"type":"oauth"}`) + `]}}`, 400, "unsupported auth type"},
		{"PATCH", "", `{"bindings":{"replace":[` + binding("b", `"hosts":["example.org"]`, `{"type":"customHeaders","headers":[{"name":"x-a","credential":"t"},{"name":"X-A","credential":"u"}]}`) + `]}}`, 400, "duplicate custom header name"},
		{"PATCH", "", `{"bindings":{"replace":[` + binding("b", `"hosts":["example.org"]`, `{"type":"passthrough","substitutions":[{"credential":"t","placeholder":"P","in":["cookie"]}]}`) + `]}}`, 400, "unsupported target surface"},
		// A name of its own comes before a wildcard, so they are not for the same request.
		{"PATCH", "", `{"bindings":{"add":[` + binding("w", `"hosts":["*.Example.org."],"methods":["get"],"schemes":["https","http"]`, `{"type":"customHeaders","headers":[{"name":"x-a","credential":"u"}]}`) + `]}}`, 200, `{"name":"w","revision":4,"match":{"schemes":["https","http"],"ports":[443,80],"hosts":["*.example.org"],"methods":["GET"],"paths":["/*"]},"auth":{"type":"customHeaders"}}`},
		{"PATCH", "", `{"bindings":{"delete":["w"]},"credentials":{"delete":["u"]}}`, 200, `"revision":5`},
		{"DELETE", "", "", 204, ""},
		{"GET", "", "", 404, "credential vault not found\n"},
		{"POST", "", `{"credentials":[],"bindings":[]}`, 201, `{"revision":1,"credentials":[],"bindings":[]}`},
	} {
		w := httptest.NewRecorder()
		srv.ServeHTTP(w, httptest.NewRequest(c.method, vault.Path+c.path, strings.NewReader(c.body)))
		out := w.Body.String()
		if w.Code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%s %s %.120s: %d %s, want %d %s", c.method, c.path, c.body, w.Code, out, c.code, c.want)
		}
		if strings.Contains(out, "s3cr3t") {
			t.Errorf("%s %s %.120s: a value comes out: %s", c.method, c.path, c.body, out)
		}
		if kind := w.Header().Get("Content-Type"); w.Code >= 400 && !strings.HasPrefix(kind, "text/plain") {
			t.Errorf("%s %s: an error as %s", c.method, c.path, kind)
		}
	}
	if changes != 7 {
		t.Errorf("%d changes were told", changes)
	}
}

// TestWithoutProxy refuses to hold what nobody would inject.
func TestWithoutProxy(t *testing.T) {
	t.Parallel()
	srv := vault.NewServer(nil, allowing{}, func() {})
	for method, code := range map[string]int{"GET": 404, "POST": 412, "PATCH": 412, "DELETE": 412} {
		w := httptest.NewRecorder()
		srv.ServeHTTP(w, httptest.NewRequest(method, vault.Path, strings.NewReader("{}")))
		if w.Code != code {
			t.Errorf("%s: %d %s", method, w.Code, w.Body)
		}
	}
}

// TestValuesDontPrint formats everything that holds one.
func TestValuesDontPrint(t *testing.T) {
	t.Parallel()
	c := vault.Credential{Name: "t", Source: vault.Source{Value: "s3cr3t"}}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		if out := fmt.Sprintf(verb, c); strings.Contains(out, "s3cr3t") || strings.Contains(out, "733363723374") {
			t.Errorf("%s: %s", verb, out)
		}
	}
}

// FuzzMutation makes vaults of anything: what is accepted has a state without values, and every request
// gets at most one binding.
func FuzzMutation(f *testing.F) {
	f.Add(`{"credentials":[{"name":"t","source":{"type":"inline","value":"s3cr3t-value"}}],"bindings":[{"name":"b","match":{"hosts":["a.test"]},"auth":{"type":"bearer","credential":"t"}},{"name":"c","match":{"hosts":["*.a.test"],"paths":["/x","/y*"]},"auth":{"type":"basic","credential":"t"}}]}`,
		`{"credentials":{"replace":[{"name":"t","source":{"value":"s3cr3t-value"}}]},"bindings":{"delete":["b"]}}`, "x.a.test", "/y/z")
	f.Fuzz(func(t *testing.T, create, mutate, host, path string) {
		store := vault.NewStore()
		srv := vault.NewServer(store, all{}, func() {})
		do := func(method, body string) string {
			w := httptest.NewRecorder()
			srv.ServeHTTP(w, httptest.NewRequest(method, vault.Path, strings.NewReader(body)))
			if w.Code == http.StatusInternalServerError {
				t.Fatal(w.Body)
			}
			out, err := io.ReadAll(w.Body)
			if err != nil {
				t.Fatal(err)
			}
			return string(out)
		}
		for _, out := range []string{do(http.MethodPost, create), do(http.MethodPatch, mutate), do(http.MethodGet, "")} {
			if strings.Contains(out, "s3cr3t-value") && !strings.Contains(out, `"s3cr3t-value"`) {
				t.Errorf("a value comes out: %s", out)
			}
		}
		for _, method := range []string{"GET", "POST", "X"} {
			for _, scheme := range []string{"http", "https"} {
				for _, port := range []int{80, 443} {
					if _, err := store.Rules().Select(vault.Request{Scheme: scheme, Host: host, Port: port, Method: method, Path: path}); err != nil {
						t.Fatalf("%s %s: %v", host, path, err)
					}
				}
			}
		}
	})
}

type all struct{}

func (all) Hold(f func(vault.Covers) error) error { return f(func(string) bool { return true }) }
