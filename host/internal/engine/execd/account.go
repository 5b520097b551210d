//go:build unix

package execd

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Accounts are read from the sandbox's own files and not through os/user:
// that may go to the C library, whose name service modules are the sandbox's
// to replace.

type account struct {
	name     string
	uid, gid uint32
	home     string
}

// eachLine calls f with the fields of each line of a colon-separated file
// until f returns false. A file that isn't there has no lines.
func eachLine(path string, f func(fields []string) bool) {
	file, err := os.Open(path)
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }()
	sc := bufio.NewScanner(file)
	for sc.Scan() {
		if !f(strings.Split(sc.Text(), ":")) {
			return
		}
	}
}

func findAccount(match func(account) bool) (found account, ok bool) {
	eachLine("/etc/passwd", func(f []string) bool {
		if len(f) < 4 {
			return true
		}
		uid, err1 := strconv.ParseUint(f[2], 10, 32)
		gid, err2 := strconv.ParseUint(f[3], 10, 32)
		if err1 != nil || err2 != nil {
			return true
		}
		a := account{name: f[0], uid: uint32(uid), gid: uint32(gid)}
		if len(f) > 5 {
			a.home = f[5]
		}
		if match(a) {
			found, ok = a, true
		}
		return !ok
	})
	return found, ok
}

func findGroup(match func(name string, gid uint32) bool) (name string, gid uint32, ok bool) {
	eachLine("/etc/group", func(f []string) bool {
		if len(f) < 3 {
			return true
		}
		g, err := strconv.ParseUint(f[2], 10, 32)
		if err == nil && match(f[0], uint32(g)) {
			name, gid, ok = f[0], uint32(g), true
		}
		return !ok
	})
	return name, gid, ok
}

// supplementary are the groups that list name as a member.
func supplementary(name string) []uint32 {
	var ids []uint32
	eachLine("/etc/group", func(f []string) bool {
		if len(f) < 4 {
			return true
		}
		for member := range strings.SplitSeq(f[3], ",") {
			if member != name {
				continue
			}
			if g, err := strconv.ParseUint(f[2], 10, 32); err == nil {
				ids = append(ids, uint32(g))
			}
		}
		return true
	})
	return ids
}

// credential is who a command runs as; nil is execd's own user.
func (s *Server) credential(uid, gid *uint32) *syscall.Credential {
	if uid == nil {
		return s.opts.User.Credential()
	}
	c := &syscall.Credential{Uid: *uid, Gid: *uid, NoSetGroups: s.opts.NoGroups}
	if a, ok := findAccount(func(a account) bool { return a.uid == *uid }); ok {
		c.Gid = a.gid
		c.Groups = supplementary(a.name)
	}
	if gid != nil {
		c.Gid = *gid
	}
	return c
}

// owner resolves the names (or numbers) of an upload's owner and group; -1
// leaves one as it is.
func owner(user, group string) (uid, gid int, err error) {
	uid, gid = -1, -1
	if user != "" {
		a, ok := findAccount(func(a account) bool { return a.name == user })
		if n, nerr := strconv.ParseUint(user, 10, 32); !ok && nerr == nil {
			a, ok = account{uid: uint32(n)}, true
		}
		if !ok {
			return 0, 0, fmt.Errorf("user: unknown user %s", user)
		}
		uid = int(a.uid)
	}
	if group != "" {
		_, g, ok := findGroup(func(name string, _ uint32) bool { return name == group })
		if n, nerr := strconv.ParseUint(group, 10, 32); !ok && nerr == nil {
			g, ok = uint32(n), true
		}
		if !ok {
			return 0, 0, fmt.Errorf("group: unknown group %s", group)
		}
		gid = int(g)
	}
	return uid, gid, nil
}

func userName(uid uint32) string {
	if a, ok := findAccount(func(a account) bool { return a.uid == uid }); ok {
		return a.name
	}
	return strconv.FormatUint(uint64(uid), 10)
}

func groupName(gid uint32) string {
	if name, _, ok := findGroup(func(_ string, g uint32) bool { return g == gid }); ok {
		return name
	}
	return strconv.FormatUint(uint64(gid), 10)
}
