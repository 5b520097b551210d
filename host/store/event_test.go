package store_test

import (
	"testing"

	"github.com/alineo-labs/alineo-host/host/store"
)

func TestReserved(t *testing.T) {
	t.Parallel()
	for event, want := range map[string]bool{
		"sandbox.created": true, "exec.": true, "credential.bound": true, "egress.rule_added": true,
		"exec": false, "step.started": false, "": false, "executor.started": false,
	} {
		if got := store.Reserved(event); got != want {
			t.Errorf("Reserved(%q) = %v, want %v", event, got, want)
		}
	}
}

func TestCurrentName(t *testing.T) {
	t.Parallel()
	for event, want := range map[string]string{
		"sandbox_created": "sandbox.created", "snapshot": "sandbox.checkpoint_created",
		"checkpoint_created": "sandbox.checkpoint_created", "exec_event": "exec.output",
		"exec.output": "exec.output", "checkpoint": "checkpoint", "step_start": "step_start", "": "",
	} {
		if got := store.CurrentName(event); got != want {
			t.Errorf("CurrentName(%q) = %q, want %q", event, got, want)
		}
	}
}

func TestSegmentErrorUnwraps(t *testing.T) {
	t.Parallel()
	err := &store.SegmentError{Segment: 2, Entry: -1, Err: store.ErrConflict}
	if got := err.Error(); got != "segment 2: conflict" {
		t.Errorf("Error() = %q", got)
	}
	err.Entry = 3
	if got := err.Error(); got != "segment 2, entry 3: conflict" {
		t.Errorf("Error() = %q", got)
	}
}
