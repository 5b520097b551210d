package ledger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
)

// rows is a store that only reads, as much as replay needs of one.
type rows struct {
	store.Ledger
	entries []store.Entry
}

func (r rows) Read(_ context.Context, key store.Key, opts store.ReadOptions) (store.Page, error) {
	at := 0
	if len(opts.Cursor) > 0 {
		at = int(opts.Cursor[0])<<8 | int(opts.Cursor[1])
	}
	page := store.Page{Cursor: opts.Cursor}
	for ; at < len(r.entries); at++ {
		if len(page.Entries) == opts.Limit {
			page.More = true
			break
		}
		if r.entries[at].SandboxID == key.SandboxID {
			page.Entries = append(page.Entries, r.entries[at])
		}
	}
	page.Cursor = []byte{byte(at >> 8), byte(at)}
	return page, nil
}

func (r rows) LastCheckpoint(context.Context, store.Key, string) (store.Entry, error) {
	return store.Entry{}, store.ErrNotFound
}

func (r rows) ListCheckpoints(context.Context, store.Key, store.ReadOptions) (store.CheckpointPage, error) {
	return store.CheckpointPage{Checkpoints: []store.Checkpoint{{SnapshotID: "s1"}}}, nil
}

func (r rows) FindSandbox(_ context.Context, id string) (store.Details, error) {
	return store.Details{Name: "run", SandboxID: id}, nil
}

// FuzzReplay replays ledgers of any rows: a line is a sandbox, a step, an event and a payload.
func FuzzReplay(f *testing.F) {
	f.Add([]byte("a 255 sandbox.created {\"resumedFrom\":\"b\",\"snapshotId\":\"s1\"}\na 1 exec.started {\"cmd\":\"x\",\"seq\":1}\n" +
		"a 1 exec.output {\"seq\":1,\"type\":\"stdout\",\"text\":\"\\ud800x\"}\na 1 exec.completed {\"seq\":1,\"exitCode\":0}\n" +
		"a 255 sandbox.checkpoint_created {\"snapshotId\":\"s1\",\"name\":\"t\"}\nb 255 sandbox.created {\"resumedFrom\":\"a\",\"snapshotId\":\"s1\"}"))
	f.Add([]byte("a 3 exec_start {\"code\":1,\"seq\":1e400}\na 3 exec_complete {\"exitCode\":-0}\na 0 snapshot {\"snapshotId\":\"s1\"}"))
	f.Fuzz(func(t *testing.T, script []byte) {
		var st rows
		events := 0
		for line := range bytes.SplitSeq(script, []byte("\n")) {
			parts := bytes.SplitN(line, []byte(" "), 4)
			if len(parts) != 4 || len(parts[1]) == 0 {
				continue
			}
			e := store.Entry{
				ID: int64(len(st.entries) + 1), TS: 1, Name: "run", SandboxID: string(parts[0]), StepIndex: int64(int8(parts[1][0] - '0')), //nolint:gosec // any
				Event: string(parts[2]), Payload: append(json.RawMessage(nil), parts[3]...),
			}
			st.entries = append(st.entries, e)
			events++
		}
		for _, opts := range []ledger.ReplayOptions{{}, {Tag: "t", MaxText: 3}, {OwnOnly: true}} {
			r, err := ledger.BuildReplay(t.Context(), st, store.Key{Name: "run", SandboxID: "a"}, opts)
			if err != nil {
				continue
			}
			if r.Checkpoint.SnapshotID == "" || len(r.Lineage) == 0 || len(r.Results) > events || len(r.Problems) > r.Skipped {
				t.Fatalf("replay is %+v", r)
			}
			for seq, x := range r.Results {
				if x.Seq != seq || opts.MaxText > 0 && len(x.Stdout) > 3 {
					t.Fatalf("exec %d is %+v", seq, x)
				}
			}
		}
	})
}

// FuzzPayload checks the walk over members against encoding/json.
func FuzzPayload(f *testing.F) {
	for _, seed := range []string{
		`{"seq":1,"type":"stdout","text":"a\"}{"}`, `{}`, ` { "a" : [ 1 , {"b":"]"} ] , "c" : null }`, `{"\u0061":"\ud83d\ude00\ud800"}`, `[]`, ``, "{\"a\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		got, err := ledger.Members(payload)
		var want map[string]json.RawMessage
		if json.Unmarshal(payload, &want) != nil || want == nil {
			if err == nil {
				t.Fatalf("%q has members %q", payload, got)
			}
			return
		}
		if err != nil || len(got) != len(want) {
			t.Fatalf("members of %q are %q, error %v; want %q", payload, got, err, want)
		}
		for name, value := range want {
			if !bytes.Equal(got[name], value) {
				t.Fatalf("member %q of %q is %q, want %q", name, payload, got[name], value)
			}
			var s string
			if value[0] == '"' && json.Unmarshal(value, &s) == nil && ledger.Text(value) != s {
				t.Fatalf("text of %q is %q, want %q", value, ledger.Text(value), s)
			}
		}
	})
}
