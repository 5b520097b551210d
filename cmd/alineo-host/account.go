package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxAccounts bounds what is read of a sandbox's list of accounts.
const maxAccounts = 1 << 20

// someone is whom a command is to run as: USER[:GROUP], each a name or a number.
type someone struct{ user, group string }

// parseSomeone reads what --user says.
func parseSomeone(text string) (someone, error) {
	user, group, both := strings.Cut(text, ":")
	if user == "" || both && group == "" || strings.ContainsAny(text, "\n\x00") || strings.Contains(group, ":") {
		return someone{}, fmt.Errorf("--user %q is not USER or USER:GROUP, names or numbers, such as app or 1000:1000", text)
	}
	return someone{user, group}, nil
}

// downloader reads a sandbox's files.
type downloader interface {
	Download(ctx context.Context, path string) (io.ReadCloser, error)
}

// resolve finds the numbers, in the sandbox's own lists of accounts and groups where there are names.
func (s someone) resolve(ctx context.Context, sb downloader) (uid, gid *uint32, err error) {
	if uid, err = parseID(s.user); err != nil {
		found, lerr := lookUp(ctx, sb, "/etc/passwd", s.user)
		if lerr != nil {
			return nil, nil, fmt.Errorf("--user %s: %w", s.user, lerr)
		}
		uid = found
	}
	if s.group == "" {
		return uid, nil, nil
	}
	if gid, err = parseID(s.group); err != nil {
		if gid, err = lookUp(ctx, sb, "/etc/group", s.group); err != nil {
			return nil, nil, fmt.Errorf("--user %s:%s: %w", s.user, s.group, err)
		}
	}
	return uid, gid, nil
}

// lookUp finds the number, the third field, of a name in a file of the sandbox's.
func lookUp(ctx context.Context, sb downloader, path, name string) (_ *uint32, err error) {
	body, err := sb.Download(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("looking for %q: %w", name, err)
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	text, err := io.ReadAll(io.LimitReader(body, maxAccounts))
	if err != nil {
		return nil, fmt.Errorf("looking for %q in %s: %w", name, path, err)
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		fields := strings.Split(line, ":")
		if len(fields) < 3 || fields[0] != name {
			continue
		}
		id, err := strconv.ParseUint(fields[2], 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%s of the sandbox has no number for %q but %q", path, name, fields[2])
		}
		n := uint32(id)
		return &n, nil
	}
	return nil, fmt.Errorf("%s of the sandbox has no %q (a number will do)", path, name)
}
