package sandbox_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/credential"
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

// A value that is typed on a terminal in several sittings, each by another process, is in no ledger, nor is
// its echo, and no part of it that is looked for. What is typed around it is.
func TestTypedInSittings(t *testing.T) {
	t.Parallel()
	const most = 3 // bytes that are too few
	for name, sittings := range map[string][]string{
		"two bytes":        {"a " + canary[:2], canary[2:] + " b\n"},
		"four":             {"a " + canary[:4], canary[4:] + " b\n"},
		"sixteen":          {"a " + canary[:16], canary[16:] + " b\n"},
		"all but one":      {"a " + canary[:len(canary)-1], canary[len(canary)-1:] + " b\n"},
		"in three":         {"a " + canary[:6], canary[6:12], canary[12:] + " b\n"},
		"with none":        {"a " + canary[:6], "", canary[6:] + " b\n"},
		"twice":            {"a " + canary[:6], canary[6:] + canary[:8], canary[8:] + " b\n"},
		"another after":    {"a " + canary[:6], "no! b\n"},
		"whole ones":       {"a " + canary, canary + " b\n"},
		"nothing of one":   {"a ", " b\n"},
		"letter by letter": {"a " + canary[:9], "\x00" + canary[9:] + " b\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _ := knowing(t)
			m := &machine{rig: r, dir: t.TempDir()}
			other := m.process(t, map[string]string{})
			other.Redactor().Add(credential.NewSecret(canary))
			h := r.create(sandbox.CreateOptions{})
			terminal := r.interactive(h, `echo up; read -r line; printf '%s\n' "${#line}"`, sandbox.TerminalOptions{})
			readUntil(t, terminal.Stdout(), "up")
			seq := terminal.Seq()
			length := 0
			for i, text := range sittings {
				if i > 0 {
					must(t, terminal.Detach(t.Context()))
					var err error
					h, err = []*sandbox.Client{r.client, other.Client}[i%2].Connect(t.Context(), h.ID(), sandbox.ConnectOptions{})
					must(t, err)
					terminal, err = h.AttachTerminal(t.Context(), seq, sandbox.TerminalOptions{})
					must(t, err)
				}
				letters, each := strings.CutPrefix(text, "\x00")
				length += len(letters)
				if !each {
					typeIn(t, terminal, letters)
					continue
				}
				for _, letter := range letters {
					typeIn(t, terminal, string(letter))
				}
			}
			result, err := terminal.Wait()
			if err != nil || !strings.Contains(result.Stdout, fmt.Sprintf("%d\r\n", length-1)) {
				t.Errorf("the program got something else: %+v, %v", result, err)
			}
			typed, echoed := transcript(t, r, h)
			if name == "another after" {
				echoed = "" // it is no value
			}
			for i := range len(canary) - most {
				if part := canary[i : i+most+1]; strings.Contains(typed, part) || strings.Contains(echoed, part) {
					t.Errorf("recorded is %q, and of the echo %q, which has %q", typed, echoed, part)
					break
				}
			}
			if !strings.HasPrefix(typed, "a ") || !strings.HasSuffix(typed, " b\n") || name == "another after" && !strings.HasSuffix(typed, "no! b\n") {
				t.Errorf("recorded is %q", typed)
			}
			must(t, h.Close(t.Context()))
		})
	}
}
