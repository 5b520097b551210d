package host

import (
	"runtime"
	"runtime/debug"

	"github.com/alineo-labs/alineo-host/plugins"
)

// version is the release that this source tree is, or becomes.
const version = "0.1.0"

// VersionInfo says what a binary is made of.
type VersionInfo struct {
	Host    string          `json:"host"`
	ABI     int             `json:"abi"`
	Go      string          `json:"go"`
	Commit  string          `json:"commit,omitempty"`
	Plugins []BundledPlugin `json:"plugins"`
}

// BundledPlugin is a guest that the binary brings along.
type BundledPlugin struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// Version describes this binary.
func Version() VersionInfo {
	v := VersionInfo{Host: version, ABI: 1, Go: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Commit = s.Value
			}
		}
	}
	for _, name := range plugins.Names() {
		// A bundle without a digest is reported by whoever loads it.
		bundle, _ := plugins.Find(name)
		v.Plugins = append(v.Plugins, BundledPlugin{Name: name, SHA256: bundle.SHA256})
	}
	return v
}
