package lifecycle

import (
	"errors"
	"io/fs"
	"os"
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
