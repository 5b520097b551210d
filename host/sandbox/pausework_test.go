package sandbox_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
)

// A command in the foreground, a terminal and one in the background stand still while the sandbox is
// paused for longer than a connection may be silent, and go on without loss: also when somebody else
// pauses it, of whom this client doesn't know. A command that is sent meanwhile runs afterwards.
func TestPauseDuringWork(t *testing.T) {
	t.Parallel()
	const idle = 1500 * time.Millisecond
	for _, elsewhere := range []bool{false, true} {
		t.Run("elsewhere "+strconv.FormatBool(elsewhere), func(t *testing.T) {
			r := newRig(t, func(o *sandbox.Options) {
				wire, err := opensandbox.New(opensandbox.Options{
					BaseURL: shared.BaseURL(), Transport: shared.Transport(), IdleTimeout: idle, FirstByteTimeout: idle, Patience: idle,
				})
				must(t, err)
				o.Wire = wire
			})
			h := r.create(sandbox.CreateOptions{})
			const command = "i=0; while [ $i -lt 40 ]; do echo $i; i=$((i+1)); sleep 0.03; done"
			var all []*sandbox.Exec
			start := func(background bool) {
				exec, err := h.Exec(t.Context(), command, sandbox.ExecOptions{Background: background})
				must(t, err)
				all = append(all, exec)
			}
			start(false)
			start(true)
			all = append(all, r.interactive(h, command, sandbox.TerminalOptions{}).Exec)
			for _, exec := range all {
				readUntil(t, exec.Stdout(), "3")
			}
			other := wireClient(shared.Transport())
			if elsewhere {
				// On a busy machine the engine may not get a sandbox to stand still in time.
				eventually(t, "the pause", func() bool { return other.PauseSandbox(t.Context(), h.ID()) == nil })
				eventually(t, "what is paused", func() bool {
					box, err := other.GetSandbox(t.Context(), h.ID())
					return err == nil && box.Status.State == opensandbox.StatePaused
				})
				start(false)
			} else {
				eventually(t, "the pause", func() bool { return h.Pause(t.Context()) == nil })
			}
			<-time.After(3 * idle) // what is awaited is that nothing happens
			if elsewhere {
				must(t, other.ResumeSandbox(t.Context(), h.ID()))
			} else {
				must(t, h.Unpause(t.Context()))
			}
			var want strings.Builder
			for i := range 40 {
				want.WriteString(strconv.Itoa(i) + "\n")
			}
			for _, exec := range all {
				result, err := exec.Wait()
				if err != nil || result.ExitCode != 0 || strings.ReplaceAll(result.Stdout, "\r", "") != want.String() {
					t.Errorf("exec %d: %+v, %v", exec.Seq(), result, err)
				}
			}
		})
	}
}
