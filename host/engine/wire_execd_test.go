package engine_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

func TestWireJobs(t *testing.T) {
	t.Parallel()
	_, execd, _ := wire(t, opensandbox.CreateRequest{})
	ctx := t.Context()
	job, err := execd.Start(ctx, opensandbox.RunRequest{
		Command: `printf 'a\nb'; for i in 1 2 3; do sleep 0.3; echo "$i $X" >&2; done; exit 5`, Env: map[string]string{"X": "é"},
	})
	if err != nil {
		t.Fatal(err)
	}
	// A reader that stops in the middle, and another that goes on.
	head := make([]byte, 6)
	if _, err := io.ReadFull(job, head); err != nil {
		t.Fatal(err)
	}
	at := job.Position()
	_ = job.Close()
	rest := execd.Follow(ctx, job.ID(), at)
	tail, err := io.ReadAll(rest)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(head) + string(tail); got != "a\nb1 é\n2 é\n3 é\n" {
		t.Errorf("got %q", got)
	}
	if status := rest.Status(); status == nil || status.ExitCode == nil || *status.ExitCode != 5 || status.FinishedAt == nil {
		t.Errorf("got %+v", status)
	}

	// One that is interrupted, and one that runs out of time.
	job, err = execd.Start(ctx, opensandbox.RunRequest{Command: "echo up; exec sleep 100"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(job, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	if err := execd.Interrupt(ctx, job.ID()); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadAll(job); err != nil || *job.Status().ExitCode != -1 {
		t.Errorf("got %+v, %v", job.Status(), err)
	}
	job, err = execd.Start(ctx, opensandbox.RunRequest{Command: "sleep 100", Timeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(job); err != nil || *job.Status().ExitCode != -1 {
		t.Errorf("got %+v, %v", job.Status(), err)
	}
	_, err = io.ReadAll(execd.Follow(ctx, "0123456789abcdef0123456789abcdef", opensandbox.Position{}))
	wantErr(t, "a job that never was", err, opensandbox.ErrNotFound)
}

func TestWireLargeJob(t *testing.T) {
	t.Parallel()
	_, execd, _ := wire(t, opensandbox.CreateRequest{})
	job, err := execd.Start(t.Context(), opensandbox.RunRequest{Command: "head -c 20000000 /dev/zero"})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, job); err != nil || n != 20_000_000 || *job.Status().ExitCode != 0 {
		t.Errorf("got %d bytes, %v, %+v", n, err, job.Status())
	}
}

func TestWireLongCommand(t *testing.T) {
	t.Parallel()
	_, execd, _ := wire(t, opensandbox.CreateRequest{})
	long := strings.Repeat(": "+strings.Repeat("x", 1000)+"\n", 300) + `echo "$0 done"; ls -A /tmp; exit 9`
	stream, err := execd.Run(t.Context(), opensandbox.RunRequest{Command: long})
	got := hearOut(t, stream, err)
	if code, _ := got.failure.ExitCode(); code != 9 || !strings.Contains(got.stdout.String(), " done|") || strings.Contains(got.stdout.String(), ".alineo-command") {
		t.Errorf("got %q, %q, %+v", got.stdout.String(), got.stderr.String(), got.failure)
	}
}

func TestWireSessions(t *testing.T) {
	t.Parallel()
	_, execd, _ := wire(t, opensandbox.CreateRequest{})
	ctx := t.Context()
	id, err := execd.CreateSession(ctx, "/tmp/work")
	if err != nil {
		t.Fatal(err)
	}
	stream, err := execd.RunInSession(ctx, id, opensandbox.SessionRun{Command: "export A=1; cd /; pwd"})
	if got := hearOut(t, stream, err); got.stdout.String() != "/|" || !got.complete || stream.ID() != id {
		t.Errorf("got %q, id %q", got.stdout.String(), stream.ID())
	}
	stream, err = execd.RunInSession(ctx, id, opensandbox.SessionRun{Command: `echo "$PWD $A"; echo e >&2; (exit 3)`})
	got := hearOut(t, stream, err)
	if code, _ := got.failure.ExitCode(); code != 3 || got.stdout.String() != "/ 1|e|" {
		t.Errorf("got %q and %d", got.stdout.String(), code)
	}
	stream, err = execd.RunInSession(ctx, id, opensandbox.SessionRun{Command: "sleep 100", Timeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = stream.Next()
	}
	_ = stream.Close()
	// This server has a terminal event for it, others a failure of their own.
	if _, ok := errors.AsType[*opensandbox.Error](err); !ok && !errors.Is(err, io.EOF) {
		t.Errorf("a timeout ends with %v", err)
	}
	for range 2 {
		if err := execd.DeleteSession(ctx, id); err != nil {
			t.Error(err)
		}
	}
	if _, err := execd.RunInSession(ctx, id, opensandbox.SessionRun{Command: "true"}); err == nil {
		t.Error("a session that is gone still runs")
	}
}

func TestWireFiles(t *testing.T) {
	t.Parallel()
	_, execd, _ := wire(t, opensandbox.CreateRequest{})
	ctx := t.Context()
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	must("mkdir", execd.MakeDirectories(ctx, map[string]opensandbox.Attributes{"/tmp/d/e": {Mode: 0o750}}))
	must("upload", execd.Upload(ctx, opensandbox.Upload{Path: "/tmp/d/e/a é.txt", Content: strings.NewReader("hello\x00 hello"), Mode: 0o640}))
	info, err := execd.Stat(ctx, "/tmp/d/e/a é.txt")
	if err != nil || info.Size != 12 || info.Perm() != 0o640 || info.Type != opensandbox.FileTypeFile {
		t.Errorf("got %+v, %v", info, err)
	}
	must("chmod", execd.SetAttributes(ctx, map[string]opensandbox.Attributes{"/tmp/d/e/a é.txt": {Mode: 0o600}}))
	counts, err := execd.ReplaceInFiles(ctx, map[string]opensandbox.Replacement{"/tmp/d/e/a é.txt": {Old: "hello", New: "bye"}})
	if err != nil || counts["/tmp/d/e/a é.txt"] != 2 {
		t.Errorf("got %v, %v", counts, err)
	}
	must("move", execd.MoveFiles(ctx, opensandbox.Move{From: "/tmp/d/e/a é.txt", To: "/tmp/d/f/b.txt"}))
	if got := read(t, execd, "/tmp/d/f/b.txt"); got != "bye\x00 bye" {
		t.Errorf("got %q", got)
	}
	for want, span := range map[string][2]int64{"\x00 b": {3, 3}, "ye": {6, -1}, "": {8, 10}, "e": {7, 5}} {
		body, err := execd.DownloadRange(ctx, "/tmp/d/f/b.txt", span[0], span[1])
		if err != nil {
			t.Fatal(err)
		}
		if raw, err := io.ReadAll(body); err != nil || string(raw) != want {
			t.Errorf("%v: got %q, %v", span, raw, err)
		}
		_ = body.Close()
	}
	infos, err := execd.StatAll(ctx, "/tmp/d", "/tmp/d/f/b.txt")
	if err != nil || infos["/tmp/d"].Type != opensandbox.FileTypeDirectory || infos["/tmp/d/f/b.txt"].Perm() != 0o600 {
		t.Errorf("got %+v, %v", infos, err)
	}
	found, err := execd.Search(ctx, "/tmp/d", "*.txt")
	if err != nil || len(found) != 1 || found[0].Path != "/tmp/d/f/b.txt" {
		t.Errorf("got %+v, %v", found, err)
	}
	tree, err := execd.ListDirectory(ctx, "/tmp/d", 2)
	var paths []string
	for _, entry := range tree {
		paths = append(paths, entry.Path)
	}
	if got := strings.Join(paths, " "); err != nil || got != "/tmp/d/e /tmp/d/f /tmp/d/f/b.txt" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := execd.Download(ctx, "/tmp/d"); !errors.Is(err, opensandbox.ErrIsDirectory) {
		t.Errorf("got %v", err)
	}
	must("remove", execd.RemoveFiles(ctx, "/tmp/d/f/b.txt", "/tmp/never"))
	if err := execd.RemoveFiles(ctx, "/tmp/d"); err == nil {
		t.Error("a directory was removed as a file")
	}
	must("remove all", execd.RemoveDirectories(ctx, "/tmp/d", "/tmp/never"))
	_, err = execd.Stat(ctx, "/tmp/d")
	wantErr(t, "stat", err, opensandbox.ErrNotFound)
	wantErr(t, "move of nothing", execd.MoveFiles(ctx, opensandbox.Move{From: "/tmp/d", To: "/tmp/x"}), opensandbox.ErrNotFound)
}

func TestWireMetrics(t *testing.T) {
	t.Parallel()
	_, execd, _ := wire(t, opensandbox.CreateRequest{})
	m, err := execd.Metrics(t.Context())
	if err != nil || m.CPUCount < 1 || m.MemoryTotalMiB <= 0 || time.Since(m.Time()).Abs() > time.Hour {
		t.Errorf("got %+v, %v", m, err)
	}
	seen := 0
	for m, err := range execd.WatchMetrics(t.Context()) {
		if err != nil || m.MemoryTotalMiB <= 0 {
			t.Errorf("got %+v, %v", m, err)
		}
		if seen++; seen == 2 || err != nil {
			break
		}
	}
}
