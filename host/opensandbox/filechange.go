package opensandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
)

// Move is one file or directory that gets another path.
type Move struct {
	From string `json:"src"`
	To   string `json:"dest"` // must not exist; its parents are made
}

// MoveFiles moves one after the other. When it fails, the earlier ones stay moved. It is sent once.
func (e *Execd) MoveFiles(ctx context.Context, moves ...Move) error {
	call := e.fileCall("move files", e.sandboxID, http.MethodPost, "/files/mv")
	call.idempotent = false // the second time, the source would be gone
	for _, move := range moves {
		if err := checkFiles(move.From, move.To); err != nil {
			return fmt.Errorf("%s: %w", call.name(), err)
		}
	}
	if len(moves) == 0 {
		return nil
	}
	if len(moves) == 1 {
		call.subject = moves[0].From
	}
	return e.change(ctx, call, moves)
}

// Attributes are what can be set on a file or directory. What is zero stays as it is.
type Attributes struct {
	Owner, Group string
	Mode         fs.FileMode // permission bits
}

// MarshalJSON spells the mode as servers do, in decimal digits that read as octal.
func (a Attributes) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Owner string `json:"owner,omitempty"`
		Group string `json:"group,omitempty"`
		Mode  int    `json:"mode,omitempty"`
	}{a.Owner, a.Group, modeDigits(a.Mode)})
}

func modeDigits(mode fs.FileMode) int {
	digits, err := strconv.Atoi(strconv.FormatUint(uint64(mode.Perm()), 8))
	if err != nil {
		return 0 // nine bits always fit
	}
	return digits
}

// SetAttributes changes files' owners and permissions, by path. When it fails, some may have been
// changed.
func (e *Execd) SetAttributes(ctx context.Context, files map[string]Attributes) error {
	return e.changeEach(ctx, "set file attributes", "/files/permissions", files)
}

// MakeDirectories makes directories and their parents. Those that are there stay as they are.
func (e *Execd) MakeDirectories(ctx context.Context, directories map[string]Attributes) error {
	return e.changeEach(ctx, "make directories", "/directories", directories)
}

func (e *Execd) changeEach(ctx context.Context, op, path string, files map[string]Attributes) error {
	call := e.fileCall(op, e.sandboxID, http.MethodPost, path)
	paths := sortedKeys(files)
	if len(paths) == 0 {
		return nil
	}
	if len(paths) == 1 {
		call.subject = paths[0]
	}
	if err := checkFiles(paths...); err != nil {
		return fmt.Errorf("%s: %w", call.name(), err)
	}
	return e.change(ctx, call, files)
}

// Replacement is a text and what takes its place.
type Replacement struct {
	Old string `json:"old"` // not empty; taken literally
	New string `json:"new"`
}

// ReplaceInFiles replaces all occurrences of a text in each file, by path, and returns how many
// there were. Servers that don't count make that nil. It is sent once.
func (e *Execd) ReplaceInFiles(ctx context.Context, files map[string]Replacement) (map[string]int, error) {
	call := e.fileCall("replace in files", e.sandboxID, http.MethodPost, "/files/replace")
	call.idempotent = false // the new text may contain the old one
	call.query = url.Values{"verbose": {"true"}}
	paths := sortedKeys(files)
	if len(paths) == 0 {
		return map[string]int{}, nil
	}
	if len(paths) == 1 {
		call.subject = paths[0]
	}
	if err := checkFiles(paths...); err != nil {
		return nil, fmt.Errorf("%s: %w", call.name(), err)
	}
	for path, r := range files {
		if r.Old == "" {
			return nil, fmt.Errorf("%s: %w: no text to replace in %q", call.name(), ErrInvalid, path)
		}
	}
	var err error
	if call.body, err = json.Marshal(files); err != nil {
		return nil, fmt.Errorf("%s: %w", call.name(), err)
	}
	var reply map[string]struct {
		Count int `json:"replacedCount"`
	}
	if err := e.c.do(ctx, call, &reply); err != nil || reply == nil {
		return nil, err
	}
	counts := make(map[string]int, len(reply))
	for path, r := range reply {
		counts[path] = r.Count
	}
	return counts, nil
}

// RemoveFiles deletes files. Those that are missing are a success; a directory is an error.
func (e *Execd) RemoveFiles(ctx context.Context, paths ...string) error {
	return e.remove(ctx, "remove files", "/files", paths)
}

// RemoveDirectories deletes directories with all that is in them, and files. Those that are missing
// are a success.
func (e *Execd) RemoveDirectories(ctx context.Context, paths ...string) error {
	return e.remove(ctx, "remove directories", "/directories", paths)
}

func (e *Execd) remove(ctx context.Context, op, path string, paths []string) error {
	call := e.fileCall(op, e.sandboxID, http.MethodDelete, path)
	if len(paths) == 0 {
		return nil
	}
	if len(paths) == 1 {
		call.subject = paths[0]
	}
	if err := checkFiles(paths...); err != nil {
		return fmt.Errorf("%s: %w", call.name(), err)
	}
	call.query = url.Values{"path": paths}
	return e.c.do(ctx, call, nil)
}

func (e *Execd) change(ctx context.Context, call call, body any) error {
	var err error
	if call.body, err = json.Marshal(body); err != nil {
		return fmt.Errorf("%s: %w", call.name(), err)
	}
	return e.c.do(ctx, call, nil)
}
