package sandbox_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/internal/nativebroker"
)

// traces are texts that a value leaves behind, however it was written. A piece of base64 belongs to
// the value alone but for its edges.
func traces(value string) []string {
	quoted, _ := json.Marshal(value)
	all := []string{value, strings.Trim(string(quoted), `"`), url.QueryEscape(value), url.PathEscape(value), hex.EncodeToString([]byte(value))}
	for before := range 3 {
		text := base64.RawStdEncoding.EncodeToString([]byte("xx"[:before] + value))
		all = append(all, text[4:len(text)-4])
		text = base64.RawURLEncoding.EncodeToString([]byte("xx"[:before] + value))
		all = append(all, text[4:len(text)-4])
	}
	return all
}

// hasNo fails when a text has a trace of a value.
func hasNo(t testing.TB, what, text, value string) {
	t.Helper()
	flat := strings.NewReplacer("\n", "", "\r", "", `\n`, "", `\r`, "").Replace(text)
	for _, trace := range traces(value) {
		if strings.Contains(flat, trace) {
			t.Errorf("%s has the value as %q: %s", what, trace, text)
			return
		}
	}
}

// ledgerText is a sandbox's ledger as one text, and as what its output joins to.
func (r *rig) ledgerText(h *sandbox.Handle) string {
	r.t.Helper()
	var all, output strings.Builder
	for _, e := range r.entries(h) {
		all.WriteString(e.Event + " " + string(e.Payload) + "\n")
		if e.Event == store.EventExecOutput {
			text, _ := field(r.t, string(e.Payload), "text").(string)
			output.WriteString(text)
		}
	}
	return all.String() + "\n" + output.String()
}

// safeBuffer is a buffer that several write to.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// knowing is a rig whose redactor knows the canary, and whose log is kept.
func knowing(t *testing.T, adjust ...func(*sandbox.Options)) (*rig, *safeBuffer) {
	t.Helper()
	log := &safeBuffer{}
	adjust = append(adjust, withBroker(nativebroker.New(nativebroker.Options{}), nil), func(o *sandbox.Options) {
		o.Logger = hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Trace})
	})
	r := newRig(t, adjust...)
	r.writer.Redactor().Add(credential.NewSecret(canary))
	return r, log
}

// TestNoOutputHasTheValue prints it in the ways in which programs do.
func TestNoOutputHasTheValue(t *testing.T) {
	t.Parallel()
	r, _ := knowing(t)
	h := r.create(sandbox.CreateOptions{Env: map[string]string{"KEY": canary}})
	long := strings.Repeat("0123456789", 9)
	for name, command := range map[string]string{
		"plain":          `echo "$KEY"; echo "$KEY" >&2`,
		"inline":         `echo "token=$KEY;$KEY"`,
		"base64":         `printf %s "$KEY" | base64; printf %s "x$KEY" | base64; printf %s "xy$KEY" | base64`,
		"base64 wrapped": `printf %s "` + long + `${KEY}` + long + `" | base64`,
		"hex wrapped":    `printf %s "` + long + `${KEY}` + long + `" | od -An -v -tx1 | tr -d ' '`,
		"folded":         `printf %s "$KEY" | fold -w 5`,
		"a letter each":  `printf %s "$KEY" | fold -w 1`,
		"no line end":    `printf %s "$KEY"`,
		"in two writes":  `printf %s "${KEY%????????}"; printf '%s\n' "${KEY#????????????????}"`,
		"its beginning":  `printf '%s\n' "${KEY%????}"; echo more`,
		"terminated":     `echo "$KEY"; exit 3`,
		"python":         `python3 -c 'import os, json, urllib.parse; k = os.environ["KEY"]; print(json.dumps({"k": k}), urllib.parse.quote(k), urllib.parse.quote_plus(k))'`,
	} {
		result := r.run(h, command)
		hasNo(t, name+": the result", result.Stdout+"\n"+result.Stderr, canary)
		if name != "its beginning" && !strings.Contains(result.Stdout, credential.Redacted) {
			t.Errorf("%s: %q", name, result.Stdout)
		}
		exec, err := h.Exec(t.Context(), command, sandbox.ExecOptions{Background: true, Events: true})
		must(t, err)
		for event, err := range exec.Events() {
			must(t, err)
			hasNo(t, name+": an event", event.Text+string(event.Raw), canary)
		}
	}
	session := r.keepSession(h)
	exec, err := session.Exec(t.Context(), `echo "$KEY"`, sandbox.SessionOptions{})
	must(t, err)
	result, err := exec.Wait()
	must(t, err)
	hasNo(t, "the session", result.Stdout, canary)
	hasNo(t, "the ledger", r.ledgerText(h), canary)
}

func (r *rig) keepSession(h *sandbox.Handle) *sandbox.Session {
	r.t.Helper()
	s, err := h.CreateSession(r.t.Context(), "")
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// TestHeldBackOutput: what may be the beginning of the value comes when it is known that it isn't.
func TestHeldBackOutput(t *testing.T) {
	t.Parallel()
	r, _ := knowing(t)
	h := r.create(sandbox.CreateOptions{})
	for _, c := range []struct{ command, stdout string }{
		{`echo 'ends with ` + canary[:9] + `'`, "ends with " + canary[:9] + "\n"},
		{`echo 'ends with ` + canary[:9] + `'; echo and goes on`, "ends with " + canary[:9] + "\nand goes on\n"},
		{`echo ` + canary[:9] + `; echo ` + canary[9:] + `; echo after`, "[redacted]\nafter\n"},
		{`echo; echo ' x '; echo`, "\n x \n\n"},
	} {
		if result := r.run(h, c.command); result.Stdout != c.stdout {
			t.Errorf("%s: %q, want %q", c.command, result.Stdout, c.stdout)
		}
	}
	// The other stream goes on meanwhile.
	exec, err := h.Exec(t.Context(), `echo `+canary[:9]+`; echo other >&2; until [ -e /tmp/go ]; do sleep 0.02; done; echo done`, sandbox.ExecOptions{})
	must(t, err)
	line := make([]byte, len("other\n"))
	if _, err := io.ReadFull(exec.Stderr(), line); err != nil || string(line) != "other\n" {
		t.Errorf("%q, %v", line, err)
	}
	r.run(h, "touch /tmp/go")
	if result, err := exec.Wait(); err != nil || result.Stdout != canary[:9]+"\ndone\n" {
		t.Errorf("%+v, %v", result, err)
	}
}

// TestReplayWithoutTheValue: a resumed program is answered although its command was redacted, also
// when nobody knows the value any more; a different command is still a divergence.
func TestReplayWithoutTheValue(t *testing.T) {
	t.Parallel()
	r, _ := knowing(t)
	h := r.create(sandbox.CreateOptions{})
	command := "echo 'a " + canary + " b'; echo c"
	live := r.run(h, command)
	r.checkpoint(h, "")
	hasNo(t, "the ledger", r.ledgerText(h), canary)
	again := r.resume(h.ID(), sandbox.ResumeOptions{})
	replayed := r.run(again, command)
	if !replayed.Replayed || replayed.Stdout != live.Stdout || live.Stdout != "a [redacted] b\nc\n" {
		t.Errorf("%+v, %+v", live, replayed)
	}
	third := r.resume(h.ID(), sandbox.ResumeOptions{})
	_, err := third.Exec(t.Context(), "echo 'a "+canary+" b'; echo d", sandbox.ExecOptions{})
	if !errors.Is(err, sandbox.ErrDivergence) {
		t.Errorf("%v", err)
	}
	hasNo(t, "the divergence", err.Error(), canary)
}

// TestNoErrorOrLogHasTheValue makes errors that would show it.
func TestNoErrorOrLogHasTheValue(t *testing.T) {
	t.Parallel()
	var hooks safeBuffer
	r, log := knowing(t)
	h := r.create(sandbox.CreateOptions{Hooks: &sandbox.Hooks{ExecStart: func(_ string, _ int64, command string) { _, _ = hooks.Write([]byte(command)) }}})
	_, err := h.Run(t.Context(), "cat /"+canary, sandbox.ExecOptions{Strict: true})
	var failed *sandbox.CommandError
	if !errors.As(err, &failed) {
		t.Fatalf("%v", err)
	}
	hasNo(t, "the command's error", err.Error()+failed.Error()+failed.Command, canary)
	_, err = h.ReadFile(t.Context(), "/tmp/"+canary)
	if err == nil {
		t.Fatal("there is no such file")
	}
	hasNo(t, "the file's error", err.Error(), canary)
	_, err = h.Run(t.Context(), "true", sandbox.ExecOptions{Cwd: "/" + canary})
	if err == nil {
		t.Fatal("there is no such directory")
	}
	hasNo(t, "the directory's error", err.Error(), canary)
	must(t, h.Emit(t.Context(), "agent.note", map[string]string{"text": canary, canary: "key"}))
	for name, err := range map[string]error{
		"checkpoint":  second(h.Checkpoint(t.Context(), canary)),
		"name":        second(r.client.Create(t.Context(), sandbox.CreateOptions{Name: "x " + canary})),
		"run id":      second(r.client.Create(t.Context(), sandbox.CreateOptions{RunID: canary})),
		"environment": second(r.client.Environment(canary, sandbox.EnvironmentOptions{}).Create(t.Context(), sandbox.SpawnOptions{})),
	} {
		if !errors.Is(err, sandbox.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		hasNo(t, name, err.Error(), canary)
	}
	hasNo(t, "the hook", hooks.String(), canary)
	must(t, h.Close(t.Context()))
	hasNo(t, "the log", log.String(), canary)
	hasNo(t, "the ledger", r.ledgerText(h), canary)
}

// TestTerminalRedacts: what a terminal prints is there at once, and neither what it prints nor what is
// typed, letter by letter, has the value.
func TestTerminalRedacts(t *testing.T) {
	t.Parallel()
	r, _ := knowing(t)
	h := r.create(sandbox.CreateOptions{})
	term, err := h.Interactive(t.Context(), "cat; echo the end", sandbox.TerminalOptions{})
	must(t, err)
	out := term.Stdout()
	// Its echo, which is the beginning of the value, is not waited for.
	for _, letter := range canary[:6] {
		if _, err := term.Write([]byte(string(letter))); err != nil {
			t.Fatal(err)
		}
		echoed := make([]byte, 1)
		if _, err := io.ReadFull(out, echoed); err != nil || echoed[0] != byte(letter) {
			t.Errorf("%q, %v", echoed, err)
		}
	}
	for _, text := range []string{canary[6:], "\n", canary + "\n", canary[:10], "\n\x04"} {
		if _, err := term.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	rest, err := io.ReadAll(out)
	must(t, err)
	hasNo(t, "the screen", string(rest), canary)
	if !strings.Contains(string(rest), "the end") {
		t.Errorf("%q", rest)
	}
	result, err := term.Wait()
	must(t, err)
	if result.ExitCode != 0 {
		t.Errorf("%+v", result)
	}
	text := r.ledgerText(h)
	hasNo(t, "the ledger", text, canary)
	if !strings.Contains(text, credential.Redacted) || !strings.Contains(text, `"stdin"`) || !strings.Contains(text, canary[:10]) {
		t.Errorf("the ledger has not the rest: %s", text)
	}
}

// TestLiveSecrets: readers get the text as it came when they were promised it, and the ledger doesn't.
func TestLiveSecrets(t *testing.T) {
	t.Parallel()
	r, _ := knowing(t, func(o *sandbox.Options) { o.LiveSecrets = true })
	h := r.create(sandbox.CreateOptions{})
	result := r.run(h, "echo 'a "+canary+"'; echo "+canary[:9]+"; echo "+canary[9:])
	if want := "a " + canary + "\n" + canary[:9] + "\n" + canary[9:] + "\n"; result.Stdout != want {
		t.Errorf("%q, want %q", result.Stdout, want)
	}
	hasNo(t, "the ledger", r.ledgerText(h), canary)
}

// second is the error of a call that has a result, too.
func second[T any](_ T, err error) error { return err }
