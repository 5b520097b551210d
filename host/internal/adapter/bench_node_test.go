package adapter_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// node is a Node program that appends to a file of its own with better-sqlite3.
type node struct {
	in  io.Writer
	out *bufio.Reader
}

// newNode starts bench/better-sqlite3.mjs; nil, loudly, when `make bench-node` has not installed what
// it needs.
func newNode(b *testing.B, synchronous string) *node {
	b.Helper()
	root := filepath.Join("..", "..", "..")
	modules, err := filepath.Abs(filepath.Join(root, "bin", "bench-node"))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(modules, "node_modules", "better-sqlite3")); err != nil {
		b.Log("NOT COMPARED with better-sqlite3: make bench-node installs it")
		return nil
	}
	statements, err := json.Marshal(map[string]any{
		"schema": []string{liteEvents, liteIndex, liteHeads, liteSegments}, "head": liteHead,
		"insert": liteInsert, "advance": liteAdvance, "segment": liteSegmentPlain,
		"name": benchKey.Name, "sandbox": benchKey.SandboxID, "payload": string(payload),
	})
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), "node", filepath.Join(root, "bench", "better-sqlite3.mjs"),
		modules, filepath.Join(b.TempDir(), "node.db"), synchronous, string(statements))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			b.Logf("node ended with %v", err)
		}
	})
	return &node{in, bufio.NewReader(out)}
}

// run appends count batches of n events and returns how long that took, nanoseconds.
func (w *node) run(b *testing.B, n, count int, bare bool) float64 {
	b.Helper()
	if _, err := fmt.Fprintf(w.in, `{"n":%d,"count":%d,"bare":%t}`+"\n", n, count, bare); err != nil {
		b.Fatal(err)
	}
	line, err := w.out.ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	took, err := strconv.ParseFloat(strings.TrimSpace(line), 64)
	if err != nil {
		b.Fatal(err)
	}
	return took
}
