package house_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/alineo-labs/alineo-host"

// layer says what the packages below a path may import of ours. What lies below the path itself is
// always allowed, and so is what lies below an allowed path.
type layer struct {
	path    string
	imports []string
	stdOnly bool // and nothing but the standard library otherwise
}

// layers are matched by the longest path. An import that goes up is a design fault.
func layers() []layer {
	const (
		capability = "host/internal/capability"
		plugin     = "host/internal/plugin"
	)
	return []layer{
		{path: ".", stdOnly: true},
		{path: "abi", stdOnly: true},
		{path: "sdk/go", imports: []string{"abi"}, stdOnly: true},
		{path: "plugins", imports: []string{"abi", "sdk/go"}, stdOnly: true},
		{path: "host/config"},
		{path: "host/credential"},
		{path: "host/store"},
		{path: "host/store/storetest", imports: []string{"host/store", "host/internal/caserun"}},
		{path: "host/credential/brokertest", imports: []string{"host/credential", "host/internal/caserun"}},
		{path: "host/internal/caserun", stdOnly: true},
		{path: "host/opensandbox", imports: []string{"host/internal/jsontext"}},
		{path: "host/internal/jsontext", stdOnly: true},
		{path: "host/internal/span"},
		{path: "host/internal/telemetry"},
		{path: capability, imports: []string{"abi", "host/config", "host/credential"}},
		{path: "host/internal/opjson", imports: []string{"abi", "host/credential", capability}},
		{path: plugin, imports: []string{"abi", capability, "host/internal/span", "host/config"}},
		{path: "host/internal/adapter", imports: []string{"abi", "host/store", "host/credential", capability, plugin}},
		{path: "host/ledger", imports: []string{"host/internal/jsontext", "host/internal/span", "host/store", "host/credential"}},
		{path: "host/sandbox", imports: []string{"host/internal/span", "host/opensandbox", "host/ledger", "host/store", "host/credential"}},
		{path: "host/internal/drivers", imports: []string{
			"host/sandbox", "host/opensandbox", "host/credential", "host/store", "host/internal/engine/unixsock",
		}},
		{path: "host/internal/journal", stdOnly: true},
		{path: "host/durable", imports: []string{"host/sandbox", "host/opensandbox", "host/store", "host/internal/journal"}},
		{path: "host/durable/durabletest", imports: []string{"host/durable", "host/store", "host/internal/journal"}},
		{path: "host/serve", imports: []string{
			"host/durable", "host/store", "host/sandbox", "host/opensandbox", "host/internal/engine/unixsock",
		}},
		{path: "host/engine", imports: []string{"host/opensandbox", "host/internal/engine"}},
		{path: "host/internal/engine", imports: []string{"host/opensandbox"}},
		{path: "host", imports: []string{"plugins", "abi"}},
		{path: "cmd", imports: []string{"abi", "host", "internal/scaffold"}}, // abi: plugin inspect prints a manifest
		{path: "examples", imports: []string{"abi", "sdk/go", "host"}},
		{path: "internal/benchratio", stdOnly: true},
		{path: "internal/house"},
		{path: "internal/nativebroker", imports: []string{"host/credential"}},
		{path: "internal/baotest"},
		{path: "internal/nativeledger", imports: []string{"host/store"}},
		{path: "internal/officialclients", imports: []string{"host/engine"}},
		{path: "internal/pgtest"},
		{path: "internal/scaffold", imports: []string{"."}},
		{path: "internal/sdkgen"},
		{path: "internal/sdktest", imports: []string{"host", "examples"}},
		{path: "internal/testcache", stdOnly: true},
		{path: "internal/testrun", stdOnly: true},
	}
}

func layerOf(pkg string) (layer, bool) {
	var found layer
	for _, l := range layers() {
		if below(pkg, l.path) && len(l.path) > len(found.path) {
			found = l
		}
	}
	return found, found.path != ""
}

func below(pkg, path string) bool { return pkg == path || strings.HasPrefix(pkg, path+"/") }

func (l layer) allows(imported string) bool {
	return slices.ContainsFunc(append(l.imports, l.path), func(path string) bool { return below(imported, path) })
}

// testOnly are packages of others that must not become a part of the binary.
func testOnly(pkg string) bool {
	return slices.ContainsFunc([]string{
		"go.uber.org/goleak", "github.com/rogpeppe/go-internal", "github.com/bufbuild/protocompile", "google.golang.org/protobuf",
	}, func(path string) bool { return below(pkg, path) })
}

// goPackage is what `go list` says of a package.
type goPackage struct {
	ImportPath                         string
	Name                               string
	Dir                                string
	Standard                           bool
	Imports, TestImports, XTestImports []string
}

// rel is the path below the module.
func (p goPackage) rel() string {
	rel, _ := ours(p.ImportPath)
	return rel
}

// ours returns the path of a package below the module, "." for the module's root.
func ours(path string) (rel string, ok bool) {
	if path == module {
		return ".", true
	}
	return strings.CutPrefix(path, module+"/")
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// platforms that the module is built for.
func platforms() [][2]string {
	return [][2]string{{"linux", "amd64"}, {"darwin", "arm64"}, {"wasip1", "wasm"}}
}

// list asks for all packages as one platform sees them.
func list(t *testing.T, goos, goarch string) []goPackage {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e",
		"-json=ImportPath,Name,Dir,Standard,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = root(t)
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var packages []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	slices.SortFunc(packages, func(a, b goPackage) int { return cmp.Compare(a.ImportPath, b.ImportPath) })
	return packages
}

func TestLayers(t *testing.T) {
	t.Parallel()
	for _, platform := range platforms() {
		t.Run(platform[0], func(t *testing.T) {
			t.Parallel()
			for _, p := range list(t, platform[0], platform[1]) {
				checkImports(t, p)
			}
		})
	}
}

func checkImports(t *testing.T, p goPackage) {
	t.Helper()
	l, ok := layerOf(p.rel())
	if !ok {
		t.Errorf("%s is in no layer: give it one in layers()", p.rel())
		return
	}
	for _, path := range p.Imports {
		imported, isOurs := ours(path)
		switch {
		case isOurs && !l.allows(imported):
			t.Errorf("%s must not import %s (allowed: %s)", p.rel(), imported, cmp.Or(strings.Join(l.imports, ", "), "nothing of ours"))
		case testOnly(path) && p.rel() != "internal/sdkgen": // which is in no binary that users run
			t.Errorf("%s must not import %s outside its tests", p.rel(), path)
		case !isOurs && l.stdOnly && strings.Contains(path, "."):
			t.Errorf("%s must not import %s: it keeps to the standard library", p.rel(), path)
		}
	}
	if below(p.rel(), "cmd") {
		return
	}
	for _, path := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
		if imported, isOurs := ours(path); isOurs && below(imported, "cmd") {
			t.Errorf("%s must not import %s: nothing imports a command", p.rel(), imported)
		}
	}
}

// TestDocs wants a doc.go in each package, whose line "imports:" names what of ours the package
// imports: a path covers what lies below it.
func TestDocs(t *testing.T) {
	t.Parallel()
	imports := map[string][]string{} // of ours, by package, over all platforms
	dirs := map[string]string{}
	for _, platform := range platforms() {
		for _, p := range list(t, platform[0], platform[1]) {
			dirs[p.rel()] = p.Dir
			for _, full := range p.Imports {
				if imported, isOurs := ours(full); isOurs {
					imports[p.rel()] = append(imports[p.rel()], imported)
				}
			}
			switch filepath.Base(p.rel()) {
			case "util", "utils", "common", "helper", "helpers", "misc", "shared", "base", "lib":
				t.Errorf("%s: a package is named after what it is about", p.rel())
			}
		}
	}
	for pkg, dir := range dirs {
		text, err := os.ReadFile(filepath.Join(dir, "doc.go"))
		if err != nil {
			t.Errorf("%s has no doc.go", pkg)
			continue
		}
		declared, ok := declaredImports(string(text))
		if !ok {
			t.Errorf(`%s: doc.go has no line "// imports: …"`, pkg)
			continue
		}
		slices.Sort(imports[pkg])
		for _, imported := range slices.Compact(imports[pkg]) {
			if !declares(pkg, declared, imported) {
				t.Errorf("%s imports %s, which the line imports: of its doc.go does not name", pkg, imported)
			}
		}
	}
}

// declares says whether one of the words names a package: by its path, by a path around it, by its
// last part when it is a neighbour, or as one of everything.
func declares(pkg string, words []string, imported string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		return word == "everything" || below(imported, word) || below(imported, path.Dir(pkg)+"/"+word) ||
			below(imported, pkg)
	})
}

// declaredImports are the words after "imports:", which may go on over lines up to a full stop.
func declaredImports(text string) ([]string, bool) {
	_, rest, ok := strings.Cut(text, "\n// imports: ")
	if !ok {
		return nil, false
	}
	rest, _, _ = strings.Cut(strings.ReplaceAll(rest, "\n//", ""), "\npackage ")
	words := strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune(" ,;:()`[]\n", r) || r == '·' })
	for i := range words {
		if words[i] != "." { // the module's root
			words[i] = strings.TrimSuffix(strings.TrimRight(words[i], "."), "/")
		}
	}
	return words, true
}
