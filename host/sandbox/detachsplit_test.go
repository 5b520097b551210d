package sandbox_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/sandbox"
)

// What a value is split by when it is left in the middle of it: the number of bytes before.
func splits() []int { return []int{2, 4, 16, len(canary) - 1} }

// A value of which a command printed one part before it was left running, and the other one after, is in
// no ledger, and what is printed around it is.
func TestDetachedCommandSplitsValue(t *testing.T) {
	t.Parallel()
	r, _ := knowing(t)
	h := r.create(sandbox.CreateOptions{Env: map[string]string{"KEY": canary}})
	for i, n := range splits() {
		gate := fmt.Sprintf("/tmp/go-%d", i)
		exec, err := h.Exec(t.Context(), fmt.Sprintf(
			`printf 'up\n%%s\n' "$(printf %%s "$KEY" | head -c %d)"; until [ -e %s ]; do sleep 0.05; done; printf '%%s\n' "$(printf %%s "$KEY" | tail -c +%d)"; echo after`,
			n, gate, n+1), sandbox.ExecOptions{Background: true})
		must(t, err)
		readUntil(t, exec.Stdout(), "up\n")
		must(t, exec.Detach(t.Context()))
		for range 2 { // also left again at once
			exec, err = h.Attach(t.Context(), exec.Seq(), sandbox.AttachOptions{})
			must(t, err)
			must(t, exec.Detach(t.Context()))
		}
		r.run(h, ": >"+gate)
		exec, err = h.Attach(t.Context(), exec.Seq(), sandbox.AttachOptions{})
		must(t, err)
		result, err := exec.Wait()
		if err != nil || !strings.HasSuffix(result.Stdout, "[redacted]\nafter\n") && !strings.HasSuffix(result.Stdout, "[redacted]\n\nafter\n") {
			t.Errorf("%d bytes: got %+v, %v", n, result, err)
		}
	}
	hasNo(t, "the ledger", r.ledgerText(h), canary)
	if text := r.ledgerText(h); strings.Count(text, `"text":"up"`) != len(splits()) || strings.Count(text, `"text":"after"`) != len(splits()) {
		t.Errorf("what is around is not there, once each: %s", text)
	}
}

// The same on a terminal, whose output is shown at once.
func TestDetachedTerminalSplitsValue(t *testing.T) {
	t.Parallel()
	r, _ := knowing(t)
	h := r.create(sandbox.CreateOptions{Env: map[string]string{"KEY": canary}})
	for _, n := range splits() {
		terminal := r.interactive(h, fmt.Sprintf(
			`stty -echo; printf 'up %%s' "$(printf %%s "$KEY" | head -c %d)"; read -r a; printf '%%s, after\n' "$(printf %%s "$KEY" | tail -c +%d)"`,
			n, n+1), sandbox.TerminalOptions{})
		readUntil(t, terminal.Stdout(), "up "+canary[:n])
		must(t, terminal.Detach(t.Context()))
		seq := terminal.Seq()
		for range 2 {
			terminal, err := h.AttachTerminal(t.Context(), seq, sandbox.TerminalOptions{})
			must(t, err)
			must(t, terminal.Detach(t.Context()))
		}
		terminal, err := h.AttachTerminal(t.Context(), seq, sandbox.TerminalOptions{})
		must(t, err)
		out := terminal.Stdout()
		typeIn(t, terminal, "\n")
		shown, err := io.ReadAll(out)
		must(t, err)
		if result, err := terminal.Wait(); err != nil || result.ExitCode != 0 || result.Truncated {
			t.Errorf("%d bytes: got %+v, %v", n, result, err)
		}
		if rest := canary[n:]; strings.Contains(string(shown), rest+",") || !strings.HasSuffix(string(shown), ", after\r\n") {
			t.Errorf("%d bytes: shown is %q", n, shown)
		}
	}
	hasNo(t, "the ledger", r.ledgerText(h), canary)
	if text := r.ledgerText(h); strings.Count(text, `"text":"up `) != len(splits()) || strings.Count(text, `, after\r\n"`) != len(splits()) {
		t.Errorf("what is around is not there, once each: %s", text)
	}
}
