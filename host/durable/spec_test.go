package durable_test

import (
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/durable"
	"github.com/alineo-labs/alineo-host/host/sandbox"
)

// TestKey holds the encoding: a key that changes leaves a sandbox behind.
func TestKey(t *testing.T) {
	t.Parallel()
	full := durable.Spec{
		ID: "agent", Setup: []string{"apt-get install -y git"}, Tenant: durable.Tenant{UserID: "u", OrgID: "o"},
		Sandbox: sandbox.CreateOptions{
			Image: "debian:13", Resources: sandbox.Resources{CPU: "1", Memory: "1Gi"}, Env: map[string]string{"B": "2", "A": "<1>"},
		},
	}
	other := func(change func(*durable.Spec)) durable.Spec {
		spec := full
		change(&spec)
		return spec
	}
	key := func(thread, run string, spec durable.Spec) string {
		t.Helper()
		key, err := durable.Key("opensandbox", thread, run, spec)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	for _, c := range []struct{ got, want string }{
		{key("t", "", durable.Spec{}), "v1-9392b04e8714135d85578789c1cd7972269fc402902e2c0068957090e5a03545"},
		{key("t", "", full), "v1-73001f47982814e076faab14a652d408fcfea81ed6997864bd0000e12e021286"},
	} {
		if c.got != c.want {
			t.Errorf("the key is %s, not %s", c.got, c.want)
		}
	}
	same := key("t", "run-1", full)
	for name, spec := range map[string]durable.Spec{
		"another run":    full,
		"a name":         other(func(s *durable.Spec) { s.Sandbox.Name = "x" }),
		"a lifetime":     other(func(s *durable.Spec) { s.Sandbox.Lifetime = time.Hour }),
		"an idle time":   other(func(s *durable.Spec) { s.MaxIdle = time.Hour }),
		"an end":         other(func(s *durable.Spec) { s.DestroyOnComplete = true }),
		"an empty thing": other(func(s *durable.Spec) { s.Sandbox.Entrypoint = []string{} }),
	} {
		if got := key("t", "run-2", spec); got != same {
			t.Errorf("%s makes another key", name)
		}
	}
	for name, spec := range map[string]durable.Spec{
		"a definition": other(func(s *durable.Spec) { s.ID = "x" }),
		"an image":     other(func(s *durable.Spec) { s.Sandbox.Image = "x" }),
		"a setup":      other(func(s *durable.Spec) { s.Setup = append(s.Setup[:1:1], "") }),
		"a variable":   other(func(s *durable.Spec) { s.Sandbox.Env = map[string]string{"A": "<1>"} }),
		"a tenant":     other(func(s *durable.Spec) { s.Tenant.UserID = "x" }),
		"no reuse":     other(func(s *durable.Spec) { s.Reuse = durable.ReuseNone }),
	} {
		if got := key("t", "run-1", spec); got == same {
			t.Errorf("%s makes the same key", name)
		}
	}
	none := other(func(s *durable.Spec) { s.Reuse = durable.ReuseNone })
	if key("t", "run-1", none) == key("t", "run-2", none) {
		t.Error("two runs share a sandbox that nobody is to share")
	}
}
