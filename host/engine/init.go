package engine

import (
	"sync/atomic"

	"github.com/alineo-labs/alineo-host/host/internal/engine/copier"
	"github.com/alineo-labs/alineo-host/host/internal/engine/guest"
	"github.com/alineo-labs/alineo-host/host/internal/engine/reexec"
	"github.com/alineo-labs/alineo-host/host/internal/engine/shim"
)

// initialised is the one thing that this package keeps: that this process
// has been through Init, which Open has no other way to know.
var initialised atomic.Bool

// Init must be called first thing in main (and in TestMain). In a process
// that was started as part of a sandbox it runs that part and never returns;
// in any other it returns at once and does nothing but note that it was
// called.
func Init() {
	initialised.Store(true)
	role, _, ok := reexec.Current()
	if !ok {
		return
	}
	switch role {
	case reexec.Shim:
		shim.Main()
	case reexec.Init:
		guest.Main()
	case reexec.Copy:
		copier.Main()
	}
}
