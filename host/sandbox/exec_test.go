package sandbox_test

import (
	"testing"

	"github.com/alineo-labs/alineo-host/host/sandbox"
)

func TestFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	res := r.run(h, "echo hi; echo err >&2; exit 3")
	t.Logf("%+v", res)
	for _, e := range r.entries(h) {
		t.Log(e.TS, e.StepIndex, e.Event, string(e.Payload))
	}
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Log(r.events(h))
}
