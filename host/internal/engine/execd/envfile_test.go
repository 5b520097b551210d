//go:build unix

package execd

import (
	"maps"
	"testing"
)

func TestEnvFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       map[string]string
	}{
		{"plain", "A=1\n# B=2\n  C = x y \nno variable\nD=", map[string]string{"A": "1", "C": "x y", "D": ""}},
		{"variables", "A=1\nB=$A-${A}\nC=\"<$A>\"\nD='$A'\n", map[string]string{"A": "1", "B": "1-1", "C": "<1>", "D": "$A"}},
		{"single quotes over lines", "A='one\ntwo # no\n'\nB=2", map[string]string{"A": "one\ntwo # no\n", "B": "2"}},
		{"escapes", `A="x\n\t\"\\\$A\z"`, map[string]string{"A": "x\n\t\"\\$A\\z"}},
		{"comments after quotes", "A='1' # one\nB=\"2\" # two\nC=3", map[string]string{"A": "1", "B": "2", "C": "3"}},
		{"open quotes", "A='1\nB=\"2\nC=it's\n", map[string]string{"A": "1\nB=\"2\nC=it"}},
		{"open quotes to the end", "A=\"1\nB=2", map[string]string{"A": "\"1", "B": "2"}},
		{"the last one counts", "A=1\nA=2\r\n", map[string]string{"A": "2"}},
	} {
		got := map[string]string{}
		addVariables(c.text, got)
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	got := map[string]string{}
	addEnvFile("/dev/zero", got) // ends
	addEnvFile("/nowhere", got)
	if len(got) != 0 {
		t.Errorf("nothing became %q", got)
	}
}

func FuzzEnvFile(f *testing.F) {
	f.Add("A=1\nB='x\ny' # c\nC=\"$A\\n\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		got := map[string]string{}
		addVariables(text, got) // must end, and not panic
		for k := range got {
			if len(k) > len(text) {
				t.Errorf("%q has the key %q", text, k)
			}
		}
	})
}
