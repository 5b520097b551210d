package opensandbox

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Types of files.
const (
	FileTypeFile      = "file"
	FileTypeDirectory = "directory"
	FileTypeSymlink   = "symlink"
	FileTypeOther     = "other"
)

// FileInfo describes a file in a sandbox. A symbolic link describes itself.
type FileInfo struct {
	Path       string `json:"path"`
	Type       string `json:"type"` // one of the FileType constants, or a later server's own
	Size       int64  `json:"size"` // bytes
	ModifiedAt Time   `json:"modified_at"`
	CreatedAt  Time   `json:"created_at"`
	Owner      string `json:"owner"`
	Group      string `json:"group"`
	// Mode is decimal digits that spell octal: 644 is rw-r--r--. See [FileInfo.Perm].
	Mode int `json:"mode"`
}

// Perm returns the permission bits.
func (f FileInfo) Perm() fs.FileMode {
	mode, err := strconv.ParseUint(strconv.Itoa(f.Mode), 8, 12)
	if err != nil {
		return 0
	}
	return fs.FileMode(mode) & fs.ModePerm
}

// Stat describes one file.
func (e *Execd) Stat(ctx context.Context, path string) (FileInfo, error) {
	infos, err := e.stat(ctx, path, path)
	if err != nil {
		return FileInfo{}, err
	}
	return infos[path], nil
}

// StatAll describes files, by the paths as they are given. One that is missing makes the whole call
// ErrNotFound.
func (e *Execd) StatAll(ctx context.Context, paths ...string) (map[string]FileInfo, error) {
	if len(paths) == 0 {
		return map[string]FileInfo{}, nil
	}
	return e.stat(ctx, e.sandboxID, paths...)
}

func (e *Execd) stat(ctx context.Context, subject string, paths ...string) (map[string]FileInfo, error) {
	call := e.fileCall("stat file", subject, http.MethodGet, "/files/info")
	if err := checkFiles(paths...); err != nil {
		return nil, fmt.Errorf("%s: %w", call.name(), err)
	}
	call.query = url.Values{"path": paths}
	var infos map[string]FileInfo
	if err := e.c.do(ctx, call, &infos); err != nil {
		return nil, err
	}
	for _, path := range paths {
		if _, ok := infos[path]; !ok { // keyed as it was asked
			return nil, fmt.Errorf("%s: the reply does not name %q", call.name(), path)
		}
	}
	return infos, nil
}

// Search returns the files below path whose base name matches a pattern such as *.txt or {a,b}?;
// an empty one matches all. Directories are not among them.
func (e *Execd) Search(ctx context.Context, path, pattern string) ([]FileInfo, error) {
	call := e.fileCall("search files", path, http.MethodGet, "/files/search")
	call.query = url.Values{"path": {path}}
	if pattern != "" {
		call.query.Set("pattern", pattern)
	}
	if strings.Contains(pattern, "/") {
		return nil, fmt.Errorf("%s: %w: the pattern %q has a /, and only base names are matched", call.name(), ErrInvalid, pattern)
	}
	return e.infos(ctx, call, path)
}

// ListDirectory returns what is in a directory and, with a depth above 1, in those below it: each
// before what is in it, in the order of their names.
func (e *Execd) ListDirectory(ctx context.Context, path string, depth int) ([]FileInfo, error) {
	call := e.fileCall("list directory", path, http.MethodGet, "/directories/list")
	call.query = url.Values{"path": {path}, "depth": {strconv.Itoa(depth)}}
	if depth < 1 {
		return nil, fmt.Errorf("%s: %w: a depth of %d", call.name(), ErrInvalid, depth)
	}
	return e.infos(ctx, call, path)
}

func (e *Execd) infos(ctx context.Context, call call, path string) ([]FileInfo, error) {
	if err := checkFiles(path); err != nil {
		return nil, fmt.Errorf("%s: %w", call.name(), err)
	}
	var infos []FileInfo
	if err := e.c.do(ctx, call, &infos); err != nil {
		return nil, err
	}
	return infos, nil
}

// fileCall is a call that may be repeated.
func (e *Execd) fileCall(op, subject, method, path string) call {
	return call{op: op, subject: subject, to: e.target(), method: method, path: path, idempotent: true}
}

func checkFiles(paths ...string) error {
	for _, path := range paths {
		if err := checkFile(path); err != nil {
			return err
		}
	}
	return nil
}

func checkFile(path string) error {
	if path == "" {
		return fmt.Errorf("%w: it is empty", ErrPath)
	}
	return checkPath(path)
}

// checkPath refuses what execd would not take literally: it expands variables in every path, so a
// file with a dollar sign in its name can't be reached through it.
func checkPath(path string) error {
	if strings.ContainsRune(path, '$') {
		return fmt.Errorf("%w: %q: execd would expand the $ as a variable", ErrPath, path)
	}
	if strings.ContainsRune(path, 0) {
		return fmt.Errorf("%w: %q has a zero byte", ErrPath, path)
	}
	return nil
}
