package main

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/alineo-labs/alineo-host/abi"
)

// reference is a place in a Vault: MOUNT/PATH?version=N#KEY.
type reference struct {
	path    string
	key     string
	version uint64 // 0: the newest
}

func (r reference) String() string { return "vault:" + r.path + "#" + r.key }

// parseReference reads what stands behind "vault:".
func parseReference(text string) (reference, error) {
	bad := func(why string) error {
		return fail(abi.CodeInvalid, "the reference vault:"+text+" "+why+" (vault:MOUNT/PATH#KEY, such as vault:secret/ci/github#token)")
	}
	place, key, ok := cutLast(text, '#')
	if !ok || key == "" {
		return reference{}, bad("names no key behind a #")
	}
	path, query, has := strings.Cut(place, "?")
	ref := reference{path: strings.Trim(path, "/"), key: key}
	if has {
		number, ok := strings.CutPrefix(query, "version=")
		version, err := strconv.ParseUint(number, 10, 32)
		if !ok || err != nil || version == 0 {
			return reference{}, bad("has something else than ?version= and a number behind its path")
		}
		ref.version = version
	}
	mount, rest, _ := strings.Cut(ref.path, "/")
	if mount == "" || rest == "" {
		return reference{}, bad("names no path below a mount")
	}
	for segment := range strings.SplitSeq(ref.path, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return reference{}, bad("has a path with an empty segment, or one that leads elsewhere")
		}
	}
	return ref, nil
}

func cutLast(text string, at byte) (before, after string, found bool) {
	i := strings.LastIndexByte(text, at)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+1:], true
}

// escapePath writes a path for a URL, with its slashes.
func escapePath(path string) string {
	parts := strings.Split(path, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

// pointer is the JSON pointer of the key below base.
func (r reference) pointer(base string) string {
	if strings.HasPrefix(r.key, "/") {
		return base + r.key
	}
	return base + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(r.key)
}
