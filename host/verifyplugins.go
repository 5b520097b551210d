package host

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"

	"github.com/alineo-labs/alineo-host/host/config"
)

// PluginCheck is whether a module is the one that was pinned.
type PluginCheck struct {
	Name    string `json:"name"`
	Source  string `json:"source"`          // "bundled" or a path
	Pinned  string `json:"pinned"`          // its digest, in hex
	Found   string `json:"found,omitempty"` // that of the bytes that are there
	OK      bool   `json:"ok"`              // they are the same
	Problem string `json:"problem,omitempty"`
}

// VerifyPlugins holds the modules of all plugins, configured and bundled, against their pins. It loads none.
func VerifyPlugins(cfg *config.Config) []PluginCheck {
	var checks []PluginCheck
	for _, entry := range ListPlugins(cfg) {
		name, p := entry.Name, cfg.Plugins[entry.Name]
		check := PluginCheck{Name: name, Source: cmp.Or(p.Source, "bundled")}
		wasm, digest, err := module(name, p)
		check.Pinned = digest
		if err != nil {
			check.Problem = err.Error()
		} else {
			check.Found = digestOf(wasm)
			check.OK = check.Found == check.Pinned
		}
		switch {
		case err != nil, check.OK:
		case p.Source == "":
			check.Problem = "this binary is damaged: the bundled module is not the one that it was built with"
		case check.Pinned == "":
			check.Problem = "the module is not pinned"
		default:
			check.Problem = "the module is not the one that was pinned"
		}
		checks = append(checks, check)
	}
	return checks
}

func digestOf(wasm []byte) string {
	sum := sha256.Sum256(wasm)
	return hex.EncodeToString(sum[:])
}
