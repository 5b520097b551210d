package sandbox_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/sandbox"
)

// The document names every method, and no method or example that is not there.
func TestDocument(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/client.md")
	must(t, err)
	text := string(raw)
	known := make(map[string]bool)
	for _, value := range []any{&sandbox.Client{}, &sandbox.Handle{}, &sandbox.Exec{}, &sandbox.Terminal{}, &sandbox.Session{}, &sandbox.Environment{}, &sandbox.Credentials{}} {
		kind := reflect.TypeOf(value)
		for m := range kind.Methods() {
			method := m.Name
			name := kind.Elem().Name() + "." + method
			known[name] = true
			if _, embedded := reflect.TypeFor[*sandbox.Exec]().MethodByName(method); embedded && strings.HasPrefix(name, "Terminal.") {
				continue
			}
			if !strings.Contains(text, "`"+name+"`") {
				t.Errorf("docs/client.md does not name %s", name)
			}
		}
	}
	for _, found := range regexp.MustCompile("`((?:Client|Handle|Exec|Terminal|Session|Environment|Credentials)\\.[A-Za-z]+)`").FindAllStringSubmatch(text, -1) {
		if !known[found[1]] {
			t.Errorf("docs/client.md names %s, which is not there", found[1])
		}
	}
	functions := exampleFunctions(t)
	for _, found := range regexp.MustCompile("`(Example[A-Za-z_]*)`").FindAllStringSubmatch(text, -1) {
		if functions[found[1]] == "" {
			t.Errorf("docs/client.md names %s, which is not there", found[1])
		}
	}
	checkCounterparts(t, text, functions)
}

// Whatever the reference has is shown by an example that its row names, and that is run.
func checkCounterparts(t *testing.T, text string, functions map[string]string) {
	t.Helper()
	const reference, ours, example, columns = 1, 2, 4, 6
	methods := regexp.MustCompile("`(?:Client|Handle|Exec|Terminal|Session|Environment|Credentials)\\.([A-Za-z]+)`")
	rows := 0
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != columns || !strings.Contains(cells[reference], "`") {
			continue
		}
		rows++
		shown := ""
		for _, name := range regexp.MustCompile("`(Example[A-Za-z_]*)`").FindAllStringSubmatch(cells[example], -1) {
			shown += functions[name[1]]
		}
		if !strings.Contains(shown, "// Output:") {
			t.Errorf("%s: no example that is run", cells[reference])
		}
		counterparts, _, _ := strings.Cut(cells[ours], ";") // what follows is ours alone
		for _, method := range methods.FindAllStringSubmatch(counterparts, -1) {
			if !strings.Contains(shown, "."+method[1]+"(") {
				t.Errorf("%s: no example has %s", cells[reference], method[0])
			}
		}
	}
	const least = 30
	if rows < least {
		t.Errorf("only %d rows were found", rows)
	}
}

// exampleFunctions returns the examples of this package with their text.
func exampleFunctions(t *testing.T) map[string]string {
	t.Helper()
	functions := make(map[string]string)
	files, err := filepath.Glob("example*_test.go")
	must(t, err)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		must(t, err)
		for _, part := range strings.Split(string(raw), "\nfunc ")[1:] {
			name, _, _ := strings.Cut(part, "(")
			functions[name], _, _ = strings.Cut(part, "\n}\n")
		}
	}
	return functions
}
