package brokertest

import (
	"slices"

	"github.com/alineo-labs/alineo-host/host/credential"
)

func patchCases() []Case {
	return []Case{
		{"patch/value", "a new value leaves the binding as it is", patchValue},
		{"patch/binding", "a new binding leaves the value as it is", patchBinding},
		{"patch/both", "both can be changed at once", patchBoth},
		{"patch/unbound", "a name that is not bound is ErrNotFound, and is not bound by that", patchUnbound},
		{"patch/live", "when patch returns, no request has the old value", patchLive},
	}
}

func patchValue(e *env) {
	s := e.sidecar(SidecarOptions{})
	e.set(s, "key", "value-1", credential.Substitution("a.example", "/v1", "<KEY>", credential.InQuery))
	for _, next := range awkward()[:4] {
		value := credential.NewSecret(next)
		e.must("changing the value", e.Patch(e.ctx, s.Sandbox(), "key", credential.Change{Value: &value}))
		given, err := s.Request(Request{Host: "a.example", Path: "/v1/x"})
		e.must("asking what a request gets", err)
		e.equal("the text in the place of the placeholder", given.Texts, map[string]string{"<KEY>": next})
	}
}

func patchBinding(e *env) {
	s := e.sidecar(SidecarOptions{})
	e.set(s, "key", "value-1", keyed("a.example"))
	next := credential.Bearer("b.example")
	e.must("changing the binding", e.Patch(e.ctx, s.Sandbox(), "key", credential.Change{Binding: &next}))
	e.header(s, Request{Host: "a.example"}, "X-Api-Key", "")
	e.header(s, Request{Host: "b.example"}, "Authorization", "Bearer value-1")
}

func patchBoth(e *env) {
	s := e.sidecar(SidecarOptions{})
	e.set(s, "key", "value-1", keyed("a.example"))
	next, value := keyed("b.example"), credential.NewSecret("value-2")
	e.must("changing both", e.Patch(e.ctx, s.Sandbox(), "key", credential.Change{Value: &value, Binding: &next}))
	e.header(s, Request{Host: "a.example"}, "X-Api-Key", "")
	e.header(s, Request{Host: "b.example"}, "X-Api-Key", "value-2")
}

func patchUnbound(e *env) {
	s := e.sidecar(SidecarOptions{})
	value := credential.NewSecret("value")
	binding := keyed("a.example")
	change := credential.Change{Value: &value, Binding: &binding}
	e.wantErr("changing before anything was bound", e.Patch(e.ctx, s.Sandbox(), "key", change), credential.ErrNotFound)
	e.set(s, "other", "value-1", keyed("b.example"))
	e.wantErr("changing what is not bound", e.Patch(e.ctx, s.Sandbox(), "key", change), credential.ErrNotFound)
	e.header(s, Request{Host: "a.example"}, "X-Api-Key", "")
	e.equal("what is bound", names(e.list(s)), map[string]bool{"other": true})
}

func patchLive(e *env) {
	s := e.sidecar(SidecarOptions{Lag: lag})
	e.set(s, "key", "value-1", keyed("a.example"))
	value := credential.NewSecret("value-2")
	e.must("changing the value", e.Patch(e.ctx, s.Sandbox(), "key", credential.Change{Value: &value}))
	e.header(s, Request{Host: "a.example"}, "X-Api-Key", "value-2")
}

func removeCases() []Case {
	return []Case{
		{"remove/ends", "what is removed is given to no request, and can be bound again", removeEnds},
		{"remove/unknown", "removing what is not bound is no error", removeUnknown},
		{"remove/others", "removing one leaves the others as they are", removeOthers},
		{"remove/live", "when remove returns, no request has the credential any more", removeLive},
	}
}

func removeEnds(e *env) {
	s := e.sidecar(SidecarOptions{})
	e.set(s, "key", "value-1", keyed("a.example"))
	e.must("removing", e.Remove(e.ctx, s.Sandbox(), "key"))
	e.header(s, Request{Host: "a.example"}, "X-Api-Key", "")
	e.equal("what is bound", len(e.list(s)), 0)
	e.set(s, "key", "value-2", keyed("a.example"))
	e.header(s, Request{Host: "a.example"}, "X-Api-Key", "value-2")
}

func removeUnknown(e *env) {
	s := e.sidecar(SidecarOptions{})
	e.must("removing before anything was bound", e.Remove(e.ctx, s.Sandbox(), "key"))
	e.set(s, "other", "value-1", keyed("a.example"))
	e.must("removing what is not bound", e.Remove(e.ctx, s.Sandbox(), "key"))
	e.must("removing", e.Remove(e.ctx, s.Sandbox(), "other"))
	e.must("removing again", e.Remove(e.ctx, s.Sandbox(), "other"))
}

func removeOthers(e *env) {
	s := e.sidecar(SidecarOptions{})
	e.set(s, "one", "value-1", keyed("a.example"))
	e.set(s, "two", "value-2", keyed("b.example"))
	e.must("removing", e.Remove(e.ctx, s.Sandbox(), "one"))
	e.header(s, Request{Host: "b.example"}, "X-Api-Key", "value-2")
	e.equal("what is bound", names(e.list(s)), map[string]bool{"two": true})
}

func removeLive(e *env) {
	s := e.sidecar(SidecarOptions{Lag: lag})
	e.set(s, "key", "value-1", keyed("a.example"))
	e.must("removing", e.Remove(e.ctx, s.Sandbox(), "key"))
	e.header(s, Request{Host: "a.example"}, "X-Api-Key", "")
}

func listCases() []Case {
	return []Case{
		{"list/empty", "a sandbox in which nothing was bound has an empty list", listEmpty},
		{"list/whole", "a binding is listed as it was set, unless the sidecar can't say all of it", listWhole},
		{"list/order", "the list is in the order of the names", listOrder},
	}
}

func listEmpty(e *env) {
	s := e.sidecar(SidecarOptions{})
	e.equal("what is bound", len(e.list(s)), 0)
}

func listWhole(e *env) {
	s := e.sidecar(SidecarOptions{})
	whole := credential.Binding{
		Schemes: []string{"https", "http"}, Ports: []int{443, 80}, Hosts: []string{"a.example", "*.b.example"}, Methods: []string{"GET", "POST"},
		Paths: []string{"/v1/*", "/exact"}, Injection: credential.Injection{Type: credential.TypeHeader, Header: "X-Api-Key"},
	}
	bindings := map[string]credential.Binding{
		"plain": keyed("plain.example"), "prefix": credential.Header("prefix.example", "/v1", "X-Api-Key"),
		"bearer": credential.Bearer("bearer.example"), "whole": whole,
	}
	for name, b := range bindings {
		e.set(s, name, "value", b)
	}
	e.equal("what is bound", e.list(s), bindings)

	placed := credential.Substitution("placed.example", "/v1", "<KEY>", credential.InQuery)
	e.set(s, "placed", "value", placed)
	got := e.list(s)["placed"]
	if got.Injection.Placeholder == "" { // the sidecar keeps that to itself
		placed.Injection.Placeholder, placed.Injection.In = "", nil
	}
	e.equal("a substitution", got, placed)
}

func listOrder(e *env) {
	s := e.sidecar(SidecarOptions{})
	for _, name := range []string{"m", "a", "z", "B"} {
		e.set(s, name, "value", keyed("h-"+name+".example"))
	}
	list, err := e.ListBindings(e.ctx, s.Sandbox())
	e.must("listing", err)
	if !slices.IsSortedFunc(list, func(a, b credential.Bound) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	}) || len(list) != 4 {
		e.Errorf("the list is %v", list)
	}
}
