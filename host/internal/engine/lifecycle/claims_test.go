package lifecycle

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"testing"
)

// TestSweepBeforeTheEndIsNoted has one sandbox's end swept while the owner of a volume has just ended
// and is still listed.
func TestSweepBeforeTheEndIsNoted(t *testing.T) {
	t.Parallel()
	m, err := Open(t.Context(), Options{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	h, err := m.claims.hold([]volumeRequest{{name: "v", kind: "pvc", claim: "data", create: true, endsWith: true}})
	if err == nil {
		err = m.claims.own(h, "one")
	}
	if err != nil {
		t.Fatal(err)
	}
	s := m.newSandbox(record{ID: "one", Claims: h.names})
	m.mu.Lock()
	m.sandboxes["one"] = s
	m.mu.Unlock()
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	m.claims.release(h, true)

	m.claims.sweep()
	if _, err := os.Stat(m.path(volumesDir, "data", claimOwner)); err != nil {
		t.Errorf("while its sandbox lives: %v", err)
	}
	if err := os.Remove(s.dir); err != nil {
		t.Fatal(err)
	}
	m.claims.sweep()
	if _, err := os.Stat(m.path(volumesDir, "data")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after its sandbox: %v, and it was to go", err)
	}
}

// TestVolumeOfARequestThatDied has the engine end at each point between a request for a volume and its sandbox.
func TestVolumeOfARequestThatDied(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := openManager(t, dir)
	ask := func(name string, ends bool) *held {
		t.Helper()
		h, err := m.claims.hold([]volumeRequest{{name: "v", kind: "pvc", claim: name, create: true, endsWith: ends}})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	ask("nameless", true)
	if err := m.claims.own(ask("named", true), "never-made"); err != nil {
		t.Fatal(err)
	}
	ask("half", true)
	if err := os.Remove(m.path(volumesDir, "half", claimData)); err != nil {
		t.Fatal(err)
	}
	ask("taken", true)
	if err := os.Remove(m.path(volumesDir, "taken", claimData)); err != nil {
		t.Fatal(err)
	}
	ask("taken", false) // somebody else makes it what it was not
	ask("kept", false)
	next := openManager(t, dir)
	var got []string
	for _, name := range []string{"nameless", "named", "half", "taken", "kept"} {
		if _, err := os.Stat(next.path(volumesDir, name)); err == nil {
			got = append(got, name)
		}
	}
	if want := []string{"taken", "kept"}; !slices.Equal(got, want) {
		t.Errorf("there are %v, want %v", got, want)
	}
}
