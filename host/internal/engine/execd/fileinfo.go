//go:build unix

package execd

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"time"
)

type fileInfo struct {
	Path       string    `json:"path"`
	Type       string    `json:"type"` // file, directory, symlink or other
	Size       int64     `json:"size"`
	ModifiedAt time.Time `json:"modified_at"`
	CreatedAt  time.Time `json:"created_at"` // the time of the last change of status
	Owner      string    `json:"owner"`
	Group      string    `json:"group"`
	Mode       int       `json:"mode"` // decimal digits that spell the octal mode: 644
}

// describer words file information. It remembers account names for the
// length of one request.
type describer struct {
	users, groups map[uint32]string
}

func newDescriber() *describer {
	return &describer{users: map[uint32]string{}, groups: map[uint32]string{}}
}

func (d *describer) info(path string, st fs.FileInfo) fileInfo {
	fi := fileInfo{Path: path, Type: "other", Size: st.Size(), ModifiedAt: st.ModTime()}
	switch {
	case st.Mode().IsRegular():
		fi.Type = "file"
	case st.IsDir():
		fi.Type = "directory"
	case st.Mode()&fs.ModeSymlink != 0:
		fi.Type = "symlink"
	}
	fi.Mode = modeDigits(st.Mode())
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		fi.CreatedAt = changeTime(sys)
		fi.Owner = cached(d.users, sys.Uid, userName)
		fi.Group = cached(d.groups, sys.Gid, groupName)
	}
	return fi
}

func cached(m map[uint32]string, id uint32, find func(uint32) string) string {
	name, ok := m[id]
	if !ok {
		name = find(id)
		m[id] = name
	}
	return name
}

// modeDigits writes permissions the way the wire does: 0644 is the number 644.
func modeDigits(m fs.FileMode) int {
	n, _ := strconv.Atoi(strconv.FormatUint(uint64(m.Perm()), 8)) // octal digits are decimal digits
	return n
}

// parseMode reads such digits.
func parseMode(digits int) (fs.FileMode, error) {
	n, err := strconv.ParseUint(strconv.Itoa(digits), 8, 32)
	if err != nil || n > 0o7777 {
		return 0, &strconv.NumError{Func: "ParseUint", Num: strconv.Itoa(digits), Err: strconv.ErrSyntax}
	}
	m := fs.FileMode(n & 0o777)
	if n&0o4000 != 0 {
		m |= fs.ModeSetuid
	}
	if n&0o2000 != 0 {
		m |= fs.ModeSetgid
	}
	if n&0o1000 != 0 {
		m |= fs.ModeSticky
	}
	return m, nil
}

func fileError(w http.ResponseWriter, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		writeError(w, http.StatusNotFound, codeFileNotFound, "file not found. "+err.Error())
		return
	}
	writeError(w, http.StatusInternalServerError, codeRuntime, err.Error())
}

// permission is what a request may ask of a file.
type permission struct {
	Owner string `json:"owner,omitempty"`
	Group string `json:"group,omitempty"`
	Mode  int    `json:"mode,omitempty"` // 0 leaves it as it is
}

func (p permission) apply(path string) error {
	uid, gid, err := owner(p.Owner, p.Group)
	if err != nil {
		return err
	}
	if uid >= 0 || gid >= 0 {
		if err := os.Chown(path, uid, gid); err != nil {
			return err
		}
	}
	if p.Mode == 0 {
		return nil
	}
	mode, err := parseMode(p.Mode)
	if err != nil {
		return err
	}
	return os.Chmod(path, mode)
}

func fileOwner(st fs.FileInfo) (uid, gid int, ok bool) {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(sys.Uid), int(sys.Gid), true
}
