package credential_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/credential"
)

func TestBindingJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		binding credential.Binding
		text    string
	}{
		{
			"header", credential.Header("api.example.com", "/v1", "X-Api-Key"),
			`{"host":"api.example.com","pathPrefix":"/v1","injection":{"type":"header","name":"X-Api-Key"}}`,
		},
		{
			"substitution", credential.Substitution("*.example.com", "", "<KEY>", "path", "query"),
			`{"host":"*.example.com","injection":{"type":"substitution","placeholder":"<KEY>","in":["path","query"]}}`,
		},
		{"bearer", credential.Bearer("api.example.com"), `{"host":"api.example.com","injection":{"type":"bearer"}}`},
		{
			"a path that is no prefix",
			credential.Binding{Hosts: []string{"a.example"}, Paths: []string{"/v1"}, Injection: credential.Injection{Type: credential.TypeBasic}},
			`{"match":{"hosts":["a.example"],"paths":["/v1"]},"injection":{"type":"basic"}}`,
		},
		{
			"everything",
			credential.Binding{
				Schemes: []string{"http", "https"}, Ports: []int{80, 443}, Hosts: []string{"a.example", "*.b.example"},
				Methods: []string{"GET"}, Paths: []string{"/x/*"},
				Injection: credential.Injection{Type: credential.TypeCustomHeaders, Headers: []credential.HeaderValue{{Name: "X-A"}, {Name: "X-B", Credential: "other"}}},
			},
			`{"match":{"schemes":["http","https"],"ports":[80,443],"hosts":["a.example","*.b.example"],"methods":["GET"],"paths":["/x/*"]},` +
				`"injection":{"type":"customHeaders","headers":[{"name":"X-A"},{"name":"X-B","credential":"other"}]}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if err := c.binding.Validate(); err != nil {
				t.Error(err)
			}
			text, err := json.Marshal(c.binding)
			if err != nil {
				t.Fatal(err)
			}
			// json.Marshal escapes what MarshalJSON left alone.
			if got := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(text)); got != c.text {
				t.Errorf("wrote %s\n want %s", got, c.text)
			}
			var back credential.Binding
			if err := json.Unmarshal([]byte(c.text), &back); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(back, c.binding) {
				t.Errorf("read %#v\n want %#v", back, c.binding)
			}
		})
	}
}

// TestNarrowBindingHasNoHost: a reader that knows only the first form must not find a host, else it
// would give the credential to every request there.
func TestNarrowBindingHasNoHost(t *testing.T) {
	t.Parallel()
	for _, narrow := range []func(*credential.Binding){
		func(b *credential.Binding) { b.Methods = []string{"GET"} },
		func(b *credential.Binding) { b.Schemes = []string{"https"} },
		func(b *credential.Binding) { b.Ports = []int{443} },
		func(b *credential.Binding) { b.Paths = []string{"/exactly"} },
		func(b *credential.Binding) { b.Paths = []string{"/a*", "/b*"} },
		func(b *credential.Binding) { b.Hosts = append(b.Hosts, "b.example") },
	} {
		b := credential.Header("a.example", "", "X-Key")
		narrow(&b)
		text, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		var keys map[string]json.RawMessage
		if err := json.Unmarshal(text, &keys); err != nil {
			t.Fatal(err)
		}
		if keys["host"] != nil || keys["match"] == nil {
			t.Errorf("%s can be taken for a binding of a whole host", text)
		}
	}
}

func TestBindingRefused(t *testing.T) {
	t.Parallel()
	for text, wants := range map[string]string{
		`{"host":"a.example","match":{"hosts":["b.example"]},"injection":{"type":"bearer"}}`:    "both match and host",
		`{"match":{"hosts":["a.example"],"weekdays":["monday"]},"injection":{"type":"bearer"}}`: "weekdays",
		`{"match":{"hosts":"a.example"},"injection":{"type":"bearer"}}`:                         "hosts",
		`{"host":7}`: "host",
		`[]`:         "binding",
	} {
		var b credential.Binding
		if err := json.Unmarshal([]byte(text), &b); err == nil || !strings.Contains(err.Error(), wants) {
			t.Errorf("%s: %v, want something about %q", text, err, wants)
		}
	}
}

func TestValidateBinding(t *testing.T) {
	t.Parallel()
	header := credential.Injection{Type: credential.TypeHeader, Header: "X-Key"}
	for _, c := range []struct {
		binding credential.Binding
		wants   string
	}{
		{credential.Binding{Injection: header}, "no host"},
		{credential.Header("https://a.example", "", "X-Key"), "bare name"},
		{credential.Header("10.0.0.1", "", "X-Key"), "address"},
		{credential.Header("*", "", "X-Key"), "no host name"},
		{credential.Header("*.*.example", "", "X-Key"), "no host name"},
		{credential.Header("-a.example", "", "X-Key"), "no host name"},
		{credential.Header("a.example", "v1", "X-Key"), "begin with a slash"},
		{credential.Header("a.example", "/a*b", "X-Key"), "star"},
		{credential.Header("a.example", "", "Host"), "can't carry"},
		{credential.Header("a.example", "", "X Key"), "no header name"},
		{credential.Header("a.example", "", ""), "no name"},
		{credential.Substitution("a.example", "", ""), "placeholder"},
		{credential.Substitution("a.example", "", "KEY", "cookie"), "no part of a request"},
		{credential.Binding{Hosts: []string{"a.example"}, Methods: []string{"get"}, Injection: header}, "method"},
		{credential.Binding{Hosts: []string{"a.example"}, Schemes: []string{"ftp"}, Injection: header}, "scheme"},
		{credential.Binding{Hosts: []string{"a.example"}, Ports: []int{0}, Injection: header}, "port"},
		{credential.Binding{Hosts: []string{"a.example"}, Injection: credential.Injection{Type: "oauth"}}, "type"},
		{credential.Binding{Hosts: []string{"a.example"}, Injection: credential.Injection{Type: credential.TypeBearer, Header: "X"}}, "not for its type"},
		{credential.Binding{Hosts: []string{"a.example"}, Injection: credential.Injection{
			Type: credential.TypeCustomHeaders, Headers: []credential.HeaderValue{{Name: "X-A"}, {Name: "x-a"}},
		}}, "twice"},
	} {
		err := c.binding.Validate()
		if !errors.Is(err, credential.ErrInvalid) || !strings.Contains(err.Error(), c.wants) {
			t.Errorf("%+v: %v, want something about %q", c.binding, err, c.wants)
		}
	}
}

func TestValidateValue(t *testing.T) {
	t.Parallel()
	header := credential.Injection{Type: credential.TypeHeader, Header: "X-Key"}
	body := credential.Injection{Type: credential.TypeSubstitution, Placeholder: "KEY", In: []string{credential.InBody}}
	for _, c := range []struct {
		value     string
		injection credential.Injection
		ok        bool
	}{
		{"s3cr3t", header, true},
		{"", header, false},
		{"a\r\nX-Evil: 1", header, false},
		{"a\nb", body, true},
		{"\xff", body, false},
		{strings.Repeat("x", 64<<10+1), body, false},
	} {
		err := credential.ValidateValue(credential.NewSecret(c.value), c.injection)
		if (err == nil) != c.ok {
			t.Errorf("a value of %d bytes: %v", len(c.value), err)
		}
		if err != nil && c.value != "" && strings.Contains(err.Error(), c.value) {
			t.Errorf("the error has the value")
		}
	}
}

func TestSecretIsNotPrinted(t *testing.T) {
	t.Parallel()
	type holder struct {
		Value credential.Secret
		inner credential.Secret
	}
	h := holder{credential.NewSecret("canary-1"), credential.NewSecret("canary-2")}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		if text := fmt.Sprintf(verb, h) + fmt.Sprintf(verb, h.inner) + fmt.Sprintf(verb, &h); strings.Contains(text, "canary") || strings.Contains(text, "63616e617279") {
			t.Errorf("%s prints %s", verb, text)
		}
	}
	text, err := json.Marshal(h)
	if err != nil || string(text) != `{"Value":"[redacted]"}` {
		t.Errorf("JSON: %s, %v", text, err)
	}
}

func FuzzBinding(f *testing.F) {
	f.Add([]byte(`{"host":"a.example","pathPrefix":"/v1","injection":{"type":"header","name":"X-Key"}}`))
	f.Add([]byte(`{"match":{"hosts":["a.example"],"ports":[443]},"injection":{"type":"customHeaders","headers":[{"name":"X-A","credential":"b"}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var b credential.Binding
		if json.Unmarshal(data, &b) != nil || b.Validate() != nil {
			return
		}
		text, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		var back credential.Binding
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		again, err := json.Marshal(back)
		if err != nil || !bytes.Equal(again, text) {
			t.Fatalf("%s came back as %s, %v", text, again, err)
		}
	})
}
