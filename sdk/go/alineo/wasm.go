//go:build wasip1

package alineo

import (
	"unsafe"

	"github.com/alineo-labs/alineo-host/abi"
)

//go:wasmimport alineo_v1 call
func importCall(op, ptr, size uint32) int64

//go:wasmimport alineo_v1 take
func importTake(ptr uint32)

//go:wasmimport alineo_v1 log
func importLog(level, ptr, size uint32)

// request and response are the two buffers that the host reads and writes; Go never moves them.
var request, response []byte

//go:wasmexport alineo_abi_v1
func exportMarker() {}

//go:wasmexport alineo_buffer
func exportBuffer(size uint32) uint32 {
	if uint32(cap(request)) < size {
		request = make([]byte, size)
	}
	request = request[:cap(request)]
	return pointer(request)
}

//go:wasmexport alineo_call
func exportCall(op, size uint32) int64 {
	response = Handle(abi.Op(op), request[:size], response[:0])
	return int64(uint64(pointer(response))<<32 | uint64(len(response)))
}

func pointer(b []byte) uint32 {
	return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
}

func hostCall(op abi.Op, req []byte) (abi.Code, []byte) {
	packed := uint64(importCall(uint32(op), pointer(req), uint32(len(req))))
	body := make([]byte, uint32(packed))
	importTake(pointer(body))
	return abi.Code(packed >> 32), body
}

func hostLog(level Level, line string) {
	importLog(uint32(level), uint32(uintptr(unsafe.Pointer(unsafe.StringData(line)))), uint32(len(line)))
}
