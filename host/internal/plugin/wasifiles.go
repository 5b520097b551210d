package plugin

import (
	"context"

	"github.com/tetratelabs/wazero/api"

	"github.com/alineo-labs/alineo-host/host/internal/plugin/guestfs"
)

// Files is a directory that a plugin is granted.
type Files struct {
	Guest string // the path by which the guest knows it
	Dir   *guestfs.Dir
}

// firstFile is the lowest number of a file: below are the standard streams.
const firstFile = 3

// Bounds of what one call of a guest may ask of files.
const (
	maxPath    = 4096     // bytes of a path
	maxReaddir = 64 << 10 // bytes of names at once
)

// fileWASI are the engine's functions about files, each with the places of its parameters that are bounded.
// A function of files that is not here answers that there is no such file.
func fileWASI() map[string]fileBounds {
	return map[string]fileBounds{
		"fd_close": {}, "fd_seek": {}, "fd_tell": {}, "fd_sync": {}, "fd_datasync": {}, "fd_filestat_set_size": {},
		"fd_prestat_get": {}, "fd_prestat_dir_name": {paths: []int{2}},
		"fd_read": {buffers: 2}, "fd_write": {buffers: 2}, "fd_pread": {buffers: 2}, "fd_pwrite": {buffers: 2},
		"fd_readdir":            {names: 2},
		"path_open":             {paths: []int{3}},
		"path_filestat_get":     {paths: []int{3}},
		"path_create_directory": {paths: []int{2}}, "path_remove_directory": {paths: []int{2}}, "path_unlink_file": {paths: []int{2}},
		"path_rename": {paths: []int{2, 5}},
	}
}

// fileBounds are places of parameters, 0 for none: the first one is always a file.
type fileBounds struct {
	paths   []int // lengths of paths
	buffers int   // the number of buffers
	names   int   // the room for names
}

// bound makes one of the engine's functions one that takes a bounded time, if it is one for files.
func bound(name string, f api.FunctionDefinition) (api.GoModuleFunction, bool) {
	bounds, ok := fileWASI()[name]
	whole, isGo := f.GoFunction().(api.GoModuleFunction)
	if !ok || !isGo {
		return nil, false
	}
	return api.GoModuleFunc(func(ctx context.Context, m api.Module, stack []uint64) {
		c := current(ctx)
		c.check()
		if fd := uint32(stack[0]); len(c.inst.plugin.files) == 0 || fd < firstFile {
			stack[0] = wasiBadf
			return
		}
		if !bounds.hold(stack) {
			stack[0] = wasiInval
			return
		}
		whole.Call(ctx, m, stack)
		c.check()
	}), true
}

func (b fileBounds) hold(stack []uint64) bool {
	for _, at := range b.paths {
		if length := uint32(stack[at]); length > maxPath {
			return false
		}
	}
	if b.buffers > 0 {
		if count := uint32(stack[b.buffers]); count > maxBuffers {
			return false
		}
	}
	if b.names > 0 {
		stack[b.names] = uint64(min(uint32(stack[b.names]), maxReaddir))
	}
	return true
}
