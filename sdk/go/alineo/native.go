//go:build !wasip1

package alineo

import "github.com/alineo-labs/alineo-host/abi"

// Host answers what a plugin asks for in a native test.
type Host interface {
	Call(op abi.Op, req []byte) (abi.Code, []byte)
	Log(level Level, line string)
}

var attached Host

// Attach makes h the host of the plugin in this process, for native tests. It is not there in
// WebAssembly.
func Attach(h Host) { attached = h }

func hostCall(op abi.Op, req []byte) (abi.Code, []byte) {
	if attached == nil {
		e := &abi.Error{Code: abi.CodeUnavailable, Message: "no host is attached"}
		return e.Code, e.AppendTo(nil)
	}
	return attached.Call(op, req)
}

func hostLog(level Level, line string) {
	if attached != nil {
		attached.Log(level, line)
	}
}
