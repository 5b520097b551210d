package ledger_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/internal/nativeledger"
)

func fixture(t *testing.T, name string) store.Ledger {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	st, err := nativeledger.Open(path, nativeledger.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return st
}

// key names a sandbox of the fixtures by the number that its id begins with.
func key(name, number string) store.Key {
	return store.Key{Name: name, SandboxID: strings.Repeat("0", 8-len(number)) + number + "-aaaa-bbbb-cccc-dddddddddddd"}
}

// summary is what a test compares of a replay: kind, command, exit code, stdout and stderr by seq.
func summary(execs map[int64]*ledger.Exec) string {
	var out []string
	for _, seq := range slices.Sorted(maps.Keys(execs)) {
		x := execs[seq]
		out = append(out, fmt.Sprintf("%d %s %q %d %q %q", seq, x.Kind, x.Command, x.ExitCode, x.Stdout, x.Stderr))
	}
	return strings.Join(out, "\n")
}

// What the reference's ledgers hold, read with the sqlite3 command.
const (
	untilT1 = `1 exec "printf 'a\\nb\\n\\nc'; echo err >&2" 0 "a\nb\n\nc\n" "err\n"
2 exec "exit 3" 3 "" ""
3 exec "exit 4" 4 "" ""
4 code "1+1" 0 "code:1+1" ""
5 session "echo héllo ✓" 0 "héllo ✓\n" ""`
	six   = "\n" + `6 exec "echo after-t1" 0 "after-t1\n" ""`
	seven = "\n" + `7 exec "echo after-cp2" 0 "after-cp2\n" ""`
	live6 = "\n" + `6 exec "echo live6" 0 "live6\n" ""`
)

func TestReplayOfReferenceLedgers(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"reference-dotted.db", "reference-snake.db", "reference-snake-migrated.db"} {
		for _, c := range []struct {
			number   string
			opts     ledger.ReplayOptions
			snapshot string
			want     string
			lineage  int
		}{
			{"1", ledger.ReplayOptions{}, "snap-00000004", untilT1 + six + seven, 1},
			{"1", ledger.ReplayOptions{Tag: "forktag"}, "snap-00000004", untilT1 + six + seven, 1},
			{"1", ledger.ReplayOptions{Tag: "t1"}, "snap-00000002", untilT1, 1},
			// Resumed from 1 at t1; the sixth ran live.
			{"6", ledger.ReplayOptions{}, "snap-00000007", untilT1 + live6, 2},
			{"6", ledger.ReplayOptions{Tag: "r1cp"}, "snap-00000007", untilT1 + live6, 2},
			{"6", ledger.ReplayOptions{OwnOnly: true}, "snap-00000007", strings.TrimPrefix(live6, "\n"), 1},
			{"6", ledger.ReplayOptions{Tag: "t1"}, "snap-00000002", untilT1, 2},
			// Resumed from 6; made no checkpoint of its own.
			{"8", ledger.ReplayOptions{}, "snap-00000007", untilT1 + live6, 3},
		} {
			t.Run(fmt.Sprintf("%s/%s/%+v", file, c.number, c.opts), func(t *testing.T) {
				t.Parallel()
				r, err := ledger.BuildReplay(t.Context(), fixture(t, file), key("run-a", c.number), c.opts)
				if err != nil {
					t.Fatal(err)
				}
				if got := summary(r.Results); got != c.want {
					t.Errorf("results:\n%s\nwant:\n%s", got, c.want)
				}
				if r.Checkpoint.SnapshotID != c.snapshot || len(r.Lineage) != c.lineage || r.Skipped != 0 || len(r.Unfinished) != 0 {
					t.Errorf("checkpoint %+v, lineage %d, skipped %d %v, unfinished %v", r.Checkpoint, len(r.Lineage), r.Skipped, r.Problems, r.Unfinished)
				}
				if created := string(r.Lineage[len(r.Lineage)-1].Created); !strings.Contains(created, `"sandboxId":"`+r.Key.SandboxID) {
					t.Errorf("created payload is %s", created)
				}
			})
		}
	}
}

func TestReplayWithoutCheckpoint(t *testing.T) {
	t.Parallel()
	st := fixture(t, "reference-dotted.db")
	for _, c := range []struct {
		key  store.Key
		opts ledger.ReplayOptions
		want string
	}{
		{key("run-a", "1"), ledger.ReplayOptions{Tag: "nope"}, `has no checkpoint tagged "nope"; its tags are "t1", "forktag"`},
		{key("run-a", "6"), ledger.ReplayOptions{Tag: "forktag"}, `has no checkpoint tagged "forktag"; its tags are "t1", "r1cp"`},
		{key("run-a", "8"), ledger.ReplayOptions{OwnOnly: true}, `has no checkpoint`},
		{key("restored", "e"), ledger.ReplayOptions{Tag: "x"}, `has no checkpoint tagged "x", and none with another tag`},
		{key("nobody", "f"), ledger.ReplayOptions{}, `sandbox nobody/0000000f-aaaa-bbbb-cccc-dddddddddddd has no checkpoint`},
	} {
		_, err := ledger.BuildReplay(t.Context(), st, c.key, c.opts)
		var none *ledger.NoCheckpointError
		if !errors.As(err, &none) || !errors.Is(err, store.ErrNotFound) || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("replaying %s with %+v: %v, want %q", c.key, c.opts, err, c.want)
		}
	}
}

func TestReadAllOfAFixture(t *testing.T) {
	t.Parallel()
	n, last := 0, int64(0)
	for e, err := range ledger.ReadAll(t.Context(), fixture(t, "reference-dotted.db")) {
		if err != nil || e.ID <= last {
			t.Fatalf("entry %d follows %d, error %v", e.ID, last, err)
		}
		n, last = n+1, e.ID
	}
	if n != 91 {
		t.Errorf("%d entries, want 91", n)
	}
}

// row makes an entry of a sandbox; "" is SQL NULL.
func row(id string, ts, step int64, event, payload string) store.Entry {
	e := store.Entry{TS: ts, Name: "run", SandboxID: id, StepIndex: step, Event: event}
	if payload != "" {
		e.Payload = json.RawMessage(payload)
	}
	return e
}

// written makes a store with rows that anyone may have written.
func written(t testing.TB, rows ...store.Entry) *nativeledger.Ledger {
	t.Helper()
	st, err := nativeledger.Open(filepath.Join(t.TempDir(), "ledger.db"), nativeledger.Options{Synchronous: "off"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if err := st.Insert(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	return st
}

func TestReplayTolerates(t *testing.T) {
	t.Parallel()
	st := written(t,
		row("a", 1, -1, "sandbox.created", `{"runId":"r"}`),
		row("a", 2, 1, "exec.output", `{"seq":1,"type":"stdout","text":"before its start"}`),
		row("a", 3, 1, "exec.started", `{"cmd":"first","seq":1}`),
		row("a", 4, 1, "exec.output", `{"seq":1,"type":"stdout","text":"one"}`),
		row("a", 5, 1, "exec.completed", `{"seq":1,"exitCode":1}`),
		row("a", 6, 1, "exec.started", `{"seq":1,"cmd":"again","digest":"1:none:x","future":{"a":[1,"}"]}}`), // connect starts at 1 again
		row("a", 7, 1, "exec.output", `{"type":"stdout","text":"two"}`),                                      // seq from the row
		row("a", 8, 1, "exec.output", `{"seq":1,"type":"new-kind","text":"?"}`),
		row("a", 9, 1, "exec.output", `{"seq":1,"type":"ping"}`),
		row("a", 10, 1, "exec.output", `{"seq":1,"type":"stdout","text":""}`),
		row("a", 11, 1, "exec.output", `{"seq":1,"type":"stdout","text":"é\ud83d\ude00\ud800 \"q\""}`),
		row("a", 12, 1, "exec.output", `{"seq":1,"type":"stderr","text":17}`),
		row("a", 13, 1, "exec_complete", `{"exitCode":2e0,"seq":1.0,"reason":"canceled"}`),
		row("a", 14, 2, "exec.completed", `{"seq":2,"exitCode":0}`), // never started
		row("a", 15, 3, "exec_start", `{"seq":3,"cmd":"sh","interactive":true,"cwd":"/w"}`),
		row("a", 16, 3, "exec_event", `{"seq":3,"type":"stdout","text":"$ "}`),
		row("a", 17, 3, "exec_event", `{"seq":3,"type":"stdin","text":"ls\n"}`),
		row("a", 18, 3, "exec_event", `{"seq":3,"type":"stdout","text":"x\r\n"}`),
		row("a", 19, 4, "exec.started", `{"seq":4,"code":"print()"}`),
		row("a", 20, 4, "exec.output", `{"seq":4,"type":"stdout","text":"p\n"}`),
		row("a", 21, 4, "exec.output", `{"seq":4,"type":"stdout","text":"q"}`),
		row("a", 22, 4, "exec.completed", `{"seq":4,"exitCode":0}`),
		row("a", 23, -1, "my.event", `anything`),
		// What can't be used:
		row("a", 30, 5, "exec.started", ""),
		row("a", 31, 5, "exec.started", `{"seq":5`),
		row("a", 32, 5, "exec.started", `{"seq":5}`),
		row("a", 33, 5, "exec.output", `null`),
		row("a", 34, 5, "exec.completed", ""),
		row("a", 35, 6, "exec.completed", `{"seq":6}`),
		row("a", 36, 6, "exec.completed", `{"seq":6,"exitCode":"0"}`),
		row("a", 37, -1, "exec.output", `{"type":"stdout","text":"whose?"}`),
		row("a", 38, -1, "sandbox.checkpoint_created", ``),
		row("a", 40, -1, "snapshot", `{"snapshotId":"s1","name":"t"}`),
		row("a", 41, -1, "sandbox.checkpoint_created", `{"name":"t"}`),
		row("a", 42, 3, "exec.completed", `{"seq":3,"exitCode":0}`),
		row("a", 43, 7, "exec.started", `{"seq":7,"cmd":"after"}`),
	)
	for _, tag := range []string{"", "t"} { // the last checkpoint names no snapshot: the one before counts
		r, err := ledger.BuildReplay(t.Context(), st, store.Key{Name: "run", SandboxID: "a"}, ledger.ReplayOptions{Tag: tag})
		if err != nil {
			t.Fatal(err)
		}
		want := `1 exec "again" 2 "two\né😀� \"q\"\n" ""
2  "" 0 "" ""
4 code "print()" 0 "p\nq" ""`
		if got := summary(r.Results); got != want {
			t.Errorf("results:\n%s\nwant:\n%s", got, want)
		}
		if got, want := summary(r.Unfinished), `3 interactive "sh" 0 "$ x\r\n" ""`; got != want {
			t.Errorf("unfinished:\n%s\nwant:\n%s", got, want)
		}
		x := r.Results[1]
		if x.Reason != "canceled" || x.Digest != "1:none:x" || x.StartedAt != 6 || x.EndedAt != 13 || !strings.HasPrefix(string(x.Started), `{"seq":1,"cmd":"again"`) {
			t.Errorf("exec 1 is %+v", x)
		}
		if in := r.Unfinished[3].Stdin; len(in) != 1 || in[0] != "ls\n" {
			t.Errorf("stdin is %q", in)
		}
		if r.Checkpoint.SnapshotID != "s1" || r.Checkpoint.Tag != "t" || r.Checkpoint.TS != 40 {
			t.Errorf("checkpoint is %+v", r.Checkpoint)
		}
		var skipped []string
		for _, p := range r.Problems {
			skipped = append(skipped, p.String())
		}
		if r.Skipped != 9 || len(skipped) != 9 || !strings.Contains(skipped[0], "run/a: entry 24 (exec.started): the payload is not a JSON object") {
			t.Errorf("skipped %d:\n%s", r.Skipped, strings.Join(skipped, "\n"))
		}
	}
}

func TestReplayCompletedTwice(t *testing.T) {
	t.Parallel()
	st := written(t,
		row("a", 1, 1, "exec.started", `{"seq":1,"cmd":"x"}`), row("a", 2, 1, "exec.output", `{"seq":1,"type":"stdout","text":"o"}`),
		row("a", 3, 1, "exec.completed", `{"seq":1,"exitCode":0}`), row("a", 4, 1, "exec.completed", `{"seq":1,"exitCode":9}`),
		row("a", 5, 1, "exec.started", `{"seq":1,"cmd":"y"}`), // the cached one stays until this completes
		row("a", 6, -1, "sandbox.checkpoint_created", `{"snapshotId":"s"}`),
	)
	r, err := ledger.BuildReplay(t.Context(), st, store.Key{Name: "run", SandboxID: "a"}, ledger.ReplayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := summary(r.Results), `1 exec "x" 9 "o\n" ""`; got != want {
		t.Errorf("results: %s, want %s", got, want)
	}
	if got, want := summary(r.Unfinished), `1 exec "y" 0 "" ""`; got != want {
		t.Errorf("unfinished: %s, want %s", got, want)
	}
}

func TestReplayBoundsText(t *testing.T) {
	t.Parallel()
	st := written(t,
		row("a", 1, 1, "exec.started", `{"seq":1,"code":"x"}`), row("a", 2, 1, "exec.output", `{"seq":1,"type":"stdout","text":"ab€"}`),
		row("a", 3, 1, "exec.output", `{"seq":1,"type":"stdout","text":"c"}`), row("a", 4, 1, "exec.output", `{"seq":1,"type":"stderr","text":"e"}`),
		row("a", 5, 1, "exec.completed", `{"seq":1,"exitCode":0}`), row("a", 6, -1, "sandbox.checkpoint_created", `{"snapshotId":"s"}`),
	)
	r, err := ledger.BuildReplay(t.Context(), st, store.Key{Name: "run", SandboxID: "a"}, ledger.ReplayOptions{MaxText: 4})
	if err != nil {
		t.Fatal(err)
	}
	if x := r.Results[1]; x.Stdout != "ab" || x.Stderr != "e" || !x.Truncated {
		t.Errorf("exec is %+v", x)
	}
}

func TestLineageProblems(t *testing.T) {
	t.Parallel()
	st := written(t,
		row("orphan", 1, -1, "sandbox.created", `{"resumedFrom":"gone","snapshotId":"s"}`), row("orphan", 2, -1, "sandbox.checkpoint_created", `{"snapshotId":"o"}`),
		row("base", 1, -1, "sandbox.created", `{}`), row("base", 2, 1, "exec.started", `{"seq":1,"cmd":"b"}`), row("base", 3, 1, "exec.completed", `{"seq":1,"exitCode":0}`),
		row("lost", 1, -1, "sandbox.created", `{"resumedFrom":"base","snapshotId":"pruned"}`), row("lost", 2, -1, "sandbox.checkpoint_created", `{"snapshotId":"l"}`),
		row("x", 1, -1, "sandbox.created", `{"resumedFrom":"y","snapshotId":"sy"}`), row("x", 2, -1, "sandbox.checkpoint_created", `{"snapshotId":"sx"}`),
		row("y", 1, -1, "sandbox.created", `{"resumedFrom":"x","snapshotId":"sx"}`), row("y", 2, -1, "sandbox.checkpoint_created", `{"snapshotId":"sy"}`),
	)
	for id, want := range map[string]string{
		"orphan": `run/orphan: it was resumed from sandbox "gone", whose ledger is gone`,
		"lost":   `run/lost: it was resumed from snapshot "pruned", which the ledger of run/base does not know`,
		"x":      `run/y: it was resumed from run/x, which was resumed from it`,
	} {
		r, err := ledger.BuildReplay(t.Context(), st, store.Key{Name: "run", SandboxID: id}, ledger.ReplayOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Problems) != 1 || r.Problems[0].String() != want || len(r.Results) != 0 {
			t.Errorf("problems of %s are %v, want %s", id, r.Problems, want)
		}
	}
}

// A tag of the ancestor that was given again after the checkpoint at which it was resumed.
func TestTagOfAnAncestor(t *testing.T) {
	t.Parallel()
	st := written(t,
		row("p", 1, -1, "sandbox.created", `{}`), row("p", 2, -1, "sandbox.checkpoint_created", `{"snapshotId":"s1","name":"t"}`),
		row("p", 3, -1, "sandbox.checkpoint_created", `{"snapshotId":"s2"}`), row("p", 4, -1, "sandbox.checkpoint_created", `{"snapshotId":"s3","name":"t"}`),
		row("c", 5, -1, "sandbox.created", `{"resumedFrom":"p","snapshotId":"s2"}`),
	)
	for tag, want := range map[string]string{"t": "s1", "": "s2"} {
		r, err := ledger.BuildReplay(t.Context(), st, store.Key{Name: "run", SandboxID: "c"}, ledger.ReplayOptions{Tag: tag})
		if err != nil || r.Checkpoint.SnapshotID != want || r.Checkpoint.Key.SandboxID != "p" {
			t.Errorf("tag %q: %+v, error %v; want snapshot %s of p", tag, r, err, want)
		}
	}
}

func TestAppendText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind   ledger.Kind
		frames []string
		want   string
	}{
		{ledger.KindExec, []string{"a", "b", "\n", "c"}, "a\nb\n\nc\n"},
		{ledger.KindSession, []string{"", "a", ""}, "a\n"},
		{ledger.KindCode, []string{"a", "b\n", "\n", "c"}, "ab\n\nc"},
		{ledger.KindInteractive, []string{"$ ", "x\r\n", "\n"}, "$ x\r\n\n"},
		{"", []string{"a", "b"}, "ab"},
	} {
		var got []byte
		for _, frame := range c.frames {
			got = c.kind.AppendText(got, frame)
		}
		if string(got) != c.want {
			t.Errorf("%s of %q is %q, want %q", c.kind, c.frames, got, c.want)
		}
	}
}
