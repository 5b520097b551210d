//go:build wasip1 || tinygo.wasm

package alineo

import (
	"unsafe"

	"github.com/alineo-labs/alineo-host/abi"
)

//go:wasmimport alineo_v1 call
//go:noescape
func hostCall(op uint32, ptr unsafe.Pointer, size uint32) int64

//go:wasmimport alineo_v1 take
//go:noescape
func hostTake(ptr unsafe.Pointer)

//go:wasmimport alineo_v1 log
//go:noescape
func hostLog(level uint32, ptr unsafe.Pointer, size uint32)

// platform is the host as a WebAssembly module sees it.
type platform struct{}

func (platform) call(op abi.Op, req []byte) (status abi.Code, size int) {
	r := uint64(hostCall(uint32(op), unsafe.Pointer(unsafe.SliceData(req)), uint32(len(req))))
	return abi.Code(r >> 32), int(uint32(r))
}

func (platform) take(dst []byte) { hostTake(unsafe.Pointer(unsafe.SliceData(dst))) }

func (platform) log(level Level, line string) {
	hostLog(uint32(level), unsafe.Pointer(unsafe.StringData(line)), uint32(len(line)))
}

//go:wasmexport alineo_abi_v1
func exportMarker() {}

//go:wasmexport alineo_buffer
func exportBuffer(size uint32) uint32 {
	return address(guest.buffer(size))
}

//go:wasmexport alineo_call
func exportCall(op, size uint32) uint64 {
	frame := guest.call(abi.Op(op), size)
	return uint64(address(frame))<<32 | uint64(uint32(len(frame)))
}

// address returns where b lies. The garbage collector does not move it, and guest keeps it alive.
func address(b []byte) uint32 { return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }
