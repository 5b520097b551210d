//go:build !race

package sdktest_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/store"
)

// TestTornLine cuts the file of the ledger in C at every kind of place and reads it again: what was
// acknowledged before is whole, and of the rest there is nothing.
func TestTornLine(t *testing.T) {
	t.Parallel()
	wasm := language{name: "c", build: "sdk-c.sh"}.module(t, "examples/ledger-jsonl-c/main.c")
	dir := t.TempDir()
	file := filepath.Join(dir, "ledger.jsonl")
	key := store.Key{Name: "run", SandboxID: "id-1"}

	var sizes []int64 // of the file, after each append
	withLedger(t, wasm, dir, func(ctx context.Context, l store.Ledger) {
		head, err := l.OpenLedger(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		for i := range byte(3) {
			segment := store.Segment{
				Key: key, Epoch: head.Epoch, Previous: head.Hash, ID: [16]byte{i + 1}, Hash: [32]byte{i + 1}, Leaves: make([]byte, 32),
				Entries: []store.Entry{{TS: int64(i), Name: key.Name, SandboxID: key.SandboxID, StepIndex: -1, Event: "e" + string('0'+rune(i)), Payload: []byte(`{}`)}},
			}
			if err := l.Append(ctx, &store.Batch{Segments: []store.Segment{segment}}); err != nil {
				t.Fatal(err)
			}
			head.Hash = segment.Hash[:]
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			sizes = append(sizes, info.Size())
		}
	})
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(whole)
	flipped[sizes[1]+10] ^= 1
	for name, c := range map[string]struct {
		text []byte
		want string
	}{
		"whole":                   {whole, "e0 e1 e2"},
		"one byte missing":        {whole[:sizes[2]-1], "e0 e1"},
		"in the middle of a line": {whole[:sizes[1]+20], "e0 e1"},
		"a flipped bit":           {flipped, "e0 e1"},
		"behind the first":        {whole[:sizes[0]+1], "e0"},
		"other bytes behind":      {append(bytes.Clone(whole), "\x00\x00half a li"...), "e0 e1 e2"},
		"a commit of nobody":      {append(bytes.Clone(whole[:sizes[0]]), whole[sizes[2]-20:]...), "e0"},
	} {
		if err := os.WriteFile(file, c.text, 0o600); err != nil {
			t.Fatal(err)
		}
		withLedger(t, wasm, dir, func(ctx context.Context, l store.Ledger) {
			page, err := l.Read(ctx, key, store.ReadOptions{})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var events []string
			for _, e := range page.Entries {
				events = append(events, e.Event)
			}
			if got := strings.Join(events, " "); got != c.want {
				t.Errorf("%s: found %q, want %q", name, got, c.want)
			}
		})
	}
}

// withLedger opens a host whose ledger is the module, with a directory as /data.
func withLedger(t *testing.T, wasm, dir string, use func(context.Context, store.Ledger)) {
	t.Helper()
	cfg := config.Default()
	p := config.DefaultPlugin("mine")
	p.Source, p.SHA256 = wasm, digest(t, wasm)
	p.Grant.Files = []config.Files{{Host: dir, Guest: "/data", Mode: config.FilesReadWrite}}
	cfg.Plugins = map[string]config.Plugin{"mine": p}
	cfg.Ledger.Plugin = "mine"
	h, err := host.Open(t.Context(), cfg, host.WithLogger(hclog.NewNullLogger()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	use(t.Context(), h.Store())
}
