package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// fetch prints a page of the server whose address another process writes to a file, as soon as there
// is one: fetch FILE PATH.
func fetch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: fetch FILE PATH")
	}
	const patience, often = time.Minute, 100 * time.Millisecond
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(often) {
		var page string
		if page, err = fetchOnce(ts.MkAbs(args[0]), args[1]); err == nil {
			_, _ = fmt.Fprintln(ts.Stdout(), page)
			return
		}
	}
	ts.Fatalf("nothing came: %v", err)
}

func fetchOnce(file, path string) (string, error) {
	address, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if !strings.HasSuffix(string(address), "\n") {
		return "", fmt.Errorf("the address is not complete: %q", address)
	}
	resp, err := http.Get("http://" + strings.TrimSpace(string(address)) + path) //nolint:noctx // a story has no context
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	page, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, page)
	}
	return string(page), err
}
