package schema_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/internal/plugin/schema"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		schema, config string
		want           []string
	}{
		"nothing":       {``, `{"x":1}`, nil},
		"true":          {`true`, `{"x":1}`, nil},
		"false":         {`false`, `{}`, []string{": may not be given"}},
		"type":          {`{"properties":{"a":{"type":"integer"},"b":{"type":["string","null"]}}}`, `{"a":"secret","b":1.5}`, []string{"a: must be a whole number", "b: must be text or null"}},
		"types":         {`{"properties":{"a":{"type":"integer"},"b":{"type":"null"},"c":{"type":"boolean"},"d":{"type":"array"}}}`, `{"a":1.0,"b":null,"c":true,"d":[]}`, nil},
		"unknown":       {`{"additionalProperties":false,"properties":{"a":{}}}`, `{"b":1,"a":1}`, []string{"b: unknown key (known: a)"}},
		"none known":    {`{"additionalProperties":false}`, `{"b":1}`, []string{"b: unknown key (there are none here)"}},
		"additional":    {`{"additionalProperties":{"type":"string"}}`, `{"b":1,"c":"x"}`, []string{"b: must be text"}},
		"required":      {`{"required":["url"],"properties":{"url":{"description":"where the store is"}}}`, `{}`, []string{"url: is required (where the store is)"}},
		"enum":          {`{"properties":{"a":{"enum":["x",1,null]}}}`, `{"a":"secret"}`, []string{`a: must be "x" or 1 or null`}},
		"enum's number": {`{"properties":{"a":{"enum":[1]},"b":{"const":{"x":1}}}}`, `{"a":1.0,"b":{"x":1}}`, nil},
		"lengths":       {`{"properties":{"a":{"minLength":2},"b":{"maxLength":2}}}`, `{"a":"é","b":"ééé"}`, []string{"a: must have at least 2 characters", "b: must have at most 2 characters"}},
		"items":         {`{"properties":{"a":{"items":{"type":"string"},"maxItems":2,"minItems":1}}}`, `{"a":["x",2,3]}`, []string{"a: must have at most 2 elements", "a[1]: must be text", "a[2]: must be text"}},
		"pattern":       {`{"properties":{"a":{"pattern":"^[a-z]+$"}}}`, `{"a":"SECRET"}`, []string{"a: must match ^[a-z]+$"}},
		"numbers": {
			`{"additionalProperties":{"minimum":0,"exclusiveMaximum":10}}`, `{"a":-1,"b":10,"c":9.5,"d":1e999}`,
			[]string{"a: must be at least 0", "b: must be less than 10", "d: must be a number of a sensible size"},
		},
		"nested":   {`{"properties":{"a":{"properties":{"b":{"type":"string"}}}}}`, `{"a":{"b":1}}`, []string{"a.b: must be text"}},
		"another":  {`{"minimum":1,"minLength":5}`, `{}`, nil},
		"not JSON": {`{}`, `{`, []string{": is not JSON"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := schema.Parse(c.schema)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range s.Check(c.config) {
				got = append(got, p.Key+": "+p.Message)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			if strings.Contains(strings.ToLower(strings.Join(got, "")), "secret") {
				t.Errorf("a message repeats a value: %q", got)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{`:                      "not JSON",
		`{} {}`:                  "something follows",
		`[]`:                     "the schema's root is neither an object",
		`{"type":"text"}`:        `the schema's /type is "text", which is no type`,
		`{"type":[]}`:            "/type",
		`{"properties":[]}`:      "/properties is not an object",
		`{"properties":{"a":1}}`: "/properties/a is neither",
		`{"required":[1]}`:       "/required is not a list of texts",
		`{"pattern":"("}`:        "/pattern is not a pattern",
		`{"minimum":"1"}`:        "/minimum is not a number",
		`{"enum":{}}`:            "/enum is not a list",
		strings.Repeat(`{"items":`, 40) + `{}` + strings.Repeat(`}`, 40): "deep",
		`"` + strings.Repeat("x", 300<<10) + `"`:                         "bytes",
	} {
		if _, err := schema.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %q", text, err, want)
		}
	}
}

func TestUnchecked(t *testing.T) {
	t.Parallel()
	s, err := schema.Parse(`{"$schema":"x","title":"x","$ref":"file:///etc/passwd","properties":{"a":{"oneOf":[{"type":"string"}]}}}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Unchecked(); !slices.Equal(got, []string{"$ref", "oneOf"}) {
		t.Errorf("unchecked: %q", got)
	}
	if problems := s.Check(`{"a":1}`); problems != nil {
		t.Errorf("what is not checked was refused: %v", problems)
	}
}

// FuzzSchema: a guest's schema never breaks the host, and problems stay within bounds.
func FuzzSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"enum":[1,"x"]}},"required":["b"]}`, `{"a":[1]}`)
	f.Add(`{"items":{"minLength":1e300,"pattern":"(a|b)*"}}`, `["x",{"a":null}]`)
	f.Add(`{"additionalProperties":false}`, `{"":{"":[]}}`)
	f.Fuzz(func(t *testing.T, text, config string) {
		s, err := schema.Parse(text)
		if err != nil {
			return
		}
		if problems := s.Check(config); len(problems) > 32 {
			t.Errorf("%d problems", len(problems))
		}
	})
}
