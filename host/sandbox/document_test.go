package sandbox_test

import (
	"os"
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
	functions := make(map[string]map[string]bool)
	for _, found := range regexp.MustCompile("`(Example[A-Za-z_]*)`").FindAllStringSubmatch(text, -1) {
		if !shown(t, functions, found[1]) {
			t.Errorf("docs/client.md names %s, which is not there", found[1])
		}
	}
}
