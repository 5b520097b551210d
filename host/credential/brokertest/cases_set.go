package brokertest

import (
	"fmt"
	"strings"
	"sync"

	"github.com/alineo-labs/alineo-host/host/credential"
)

func setCases() []Case {
	return []Case{
		{"set/binds", "a request that matches has the credential, one that doesn't has none", setBinds},
		{"set/replaces", "setting a name again replaces its value and its binding", setReplaces},
		{"set/several", "a second credential leaves the first as it is", setSeveral},
		{"set/live", "when set returns, no matching request goes out without the credential", setLive},
		{"set/values", "a value arrives byte for byte, whatever is in it", setValues},
		{"set/names", "a name may have spaces, quotes and letters of any script", setNames},
		{"set/apart", "a credential of one sandbox is none of another", setApart},
		{"set/concurrent", "credentials that are set at the same time are all bound", setConcurrent},
		{"set/stateless", "another broker finds what this one bound, and can change it", setStateless},
	}
}

func setBinds(e *env) {
	s := e.sidecar(SidecarOptions{})
	e.header(s, Request{Host: "a.example"}, "X-Api-Key", "")
	e.set(s, "key", "value-1", keyed("a.example"))
	e.header(s, Request{Host: "a.example"}, "X-Api-Key", "value-1")
	e.header(s, Request{Host: "b.example"}, "X-Api-Key", "")
	e.header(s, Request{Host: "sub.a.example"}, "X-Api-Key", "")
}

func setReplaces(e *env) {
	s := e.sidecar(SidecarOptions{})
	e.set(s, "key", "value-1", keyed("a.example"))
	e.set(s, "key", "value-2", keyed("b.example"))
	e.header(s, Request{Host: "a.example"}, "X-Api-Key", "")
	e.header(s, Request{Host: "b.example"}, "X-Api-Key", "value-2")
	e.set(s, "key", "value-3", credential.Bearer("b.example"))
	e.header(s, Request{Host: "b.example"}, "X-Api-Key", "")
	e.header(s, Request{Host: "b.example"}, "Authorization", "Bearer value-3")
	e.equal("what is bound", names(e.list(s)), map[string]bool{"key": true})
}

func setSeveral(e *env) {
	s := e.sidecar(SidecarOptions{})
	e.set(s, "one", "value-1", keyed("a.example"))
	e.set(s, "two", "value-2", keyed("b.example"))
	e.set(s, "three", "value-3", keyed("c.example"))
	for host, want := range map[string]string{"a.example": "value-1", "b.example": "value-2", "c.example": "value-3"} {
		e.header(s, Request{Host: host}, "X-Api-Key", want)
	}
}

func setLive(e *env) {
	s := e.sidecar(SidecarOptions{Lag: lag})
	e.set(s, "key", "value-1", keyed("a.example"))
	e.header(s, Request{Host: "a.example"}, "X-Api-Key", "value-1")
	e.set(s, "key", "value-2", keyed("a.example"))
	e.header(s, Request{Host: "a.example"}, "X-Api-Key", "value-2")
}

// awkward are values that an encoding on the way could change.
func awkward() []string {
	return []string{
		`quo"te back\slash`, "tab\tand spaces  ", "Zürich 日本語 🦀", "<script>&amp;</script>", "%41%zz+=&?#", `\u0041\n`, "\u2028\u2029", "{{x}}${y}",
		strings.Repeat("long", 8<<10),
	}
}

func setValues(e *env) {
	s := e.sidecar(SidecarOptions{})
	for i, value := range awkward() {
		host := fmt.Sprintf("h%d.example", i)
		e.set(s, fmt.Sprintf("key-%d", i), value, keyed(host))
		e.header(s, Request{Host: host}, "X-Api-Key", value)
	}
	e.set(s, "lines", "-----BEGIN-----\nYWJj\r\n-----END-----\n", credential.Substitution("lines.example", "", "<KEY>", credential.InBody))
	given, err := s.Request(Request{Host: "lines.example"})
	e.must("asking what a request gets", err)
	e.equal("a value of several lines", given.Texts["<KEY>"], "-----BEGIN-----\nYWJj\r\n-----END-----\n")
}

func setNames(e *env) {
	s := e.sidecar(SidecarOptions{})
	for i, name := range []string{"two words", `a"b\c`, "ключ", "日本語", "a&b=c", "<x>", "name.with_everything-else"} {
		host := fmt.Sprintf("h%d.example", i)
		e.set(s, name, "value", keyed(host))
		e.header(s, Request{Host: host}, "X-Api-Key", "value")
		if _, ok := e.list(s)[name]; !ok {
			e.Errorf("%q is not listed", name)
		}
		e.must("removing "+name, e.Remove(e.ctx, s.Sandbox(), name))
		e.header(s, Request{Host: host}, "X-Api-Key", "")
	}
}

func setApart(e *env) {
	one, two := e.sidecar(SidecarOptions{}), e.sidecar(SidecarOptions{})
	e.set(one, "key", "value-1", keyed("a.example"))
	e.header(two, Request{Host: "a.example"}, "X-Api-Key", "")
	e.set(two, "key", "value-2", keyed("a.example"))
	e.must("removing", e.Remove(e.ctx, two.Sandbox(), "key"))
	e.header(one, Request{Host: "a.example"}, "X-Api-Key", "value-1")
	e.equal("what is bound in the other", len(e.list(two)), 0)
}

func setConcurrent(e *env) {
	const many = 6
	s := e.sidecar(SidecarOptions{})
	e.set(s, "first", "value", keyed("first.example"))
	errs := make([]error, many)
	var wait sync.WaitGroup
	for i := range many {
		wait.Go(func() {
			errs[i] = e.Set(e.ctx, s.Sandbox(), fmt.Sprintf("key-%d", i), credential.NewSecret(fmt.Sprintf("value-%d", i)), keyed(fmt.Sprintf("h%d.example", i)))
		})
	}
	wait.Wait()
	bound := 0
	for i, err := range errs {
		if err != nil {
			// One that lost every race may say so; it must not say that it is bound.
			e.wantErr("setting at the same time", err, credential.ErrConflict)
			continue
		}
		bound++
		e.header(s, Request{Host: fmt.Sprintf("h%d.example", i)}, "X-Api-Key", fmt.Sprintf("value-%d", i))
	}
	if bound == 0 {
		e.Errorf("of %d at the same time none was set", many)
	}
	e.header(s, Request{Host: "first.example"}, "X-Api-Key", "value")
}

func setStateless(e *env) {
	s := e.sidecar(SidecarOptions{})
	e.set(s, "key", "value-1", keyed("a.example"))
	other := e.open()
	list, err := other.ListBindings(e.ctx, s.Sandbox())
	e.must("listing with another broker", err)
	e.equal("bindings that another broker lists", len(list), 1)
	value := credential.NewSecret("value-2")
	e.must("changing with another broker", other.Patch(e.ctx, s.Sandbox(), "key", credential.Change{Value: &value}))
	e.header(s, Request{Host: "a.example"}, "X-Api-Key", "value-2")
	e.must("removing with the first", e.Remove(e.ctx, s.Sandbox(), "key"))
	e.header(s, Request{Host: "a.example"}, "X-Api-Key", "")
}
