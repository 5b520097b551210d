package main

import (
	"strconv"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

func main() {} // the host calls exports, never main

func init() {
	l := &ledger{sandboxes: map[key]*sandbox{}, environments: map[string]abi.Environment{}}
	alineo.Serve(alineo.Plugin{
		Manifest: abi.Manifest{
			Name: "ledger-memory-go", Version: "1.0.0",
			State: abi.StateVolatile, // kept in memory: one instance, and a crash loses it
		},
		Health: func() (string, error) { return strconv.Itoa(len(l.entries)) + " entries in memory", nil },
		Ledger: l,
	})
}
