package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// lists are the files of a sandbox that a user is looked up in.
type lists map[string]string

func (l lists) Download(_ context.Context, path string) (io.ReadCloser, error) {
	text, ok := l[path]
	if !ok {
		return nil, errors.New("no such file")
	}
	return io.NopCloser(strings.NewReader(text)), nil
}

func TestSomeone(t *testing.T) {
	t.Parallel()
	sb := lists{
		"/etc/passwd": "root:x:0:0::/root:/bin/sh\nshort:x\napp:x:1000:1001::/:/bin/sh\nodd:x:many:0:::\n",
		"/etc/group":  "root:x:0:\nstaff:x:50:app",
	}
	for _, c := range []struct{ text, want string }{
		{"app", "1000"},
		{"root", "0"},
		{"7", "7"},
		{"7:8", "7:8"},
		{"app:staff", "1000:50"},
		{"app:9", "1000:9"},
		{"4294967295", "4294967295"},
		{"", "--user \"\" is not USER or USER:GROUP"},
		{"app:", "is not USER or USER:GROUP"},
		{":5", "is not USER or USER:GROUP"},
		{"a:b:c", "is not USER or USER:GROUP"},
		{"short", "/etc/passwd of the sandbox has no \"short\""},
		{"4294967296", "has no \"4294967296\""},
		{"odd", "has no number for \"odd\" but \"many\""},
		{"app:nobody", "--user app:nobody: /etc/group of the sandbox has no \"nobody\""},
	} {
		who, err := parseSomeone(c.text)
		var got string
		if err == nil {
			var uid, gid *uint32
			if uid, gid, err = who.resolve(t.Context(), sb); err == nil {
				got = fmt.Sprint(*uid)
				if gid != nil {
					got += fmt.Sprintf(":%d", *gid)
				}
			}
		}
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) || err == nil && got != c.want {
			t.Errorf("%q: %s, want %s", c.text, got, c.want)
		}
	}
	who := someone{user: "app"}
	if _, _, err := who.resolve(t.Context(), lists{}); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("without a list: %v", err)
	}
}
