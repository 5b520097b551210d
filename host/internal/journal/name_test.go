package journal_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/alineo-labs/alineo-host/host/internal/journal"
)

func TestEncodeName(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"run-1":                  "run-1",
		"a.b-C9":                 "a.b-C9",
		"a_b":                    "a_5fb",
		"a/b":                    "a_2fb",
		"é":                      "_c3_a9",
		"..":                     "..",
		"nul":                    "_6e_75_6c",
		"CoM1":                   "_43_6f_4d_31",
		"COM0":                   "COM0",
		strings.Repeat("a", 200): strings.Repeat("a", 200),
		strings.Repeat("a", 201): strings.Repeat("a", 183) + "-" + "2bfc0e4f3e5d3ad5",
	} {
		got, err := journal.EncodeName(id)
		if len(id) > 200 { // the digest is what it is
			if len(got) != 200 || !strings.HasPrefix(got, want[:184]) {
				t.Errorf("%q is %q", id, got)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("%q is %q, not %q: %v", id, got, want, err)
		}
	}
	if _, err := journal.EncodeName(""); !errors.Is(err, journal.ErrNoID) {
		t.Errorf("no id: %v", err)
	}
}

func TestDecodeFile(t *testing.T) {
	t.Parallel()
	long, err := journal.EncodeName(strings.Repeat("x", 300))
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]error{
		"run-1.ndjson":                    nil,
		"run-1.err":                       nil,
		"a_2Fb.err":                       nil,
		"run-1":                           journal.ErrMalformed,
		".ndjson":                         journal.ErrMalformed,
		"a_2.ndjson":                      journal.ErrMalformed,
		"a_zz.ndjson":                     journal.ErrMalformed,
		"a b.ndjson":                      journal.ErrMalformed,
		"_ff.ndjson":                      journal.ErrMalformed,
		long + ".ndjson":                  journal.ErrTruncated,
		strings.Repeat("x", 201) + ".err": journal.ErrTruncated,
	} {
		if _, err := journal.DecodeFile(file); !errors.Is(err, want) || (want == nil) != (err == nil) {
			t.Errorf("%q: %v, not %v", file, err, want)
		}
	}
}

// FuzzName holds that no id leads out of the directory, that no two share a file, and that a name that says its id
// says the right one.
func FuzzName(f *testing.F) {
	for _, id := range []string{"run-1", "a/../b", "COM1", "com1", strings.Repeat("é", 100), "_", "\x00"} {
		f.Add(id, id+"x")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		one, err := journal.EncodeName(a)
		if (err != nil) != (a == "") {
			t.Fatalf("%q: %v", a, err)
		}
		if err != nil {
			return
		}
		if len(one) > 200 || strings.ContainsAny(one, "/\\ '\"$`\n\x00") {
			t.Fatalf("%q is %q", a, one)
		}
		if two, err := journal.EncodeName(b); err == nil && a != b && one == two {
			t.Fatalf("%q and %q are both %q", a, b, one)
		}
		id, err := journal.DecodeFile(one + ".ndjson")
		if err == nil && id != a {
			t.Fatalf("%q comes back as %q", a, id)
		}
		if err != nil && utf8.ValidString(a) && !errors.Is(err, journal.ErrTruncated) {
			t.Fatalf("%q: %v", a, err)
		}
	})
}

// FuzzDecodeFile holds that any name in the directory is read without harm.
func FuzzDecodeFile(f *testing.F) {
	for _, file := range []string{"run-1.ndjson", "_2f.err", "_", "x", ".err"} {
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file string) {
		id, err := journal.DecodeFile(file)
		if err == nil && (id == "" || !utf8.ValidString(id)) {
			t.Fatalf("%q belongs to %q", file, id)
		}
	})
}
