// Command hazard makes mistakes that a plugin in Go can make: the name of a sandbox says which.
package main

import (
	"os"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

func main() {}

func init() {
	h := &hazard{}
	alineo.Serve(alineo.Plugin{Manifest: abi.Manifest{Name: "hazard", Version: "1.0.0"}, Ledger: h})
}

type hazard struct {
	alineo.Unimplemented

	calls uint64
	seen  map[string]bool // nobody made it
	all   [][]byte
}

func (h *hazard) Open(req *abi.LedgerOpenRequest) (*abi.Head, error) {
	var none *abi.Head
	list := []uint64{1, 2, 3}
	switch req.Key.Name {
	case "panic":
		panic("a mistake")
	case "nil":
		h.calls = none.Epoch
	case "map":
		h.seen["x"] = true
	case "index":
		h.calls = list[len(list)+int(h.calls&1)]
	case "exit":
		os.Exit(3)
	case "stack":
		h.calls = deep(1)
	case "memory":
		for {
			h.all = append(h.all, make([]byte, 1<<16))
		}
	case "deadlock":
		<-make(chan bool)
	case "loop":
		for h.calls < 1<<63 {
			h.calls |= 1
		}
	}
	h.calls++
	return &abi.Head{Epoch: h.calls, LastStep: -1}, nil
}

func deep(n uint64) uint64 { return deep(n+1) + n }
