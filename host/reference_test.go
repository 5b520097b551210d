package host_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/engine"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// theirServer stands before an engine. It gives one of its snapshots for any of those that the reference's
// ledgers name, which nobody has, and lets credentials go to hosts that no rule of theirs allows, which the
// server that they were written with did.
type theirServer struct {
	engine   http.RoundTripper
	snapshot string
}

func (s theirServer) RoundTrip(req *http.Request) (*http.Response, error) {
	theirs := regexp.MustCompile(`snap-[0-9a-f]{8}`)
	out := req.Clone(req.Context())
	out.URL.Path = theirs.ReplaceAllString(out.URL.Path, s.snapshot)
	if req.Body != nil && strings.HasSuffix(req.URL.Path, "/sandboxes") {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		body = theirs.ReplaceAll(body, []byte(s.snapshot))
		const rule = `{"action":"allow","target":"keep.example.com"}`
		body = bytes.ReplaceAll(body, []byte(rule), []byte(rule+`,{"action":"allow","target":"*.github.com"},{"action":"allow","target":"*.x.com"}`))
		out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	return s.engine.RoundTrip(out)
}

// openReference opens a host on a copy of a ledger that the reference wrote.
func openReference(t *testing.T, file string) *host.Host {
	t.Helper()
	s := newSite(t)
	raw, err := os.ReadFile(filepath.Join("ledger", "testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.ledger, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := host.LoadConfig(s.config)
	if err != nil {
		t.Fatal(err)
	}
	eng, err := engine.Open(t.Context(), engine.Options{DataDir: shortDir(t), AllowReduced: true})
	if err != nil {
		t.Skipf("SKIPPED: this machine can run no sandbox: %v", err)
	}
	t.Cleanup(func() {
		if err := eng.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	cfg.Sandbox.URL, cfg.Sandbox.UseServerProxy = eng.BaseURL(), true
	h, err := host.Open(t.Context(), cfg, host.WithTransport(theirServer{eng.Transport(), snapshotOf(t, eng)}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return h
}

// snapshotOf makes a snapshot that no ledger knows.
func snapshotOf(t *testing.T, eng *engine.Engine) string {
	t.Helper()
	wire, err := opensandbox.New(opensandbox.Options{BaseURL: eng.BaseURL(), Transport: eng.Transport(), UseServerProxy: true})
	if err != nil {
		t.Fatal(err)
	}
	box, err := wire.CreateSandbox(t.Context(), opensandbox.CreateRequest{
		Image: &opensandbox.Image{URI: "host"}, Entrypoint: []string{"tail", "-f", "/dev/null"}, ResourceLimits: map[string]string{"cpu": "1", "memory": "256Mi"},
	})
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := wire.CreateSnapshot(t.Context(), box.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	for snapshot.Status.State != opensandbox.SnapshotReady {
		if snapshot, err = wire.GetSnapshot(t.Context(), snapshot.ID); err != nil || snapshot.Status.State == opensandbox.SnapshotFailed {
			t.Fatalf("%+v, %v", snapshot, err)
		}
	}
	if err := wire.DeleteSandbox(t.Context(), box.ID); err != nil {
		t.Fatal(err)
	}
	return snapshot.ID
}

// Calls at the same time share one client, and with it one ledger and one engine.
func TestSandboxesAtOnce(t *testing.T) {
	t.Parallel()
	h := newSite(t).openEngine(t)
	clients := make([]*sandbox.Client, 8)
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			var err error
			if clients[i], err = h.Sandboxes(t.Context()); err != nil {
				t.Error(err)
				return
			}
			for _, err := range clients[i].Sandboxes(t.Context(), store.ListOptions{}) { // which opens the ledger
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, client := range clients {
		if client == nil || client != clients[0] {
			t.Errorf("got %v", clients)
		}
	}
}

// step is one exec of a program that is resumed, and what comes of it.
type step struct {
	kind, text     string
	stdout, stderr string
	code           int
	live           bool
}

// The program that the reference ran, until its first checkpoint. A bash session always runs.
var untilFirst = []step{
	{kind: "exec", text: `printf 'a\nb\n\nc'; echo err >&2`, stdout: "a\nb\n\nc\n", stderr: "err\n"},
	{kind: "exec", text: "exit 3", code: 3},
	{kind: "exec", text: "exit 4", code: 4},
	{kind: "code", text: "1+1", stdout: "code:1+1"},
	{kind: "session", text: "echo héllo ✓", stdout: "héllo ✓\n", live: true},
}

func command(text, stdout string, live bool) step {
	return step{kind: "exec", text: text, stdout: stdout, live: live}
}

func do(ctx context.Context, sb *sandbox.Handle, s step) (*sandbox.Result, error) {
	var x *sandbox.Exec
	var err error
	switch s.kind {
	case "code":
		x, err = sb.ExecCode(ctx, s.text, sandbox.CodeOptions{})
	case "session":
		var session *sandbox.Session
		if session, err = sb.CreateSession(ctx, ""); err == nil {
			x, err = session.Exec(ctx, s.text, sandbox.SessionOptions{})
		}
	default:
		x, err = sb.Exec(ctx, s.text, sandbox.ExecOptions{})
	}
	if err != nil {
		return nil, err
	}
	return x.Wait()
}

// TestReferenceLedgersAreResumed lists what the reference wrote, resumes it in real sandboxes, goes on, and
// leaves its rows as they were; whatever their names were before.
func TestReferenceLedgersAreResumed(t *testing.T) {
	t.Parallel()
	number := func(n string) string {
		return strings.Repeat("0", 8-len(n)) + n + "-aaaa-bbbb-cccc-dddddddddddd"
	}
	for file, sandboxes := range map[string]int{"reference-dotted.db": 9, "reference-snake.db": 8, "reference-snake-migrated.db": 8} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			h := openReference(t, file)
			client, err := h.Sandboxes(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			statuses := map[string]int{}
			for details, err := range client.Sandboxes(t.Context(), store.ListOptions{}) {
				if err != nil {
					t.Fatal(err)
				}
				statuses[details.Status]++
			}
			if statuses[store.StatusCompleted]+statuses[store.StatusRunning] != sandboxes || statuses[store.StatusRunning] > 1 {
				t.Errorf("listed %v", statuses)
			}
			before := rowsOf(t, h)
			for _, c := range []struct {
				id, tag string
				steps   []step
			}{
				{"1", "t1", append(slices.Clone(untilFirst), command("echo six", "six\n", true))},
				{"1", "", append(slices.Clone(untilFirst), command("echo after-t1", "after-t1\n", false), command("echo after-cp2", "after-cp2\n", false), command("echo eight", "eight\n", true))},
				{"6", "", append(slices.Clone(untilFirst), command("echo live6", "live6\n", false), command("echo seven", "seven\n", true))},
				{"8", "r1cp", append(slices.Clone(untilFirst), command("echo live6", "live6\n", false), command("echo seven", "seven\n", true))},
			} {
				sb, err := client.Resume(t.Context(), number(c.id), sandbox.ResumeOptions{
					Tag: c.tag,
					ResolveCredential: func(_ context.Context, name string, _ credential.Source) (credential.Secret, error) {
						return credential.NewSecret("value-of-" + name), nil
					},
				})
				if err != nil {
					t.Fatalf("%s at %q: %v", c.id, c.tag, err)
				}
				for i, s := range c.steps {
					got, err := do(t.Context(), sb, s)
					want := sandbox.Result{Seq: int64(i + 1), Stdout: s.stdout, Stderr: s.stderr, ExitCode: s.code, Replayed: !s.live}
					if err != nil || *got != want {
						t.Errorf("%s at %q: %s: got %+v, %v", c.id, c.tag, s.text, got, err)
					}
				}
				if sb.Name() != "run-a" || sb.Resources().CPU != "500m" {
					t.Errorf("%s at %q: name %s, resources %+v", c.id, c.tag, sb.Name(), sb.Resources())
				}
				if file == "reference-dotted.db" {
					checkControls(t, h, sb)
				}
				if err := sb.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}
			sb, err := client.Environment("py", sandbox.EnvironmentOptions{}).Create(t.Context(), sandbox.SpawnOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if err := sb.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if after := rowsOf(t, h); !slices.Equal(after[:min(len(before), len(after))], before) || len(after) <= len(before) {
				t.Errorf("the reference's %d rows have become others, of %d", len(before), len(after))
			}
		})
	}
}

// checkControls looks at what a resumed sandbox has of the reference's network rules and credentials: what
// they came to, and nothing that was taken back.
func checkControls(t *testing.T, h *host.Host, sb *sandbox.Handle) {
	t.Helper()
	var bound []string
	for e, err := range ledger.ReadSandbox(t.Context(), h.Store(), sb.Key()) {
		if err != nil {
			t.Fatal(err)
		}
		payload := string(e.Payload)
		switch e.Event {
		case store.EventSandboxCreated:
			if !strings.Contains(payload, `"target":"example.com"`) || strings.Contains(payload, "boot.example.com") || !strings.Contains(payload, `"resourceId":"res-1"`) {
				t.Errorf("created as %s", payload)
			}
		case store.EventCredentialBound:
			bound = append(bound, payload)
		}
	}
	if len(bound) != 2 || !strings.HasPrefix(bound[0], `{"name":"gh"`) || !strings.HasPrefix(bound[1], `{"name":"one"`) || strings.Contains(strings.Join(bound, ""), "value-of") {
		t.Errorf("bound %q", bound)
	}
}

// rowsOf returns a ledger's rows as text.
func rowsOf(t *testing.T, h *host.Host) (rows []string) {
	t.Helper()
	for e, err := range ledger.ReadAll(t.Context(), h.Store()) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, fmt.Sprint(e.ID, e.TS, e.Name, e.SandboxID, e.StepIndex, store.CurrentName(e.Event), string(e.Payload)))
	}
	return rows
}
