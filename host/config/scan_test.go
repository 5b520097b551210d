package config

import (
	"testing"

	"github.com/BurntSushi/toml"
)

func TestScanPositions(t *testing.T) {
	t.Parallel()
	text := `# a = 1
top = "x # not a comment"   # a comment
  "quo\u0074ed".'lit.eral' = 'it''s'
[ plugins . sqlite ]
limits = { memory = "64MiB", inner = { deep = 1 } } # tail
path = """
[not.a.table]
no = "key" \""" still"""
list = [ # comment ]
  { in = 1 }, [ "]", ']' ],
]
last = 2026-01-02 03:04:05
[[array.of]]
x = '''
y = 1'''
[array.of.sub]
z = true`
	want := map[string]spot{
		"top":                              {2, 1},
		"quoted":                           {3, 3},
		`quoted."lit.eral"`:                {3, 3},
		"plugins":                          {4, 1},
		"plugins.sqlite":                   {4, 1},
		"plugins.sqlite.limits":            {5, 1},
		"plugins.sqlite.limits.memory":     {5, 12},
		"plugins.sqlite.limits.inner":      {5, 30},
		"plugins.sqlite.limits.inner.deep": {5, 40},
		"plugins.sqlite.path":              {6, 1},
		"plugins.sqlite.list":              {9, 1},
		"plugins.sqlite.list.in":           {10, 5},
		"plugins.sqlite.list.0":            {10, 3},
		"plugins.sqlite.list.1":            {10, 15},
		"plugins.sqlite.last":              {12, 1},
		"array":                            {13, 1},
		"array.of":                         {13, 1},
		"array.of.x":                       {14, 1},
		"array.of.sub":                     {16, 1},
		"array.of.sub.z":                   {17, 1},
	}
	// 'it''s' is no TOML, which leaves one literal after another for the scanner to step over.
	got := scan(text).keys
	for key, at := range want {
		if got[key] != at {
			t.Errorf("%s: at %v, want %v", key, got[key], at)
		}
	}
	for key, at := range got {
		if _, ok := want[key]; !ok {
			t.Errorf("%s at %v is no key", key, at)
		}
	}
}

func TestParseKey(t *testing.T) {
	t.Parallel()
	for _, key := range []toml.Key{{"a"}, {"a", "b-c", "d_1"}, {"a", "b.c", `d"e\`, "", "é"}} {
		if got := parseKey(key.String()); got.String() != key.String() || len(got) != len(key) {
			t.Errorf("%v became %q", key, []string(got))
		}
	}
}

// FuzzScan holds the scanner against the parser: of a valid text it must find every key.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		"a=1", "[a]\nb.c=1", "a={b=[{c=1}]}", "a='''\n'b'''''\nc=1", "a=\"\"\"\"\"\"\nb=1\n",
		"[[a]]\n[[a.b]]\nc=[1,\n2,#x\n]", "\"a b\".'c d' = 1979-05-27T07:32:00Z", "a=\"\\\"#\"#\nb=\"\\\\\"",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		index := scan(text)
		if index.tooDeep != nil {
			return
		}
		var tree map[string]any
		md, err := toml.Decode(text, &tree)
		if err != nil {
			return
		}
		for _, key := range md.Keys() {
			if index.keys[key.String()].line == 0 && len(key) > 0 {
				t.Errorf("%s is not found in %q: %v", key, text, index.keys)
			}
		}
	})
}
