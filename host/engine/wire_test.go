package engine_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// wire returns a client of the engine, and the execd of a sandbox that it made.
func wire(t *testing.T, req opensandbox.CreateRequest) (*opensandbox.Client, *opensandbox.Execd, string) {
	t.Helper()
	e := requireNamespaces(t)
	client, err := opensandbox.New(opensandbox.Options{BaseURL: e.BaseURL(), Transport: e.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	req.Image = &opensandbox.Image{URI: "host"}
	req.Entrypoint = []string{"tail", "-f", "/dev/null"}
	req.ResourceLimits = map[string]string{"cpu": "1", "memory": "512Mi"}
	req.Timeout = 600
	box, err := client.CreateSandbox(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	execd := client.Execd(box.ID)
	for execd.Ping(t.Context()) != nil {
		if t.Context().Err() != nil {
			t.Fatal("execd does not answer")
		}
	}
	return client, execd, box.ID
}

// said is what a stream's events tell.
type said struct {
	stdout, stderr, results strings.Builder
	failure                 *opensandbox.FrameError
	complete                bool
}

func hearOut(t *testing.T, stream *opensandbox.Stream, err error) *said {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	s := new(said)
	for {
		frame, err := stream.Next()
		if errors.Is(err, io.EOF) && !errors.Is(err, opensandbox.ErrStreamLost) {
			return s
		}
		if err != nil {
			t.Fatal(err)
		}
		switch frame.Type {
		case opensandbox.TypeStdout:
			s.stdout.WriteString(frame.Text() + "|")
		case opensandbox.TypeStderr:
			s.stderr.WriteString(frame.Text() + "|")
		case opensandbox.TypeResult:
			s.results.Write(frame.Results()["text"])
		case opensandbox.TypeError:
			s.failure = frame.Error
		case opensandbox.TypeExecutionComplete:
			s.complete = true
		}
	}
}

func wantErr(t *testing.T, what string, err, is error) {
	t.Helper()
	if !errors.Is(err, is) {
		t.Errorf("%s: got %v, want %v", what, err, is)
	}
}

func TestWireLifecycle(t *testing.T) {
	t.Parallel()
	client, execd, id := wire(t, opensandbox.CreateRequest{Metadata: map[string]string{"team": "blue", "note": "a.b"}})
	ctx := t.Context()
	ids := func(filter opensandbox.SandboxFilter) (found []string) {
		for box, err := range client.ListSandboxes(ctx, filter) {
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, box.ID)
		}
		return found
	}
	for want, filter := range map[int]opensandbox.SandboxFilter{
		1: {States: []string{"running", "Paused"}, Metadata: map[string]string{"team": "blue", "note": "a.b"}},
		0: {Metadata: map[string]string{"team": "red"}},
	} {
		if got := ids(filter); len(got) != want {
			t.Errorf("%+v: got %q", filter, got)
		}
	}
	red := "red"
	box, err := client.PatchMetadata(ctx, id, map[string]*string{"team": &red, "note": nil})
	if err != nil || box.Metadata["team"] != "red" || box.Metadata["note"] != "" {
		t.Errorf("got %+v, %v", box, err)
	}
	until := time.Now().Add(20 * time.Minute).UTC().Truncate(time.Millisecond)
	if at, err := client.RenewExpiration(ctx, id, until); err != nil || !at.Equal(until) {
		t.Errorf("renewed to %s, not %s: %v", at, until, err)
	}
	if err := client.PauseSandbox(ctx, id); err != nil {
		t.Fatal(err)
	}
	if box, err = client.GetSandbox(ctx, id); err != nil || box.Status.State != opensandbox.StatePaused {
		t.Errorf("got %+v, %v", box, err)
	}
	wantErr(t, "second pause", client.PauseSandbox(ctx, id), opensandbox.ErrConflict)
	if err := client.ResumeSandbox(ctx, id); err != nil {
		t.Fatal(err)
	}
	if err := execd.Ping(ctx); err != nil {
		t.Error(err)
	}
	wantErr(t, "second resume", client.ResumeSandbox(ctx, id), opensandbox.ErrConflict)
	logs, err := client.DiagnosticLogs(ctx, id, opensandbox.DiagnosticsQuery{Tail: 10})
	if err != nil || logs.Kind != "logs" {
		t.Errorf("got %+v, %v", logs, err)
	}
	if _, err := client.DiagnosticEvents(ctx, id, opensandbox.DiagnosticsQuery{Limit: 10}); err != nil {
		t.Error(err)
	}
	if _, err := client.DiagnosticLogs(ctx, id, opensandbox.DiagnosticsQuery{Scope: "container"}); err != nil {
		wantErr(t, "scope", err, opensandbox.ErrUnsupported)
	}
	if err := client.DeleteSandbox(ctx, id); err != nil {
		t.Error(err)
	}
	if err := client.DeleteSandbox(ctx, id); err != nil {
		t.Error("second delete:", err)
	}
	_, err = client.GetSandbox(ctx, id)
	wantErr(t, "get after delete", err, opensandbox.ErrNotFound)
	_, err = client.PatchMetadata(ctx, id, map[string]*string{"a": nil})
	wantErr(t, "patch after delete", err, opensandbox.ErrNotFound)
}

func TestWireSnapshots(t *testing.T) {
	t.Parallel()
	client, execd, id := wire(t, opensandbox.CreateRequest{})
	ctx := t.Context()
	upload(t, execd, "/tmp/kept", "kept")
	snapshot, err := client.CreateSnapshot(ctx, id, "first")
	if err != nil {
		t.Fatal(err)
	}
	for snapshot.Status.State == opensandbox.SnapshotCreating {
		time.Sleep(20 * time.Millisecond) // as a client polls
		if snapshot, err = client.GetSnapshot(ctx, snapshot.ID); err != nil {
			t.Fatal(err)
		}
	}
	if snapshot.Status.State != opensandbox.SnapshotReady || snapshot.Name != "first" {
		t.Fatalf("got %+v", snapshot)
	}
	found := 0
	for got, err := range client.ListSnapshots(ctx, opensandbox.SnapshotFilter{SandboxID: id, States: []string{"Ready"}}) {
		if err != nil || got.ID != snapshot.ID {
			t.Errorf("got %+v, %v", got, err)
		}
		found++
	}
	if found != 1 {
		t.Errorf("%d snapshots", found)
	}
	again, err := client.CreateSandbox(ctx, opensandbox.CreateRequest{
		SnapshotID: snapshot.ID, Timeout: 600, ResourceLimits: map[string]string{"cpu": "1", "memory": "512Mi"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := read(t, client.Execd(again.ID), "/tmp/kept")
	if got != "kept" {
		t.Errorf("got %q", got)
	}
	for _, box := range []string{again.ID, id} {
		if err := client.DeleteSandbox(ctx, box); err != nil {
			t.Error(err)
		}
	}
	if err := client.DeleteSnapshot(ctx, snapshot.ID); err != nil {
		t.Error(err)
	}
	if err := client.DeleteSnapshot(ctx, snapshot.ID); err != nil {
		t.Error("second delete:", err)
	}
	_, err = client.CreateSandbox(ctx, opensandbox.CreateRequest{SnapshotID: snapshot.ID, Timeout: 600, ResourceLimits: map[string]string{"cpu": "1"}})
	wantErr(t, "create from what is gone", err, opensandbox.ErrNotFound)
}

func upload(t *testing.T, execd *opensandbox.Execd, path, content string) {
	t.Helper()
	if err := execd.Upload(t.Context(), opensandbox.Upload{Path: path, Content: strings.NewReader(content)}); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, execd *opensandbox.Execd, path string) string {
	t.Helper()
	body, err := execd.Download(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = body.Close() }()
	raw, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
