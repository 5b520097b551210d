//go:build unix

package execd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// User is whom a sandbox's processes run as and whom what is made for them belongs to. A nil User is
// this process's own.
type User struct {
	UID, GID uint32
	// Groups are the groups besides.
	Groups []uint32
	// Home is its directory, "" if it has none.
	Home string
}

// FindUser reads who is meant by a name or number, alone or with a colon and a group's name or number,
// in the accounts of this root file system. As with Docker, a number without an account is in group 0.
func FindUser(text string) (*User, error) {
	name, group, grouped := strings.Cut(text, ":")
	u := &User{}
	a, known := findAccount(func(a account) bool { return a.name == name })
	if n, err := strconv.ParseUint(name, 10, 32); !known && err == nil {
		u.UID = uint32(n)
		a, known = findAccount(func(a account) bool { return a.uid == u.UID })
	} else if !known {
		return nil, fmt.Errorf("user %q: there is no such account in /etc/passwd of the image", name)
	}
	if known {
		u.UID, u.GID, u.Home = a.uid, a.gid, a.home
	}
	switch {
	case grouped:
		_, gid, ok := findGroup(func(n string, _ uint32) bool { return n == group })
		if n, err := strconv.ParseUint(group, 10, 32); !ok && err == nil {
			gid, ok = uint32(n), true
		}
		if !ok {
			return nil, fmt.Errorf("group %q: there is no such group in /etc/group of the image", group)
		}
		u.GID = gid
	case known:
		u.Groups = supplementary(a.name)
	}
	return u, nil
}

// Credential is what a process of u's is started with; nil for this process's own.
func (u *User) Credential() *syscall.Credential {
	if u == nil {
		return nil
	}
	return &syscall.Credential{Uid: u.UID, Gid: u.GID, Groups: u.Groups}
}

// Own gives what is at a path to u.
func (u *User) Own(path string) error {
	if u == nil {
		return nil
	}
	return os.Lchown(path, int(u.UID), int(u.GID))
}

// MakeDir makes a directory and the parents that aren't there, all of them u's.
func (u *User) MakeDir(path string, mode fs.FileMode) error {
	if u == nil {
		return os.MkdirAll(path, mode)
	}
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return nil
	}
	if parent := filepath.Dir(path); parent != path {
		if err := u.MakeDir(parent, mode); err != nil {
			return err
		}
	}
	err := os.Mkdir(path, mode)
	if errors.Is(err, fs.ErrExist) {
		if st, serr := os.Stat(path); serr == nil && st.IsDir() {
			return nil // somebody else was faster
		}
	}
	if err != nil {
		return err
	}
	return u.Own(path)
}
