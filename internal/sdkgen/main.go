package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	check := flag.Bool("check", false, "write nothing, say which files are not what would be written")
	root := flag.String("root", ".", "the module's `directory`")
	flag.Parse()
	if err := run(context.Background(), *root, *check); err != nil {
		fmt.Fprintln(os.Stderr, "sdkgen:", err)
		os.Exit(1)
	}
}

// files are what the generator writes, by path below the module.
func files(s *schema) map[string]string {
	return map[string]string{
		"sdk/rust/src/messages.rs": rustMessages(s),
		"sdk/rust/src/ops.rs":      rustOps(s),
		"sdk/c/alineo_messages.h":  cHeader(s),
		"sdk/c/alineo_messages.c":  cSource(s),

		"sdk/assemblyscript/assembly/messages.ts": asMessages(s),
		"sdk/assemblyscript/assembly/ops.ts":      asOps(s),

		"sdk/zig/src/messages.zig": zigMessages(s),

		"host/internal/opjson/columns.go": goColumns(s),
	}
}

func run(ctx context.Context, root string, check bool) error {
	s, err := readSchema(ctx, root)
	if err != nil {
		return err
	}
	stale := 0
	for path, text := range files(s) {
		path = filepath.Join(root, filepath.FromSlash(path))
		if check {
			have, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(have, []byte(text)) {
				fmt.Fprintln(os.Stderr, path, "is not what the generator writes")
				stale++
			}
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // source code is for everybody
			return fmt.Errorf("writing the SDKs: %w", err)
		}
	}
	if stale > 0 {
		return fmt.Errorf("%d files are stale: go run ./internal/sdkgen", stale)
	}
	return nil
}
