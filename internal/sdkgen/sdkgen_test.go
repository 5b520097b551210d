package main

import (
	"path/filepath"
	"testing"
)

// TestFilesAreCurrent fails when the ABI has changed and the SDKs were not written anew.
func TestFilesAreCurrent(t *testing.T) {
	t.Parallel()
	if err := run(t.Context(), filepath.Join("..", ".."), true); err != nil {
		t.Error(err)
	}
}

func TestSnake(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"SQLExec": "sql_exec", "Head": "head", "SandboxID": "sandbox_id", "ID": "id", "MaxTS": "max_ts", "RunLogAppend": "run_log_append",
	} {
		if got := snake(name); got != want {
			t.Errorf("snake(%q) = %q, want %q", name, got, want)
		}
	}
}
