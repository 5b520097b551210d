package plugins

import (
	_ "embed" // the guests are part of the binary
	"fmt"
	"slices"
	"strings"
)

//go:embed broker-vault.wasm
var brokerVault []byte

//go:embed postgres.wasm
var postgres []byte

//go:embed sqlite.wasm
var sqlite []byte

//go:embed SHA256SUMS
var sums string

// Bundle is a guest that the host brings along.
type Bundle struct {
	Name   string
	Wasm   []byte // shared; not to be written to
	SHA256 string // hex, of the build that SHA256SUMS records
}

// Names returns the names of the bundled guests, sorted.
func Names() []string { return []string{"broker-vault", "postgres", "sqlite"} }

// Find returns a bundled guest by name. The digest is the recorded one, not that of the bytes: who
// loads it compares the two.
func Find(name string) (Bundle, error) {
	if !slices.Contains(Names(), name) {
		return Bundle{}, fmt.Errorf("finding bundled plugin %q: there is none of that name (there are: %s)",
			name, strings.Join(Names(), ", "))
	}
	bundle := Bundle{Name: name, Wasm: sqlite}
	switch name {
	case "postgres":
		bundle.Wasm = postgres
	case "broker-vault":
		bundle.Wasm = brokerVault
	}
	for line := range strings.Lines(sums) {
		digest, file, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if ok && file == name+".wasm" {
			bundle.SHA256 = digest
			return bundle, nil
		}
	}
	return Bundle{}, fmt.Errorf("finding bundled plugin %q: SHA256SUMS has no digest of it (run make plugins)", name)
}
