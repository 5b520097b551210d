package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxLines is the outer limit of a file that is not a test.
const maxLines = 500

// source is one parsed Go file.
type source struct {
	path string // below the root, with slashes
	text string
	file *ast.File
	fset *token.FileSet
}

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// sources are the module's own Go files for all platforms, without test data and without what a
// generator wrote.
func sources(t *testing.T) []source {
	t.Helper()
	top := root(t)
	var all []source
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			switch name := entry.Name(); {
			case path == top:
			case name == "testdata", name == "bin", strings.HasPrefix(name, "."):
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if ast.IsGenerated(file) {
			return nil
		}
		rel, err := filepath.Rel(top, path)
		all = append(all, source{path: filepath.ToSlash(rel), text: string(text), file: file, fset: fset})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestFilesAreShort(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if lines := strings.Count(s.text, "\n"); lines >= maxLines && !s.isTest() {
			t.Errorf("%s has %d lines, %d are too many", s.path, lines, maxLines)
		}
	}
}

// TestNoLedgerSQL keeps the ledger's tables the guests' own: no text of the host names one.
func TestNoLedgerSQL(t *testing.T) {
	t.Parallel()
	tables := regexp.MustCompile(`alineo_(events|environments|host_)`)
	for _, s := range sources(t) {
		if s.isTest() || !below(s.path, "host") && !below(s.path, "cmd") || below(s.path, "host/store/storetest") {
			continue // the suite stores such a statement as somebody's text
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && tables.MatchString(lit.Value) {
				t.Errorf("%s names a table of the ledger: statements belong to the plugin", s.fset.Position(lit.Pos()))
			}
			return true
		})
	}
}

// TestNoUnfinishedWork finds the marks of work that was left for later.
func TestNoUnfinishedWork(t *testing.T) {
	t.Parallel()
	mark := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b`)
	for _, s := range sources(t) {
		for _, group := range s.file.Comments {
			if mark.MatchString(group.Text()) {
				t.Errorf("%s: finish it or leave it out", s.fset.Position(group.Pos()))
			}
		}
	}
}

// variables that may be there although somebody could write to them, by file and name, and why.
func variables() map[string]string {
	return map[string]string{
		"abi/value.go:Null":                                  "a value that is handed out as a copy, and reads better than Value{}",
		"host/engine/init.go:initialised":                    "whether this process went through Init: nobody could pass it along",
		"host/internal/capability/sqlite/vfs_linux.go:files": "SQLite's list of layers for files is the process's, and it calls ours without saying for whom",

		"internal/pgtest/server.go:one": "a test binary has one server, which its main function ends",
		"sdk/go/alineo/guest.go:guest":  "a guest has one instance, and the functions that it exports have no receiver",
	}
}

// initializers are the files that may have an init function, and why.
func initializers() map[string]string {
	return map[string]string{
		"plugins/postgres/main.go": "the main function of a guest is never run, so this is where it starts",
		"plugins/sqlite/main.go":   "the same",

		"plugins/broker-vault/main.go": "the same",

		"examples/broker-static-go/main.go": "the same",
		"examples/ledger-memory-go/main.go": "the same",

		"plugins/internal/wrongledger/main.go": "the same",
		"plugins/internal/wrongbroker/main.go": "the same",
	}
}

// TestNoGlobals finds package variables that code could write to, and work in init. Allowed are
// sentinel errors, interface assertions, embedded files, compiled patterns, pools of
// buffers, and arrays used as tables.
func TestNoGlobals(t *testing.T) {
	t.Parallel()
	variables, initializers, used := variables(), initializers(), map[string]bool{}
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		for _, decl := range s.file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil || d.Name.Name != "init" {
					continue
				}
				if initializers[s.path] == "" {
					t.Errorf("%s: no work in init", s.fset.Position(d.Pos()))
				}
				used[s.path] = true
			case *ast.GenDecl:
				if d.Tok == token.VAR {
					checkVariables(t, s, d, variables)
				}
			}
		}
	}
	for name := range variables {
		t.Errorf("%s needs no exception any more", name)
	}
	for path := range initializers {
		if !used[path] {
			t.Errorf("%s needs no exception any more", path)
		}
	}
}

func checkVariables(t *testing.T, s source, decl *ast.GenDecl, exceptions map[string]string) {
	t.Helper()
	for _, spec := range decl.Specs {
		value, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for i, name := range value.Names {
			id := s.path + ":" + name.Name
			if exceptions[id] != "" {
				delete(exceptions, id)
				continue
			}
			if name.Name == "_" || embedded(decl.Doc) || embedded(value.Doc) ||
				i < len(value.Values) && constant(name.Name, value.Values[i]) || isArray(value.Type) {
				continue
			}
			t.Errorf("%s: package variable %s: pass it, or make it a constant or a function", s.fset.Position(name.Pos()), name.Name)
		}
	}
}

func embedded(doc *ast.CommentGroup) bool {
	if doc == nil {
		return false
	}
	for _, c := range doc.List {
		if strings.HasPrefix(c.Text, "//go:embed ") {
			return true
		}
	}
	return false
}

// constant says whether a value is one that Go can't write as a constant but nobody changes.
func constant(name string, value ast.Expr) bool {
	sentinel := strings.HasPrefix(name, "Err") || strings.HasPrefix(name, "err")
	switch v := value.(type) {
	case *ast.SelectorExpr: // of another package, given a second name
		return sentinel
	case *ast.CallExpr:
		fun, ok := v.Fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		pkg, ok := fun.X.(*ast.Ident)
		if !ok {
			return false
		}
		switch pkg.Name + "." + fun.Sel.Name {
		case "errors.New", "fmt.Errorf":
			return sentinel
		case "regexp.MustCompile", "strings.NewReplacer":
			return true
		}
	case *ast.CompositeLit:
		if typ, ok := v.Type.(*ast.SelectorExpr); ok {
			pkg, ok := typ.X.(*ast.Ident)
			return ok && pkg.Name == "sync" && typ.Sel.Name == "Pool"
		}
		return isArray(v.Type)
	}
	return false
}

func isArray(typ ast.Expr) bool {
	array, ok := typ.(*ast.ArrayType)
	return ok && array.Len != nil
}
