package config_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/config"
)

func TestPin(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"added behind source": {
			"# mine\n[plugins.mine] # here\n  source = \"./m.wasm\" # a file\n\n[log]\n",
			"# mine\n[plugins.mine] # here\n  source = \"./m.wasm\" # a file\n  sha256 = \"D\"\n\n[log]\n",
		},
		"replaced": {
			"[plugins.mine]\nsha256 = 'old' # pinned\nsource = \"./m.wasm\"\n",
			"[plugins.mine]\nsha256 = \"D\" # pinned\nsource = \"./m.wasm\"\n",
		},
		"last line without an end": {"[plugins.mine]\nsource = 'm'", "[plugins.mine]\nsource = 'm'\nsha256 = \"D\""},
		"line ends of Windows":     {"[plugins.mine]\r\nsource = 'm'\r\n", "[plugins.mine]\r\nsource = 'm'\r\nsha256 = \"D\"\r\n"},
		"byte order mark":          {"\ufeff[plugins.mine]\nsource = 'm'\n", "\ufeff[plugins.mine]\nsource = 'm'\nsha256 = \"D\"\n"},
		"dotted keys":              {"plugins.mine.source = 'm'\n", "plugins.mine.source = 'm'\nplugins.mine.sha256 = \"D\"\n"},
		"dotted below a table":     {"[plugins]\n\"mine\".source = 'm'\n", "[plugins]\n\"mine\".source = 'm'\nmine.sha256 = \"D\"\n"},
		"inline table": {
			"[plugins]\nmine = { source = 'm', config = { a = 1 } }\n",
			"[plugins]\nmine = { source = 'm', sha256 = \"D\", config = { a = 1 } }\n",
		},
		"text of many lines": {
			"[plugins.mine]\nsource = \"\"\"\nm\"\"\"\n[log]\n", "[plugins.mine]\nsource = \"\"\"\nm\"\"\"\nsha256 = \"D\"\n[log]\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := config.Pin([]byte(c.in), "mine", "D")
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			again, err := config.Pin(got, "mine", "D")
			if err != nil || string(again) != c.want {
				t.Errorf("pinned again: %q, %v", again, err)
			}
		})
	}
}

func TestPinRefuses(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"not TOML":  "[plugins.mine\nsource = 'm'\n",
		"no source": "[plugins.mine]\n[plugins.other]\nsource = 'm'\n",
		"nothing":   "",
	} {
		if got, err := config.Pin([]byte(in), "mine", "D"); err == nil {
			t.Errorf("%s: pinned as %q", name, got)
		}
	}
}

func TestPinFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, link := filepath.Join(dir, "real.toml"), filepath.Join(dir, "alineo.toml")
	write(t, filepath.Join(dir, "m.wasm"), "module")
	// What else is wrong with the file doesn't keep it from being pinned.
	write(t, file, "[sandbox]\nurl = 7\n[plugins.mine]\nsource = \"./m.wasm\"\n[plugins.gone]\nsource = \"./gone.wasm\"\n")
	if err := os.Symlink("real.toml", link); err != nil {
		t.Fatal(err)
	}
	const digest = "120970d812836f19888625587a4606a5ad23cef31c8684e601771552548fc6b9" // of "module"
	got, changed, err := config.PinFile(link, "mine")
	if err != nil || !changed || got != digest {
		t.Fatalf("pinned to %q, changed %v: %v", got, changed, err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "source = \"./m.wasm\"\nsha256 = \""+got+"\"\n[plugins.gone]") {
		t.Errorf("the file is now\n%s", text)
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v now (%v)", info, err)
	}
	if _, changed, err = config.PinFile(link, "mine"); err != nil || changed {
		t.Errorf("pinned again: changed %v, %v", changed, err)
	}
	for name, want := range map[string]string{"gone": "gone.wasm", "sqlite": "built in", "none": "has no [plugins.none]"} {
		if _, _, err := config.PinFile(link, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("pinning %q: %v, want a text with %q", name, err, want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func FuzzPin(f *testing.F) {
	f.Add("[plugins.mine]\nsource = 'm'\n")
	f.Add("plugins = { mine = { source = 'm' , } }")
	f.Add("[plugins]\nmine.source = '''m\n'''\n\"mine\".\"sha256\" = 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		pinned, err := config.Pin([]byte(text), "mine", "D")
		if err != nil {
			return
		}
		if again, err := config.Pin(pinned, "mine", "D"); err != nil || !bytes.Equal(again, pinned) {
			t.Errorf("%q was pinned as %q, and again as %q (%v)", text, pinned, again, err)
		}
	})
}
