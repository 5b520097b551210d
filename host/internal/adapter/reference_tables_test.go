package adapter_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
)

// What the reference's SQLite adapter does when it connects.
const referenceLite = `DROP INDEX IF EXISTS alineo_events_sandbox_id; DROP INDEX IF EXISTS alineo_events_name;
CREATE TABLE IF NOT EXISTS alineo_events (id INTEGER PRIMARY KEY, sandbox_id TEXT NOT NULL, name TEXT NOT NULL,
 step_idx INTEGER NOT NULL, branch INTEGER, event TEXT NOT NULL, payload TEXT, error TEXT, ts INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS alineo_events_name_sandbox_ts ON alineo_events(name, sandbox_id, ts, id);
CREATE TABLE IF NOT EXISTS alineo_environments (name TEXT PRIMARY KEY, snapshot_id TEXT NOT NULL, image TEXT NOT NULL, built_at INTEGER NOT NULL);
UPDATE alineo_events SET event = CASE event WHEN 'sandbox_created' THEN 'sandbox.created' WHEN 'exec_complete' THEN 'exec.completed' ELSE event END
 WHERE event IN ('sandbox_created', 'exec_complete');
PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL`

// The columns of the two tables that both programs use, their indexes but for ours, and what else there may be.
const (
	shapeLite = `SELECT (SELECT group_concat(name || ' ' || type || ' ' || "notnull" || ' ' || coalesce(dflt_value, '-') || ' ' || pk, ', ') FROM pragma_table_info('alineo_events'))
 || ' / ' || (SELECT group_concat(name || ' ' || type || ' ' || "notnull" || ' ' || coalesce(dflt_value, '-') || ' ' || pk, ', ') FROM pragma_table_info('alineo_environments'))
 || ' / ' || (SELECT group_concat(i.name || '(' || (SELECT group_concat(name) FROM pragma_index_info(i.name)) || ')', ', ')
  FROM (SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name IN ('alineo_events', 'alineo_environments') AND name NOT LIKE 'alineo_host%' ORDER BY name) i)
 || ' / ' || (SELECT count(*) FROM sqlite_master WHERE type NOT IN ('table', 'index')) || ' ' || (SELECT user_version FROM pragma_user_version)
 || ' ' || (SELECT journal_mode FROM pragma_journal_mode)`

	shapePostgres = `SELECT (SELECT string_agg(concat_ws(' ', table_name, column_name, data_type, is_nullable, column_default), ', ' ORDER BY table_name, ordinal_position)
  FROM information_schema.columns WHERE table_name IN ('alineo_events', 'alineo_environments'))
 || ' / ' || (SELECT string_agg(indexdef, ', ' ORDER BY indexname) FROM pg_indexes
  WHERE tablename IN ('alineo_events', 'alineo_environments') AND indexname NOT LIKE 'alineo_host%')
 || ' / ' || (SELECT count(*) FROM pg_trigger)`
)

// references are what the reference does when it connects, and the question what came of it, by guest.
var references = map[string]struct{ connect, shape string }{
	"sqlite": {referenceLite, shapeLite}, "postgres": {referenceNow, shapePostgres},
}

// TestTablesAreTheReferences compares the two tables that both programs use with what the reference makes.
func TestTablesAreTheReferences(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, at *place) {
		if _, err := at.open().ListEnvironments(t.Context()); err != nil {
			t.Fatal(err)
		}
		how := references[at.guest.Name()]
		ours := at.text(how.shape)
		at.must(t, "DROP TABLE alineo_events", "DROP TABLE alineo_environments", how.connect)
		if theirs := at.text(how.shape); ours != theirs {
			t.Errorf("ours:\n%s\nthe reference's:\n%s", ours, theirs)
		}
	})
}

// TestSQLiteReferenceFiles lets two hosts use what the reference wrote: its older generation's files become,
// row by row, what the reference itself has made of the same file, and its newer ones stay as they are.
func TestSQLiteReferenceFiles(t *testing.T) {
	t.Parallel()
	const rows = `SELECT count(*) || ' ' || group_concat(id || sandbox_id || name || step_idx || coalesce(branch, '-') || event || coalesce(payload, '-') || coalesce(error, '-') || ts)
 FROM (SELECT * FROM alineo_events ORDER BY id)`
	const environments = `SELECT group_concat(name || snapshot_id || image || built_at) FROM alineo_environments`
	for file, becomes := range map[string]string{
		"reference-dotted.db": "reference-dotted.db", "reference-snake-migrated.db": "reference-snake-migrated.db",
		"reference-snake.db": "reference-snake-migrated.db",
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			mine, want := filepath.Join(dir, "mine.db"), filepath.Join(dir, "want.db")
			for name, from := range map[string]string{mine: file, want: becomes} {
				content, err := os.ReadFile(filepath.Join("..", "..", "ledger", "testdata", from))
				if err == nil {
					err = os.WriteFile(name, content, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			rt := newRuntime(t)
			var group sync.WaitGroup
			for range 2 {
				l := patientSQLite(t, rt, mine, time.Minute)
				group.Go(func() {
					list, err := l.ListSandboxes(t.Context(), store.ListOptions{})
					if err != nil || len(list.Sandboxes) < 8 {
						t.Errorf("%d sandboxes, %v", len(list.Sandboxes), err)
					}
				})
			}
			group.Wait()
			for _, question := range []string{rows, environments, shapeLite} {
				if got, want := onFile(t, mine, question), onFile(t, want, question); got != want {
					t.Errorf("got:\n%.2000s\nwant:\n%.2000s", got, want)
				}
			}
		})
	}
}

// oldNames are the names of the reference's older generation, and what it makes of them.
const oldNames = `sandbox_created sandbox.created, sandbox_closed sandbox.closed, sandbox_paused sandbox.paused, sandbox_resumed sandbox.resumed,
 checkpoint_created sandbox.checkpoint_created, snapshot sandbox.checkpoint_created, exec_start exec.started, exec_event exec.output,
 exec_complete exec.completed, egress_rule_added egress.rule_added, egress_rule_removed egress.rule_removed, credential_bound credential.bound,
 credential_revoked credential.revoked, permission_requested permission.requested, permission_resolved permission.resolved,
 run_started workflow.started, workflow_complete workflow.completed, workflow_failed workflow.failed, step_start step.started,
 step_complete step.completed, step_failed step.failed, step_rolled_back step.rolled_back, checkpoint step.checkpointed,
 agent_message agent_message, Sandbox_created Sandbox_created`

// TestOldNames renames each of them, and nothing else.
func TestOldNames(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, at *place) {
		at.must(t, at.foreign.Create)
		var want []string
		for pair := range strings.SplitSeq(oldNames, ",") {
			was, is, _ := strings.Cut(strings.TrimSpace(pair), " ")
			at.must(t, "INSERT INTO alineo_events(sandbox_id, name, step_idx, event, ts) VALUES ('old', 'run', 1, '"+was+"', 7)")
			want = append(want, is)
		}
		page, err := at.open().Read(t.Context(), store.Key{Name: "run", SandboxID: "old"}, store.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := at.query("SELECT event FROM alineo_events ORDER BY id")
		if err != nil || len(rows) != len(want) || len(page.Entries) != len(want) {
			t.Fatalf("%d rows, %d entries, want %d: %v", len(rows), len(page.Entries), len(want), err)
		}
		for i := range want {
			if rows[i][0] != want[i] || page.Entries[i].Event != want[i] {
				t.Errorf("%v in the table and %s read, want %s", rows[i][0], page.Entries[i].Event, want[i])
			}
		}
	})
}

// What the reference asks for, in the meaning of its own statements.
const (
	referenceReads  = `SELECT id, ts, event, payload FROM alineo_events WHERE name = $1 AND sandbox_id = $2 ORDER BY ts ASC, id ASC`
	referenceAppend = `INSERT INTO alineo_events (sandbox_id, name, step_idx, branch, event, payload, error, ts) VALUES ($1, $2, $3, $4, $5, $6::jsonb, $7, $8)`
	referenceLast   = `SELECT id FROM alineo_events WHERE name = $1 AND sandbox_id = $2 AND event = 'sandbox.checkpoint_created' ORDER BY ts DESC, id DESC LIMIT 1`
	referenceLists  = `SELECT name, sandbox_id, MIN(ts) FILTER (WHERE event = 'sandbox.created') AS started, MAX(ts) FILTER (WHERE event = 'sandbox.closed'),
 COUNT(*) FILTER (WHERE event = 'exec.completed'), COALESCE(MAX(payload->>'runId') FILTER (WHERE event = 'sandbox.created'), sandbox_id)
 FROM alineo_events GROUP BY name, sandbox_id HAVING COUNT(*) FILTER (WHERE event = 'sandbox.created') > 0 ORDER BY started DESC`
	referenceTags    = `SELECT COALESCE(payload->>'snapshotId', ''), COALESCE(payload->>'name', ''), ts FROM alineo_events WHERE name = $1 AND sandbox_id = $2 AND event = 'sandbox.checkpoint_created' ORDER BY ts, id`
	referenceSaves   = `INSERT INTO alineo_environments (name, snapshot_id, image, built_at) VALUES ($1, $2, $3, $4) ON CONFLICT (name) DO UPDATE SET snapshot_id = EXCLUDED.snapshot_id, image = EXCLUDED.image, built_at = EXCLUDED.built_at`
	referenceBuilds  = `SELECT name, snapshot_id, image, built_at FROM alineo_environments ORDER BY built_at DESC`
	referenceDeletes = `DELETE FROM alineo_events WHERE name = $1 AND sandbox_id = $2`
)

// TestReferenceUsesOurs writes a ledger, lets the reference's statements connect to it, read it, add to it
// and delete from it, and reads what came of that.
func TestReferenceUsesOurs(t *testing.T) {
	t.Parallel()
	eachPlace(t, referenceUses)
}

func referenceUses(t *testing.T, at *place) {
	l := at.open()
	key := store.Key{Name: "run", SandboxID: "s-1"}
	w := ledger.NewWriter(l, ledger.WriterOptions{})
	for _, id := range []string{key.SandboxID, "s-2"} {
		s, err := w.Open(t.Context(), store.Key{Name: "run", SandboxID: id})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range []ledger.Event{
			{Step: -1, Name: store.EventSandboxCreated, Payload: json.RawMessage(`{"sandboxId":"` + id + `","runId":"r-` + id + `"}`)},
			{Step: 1, Name: store.EventExecStarted, Payload: json.RawMessage(`{"cmd":"true","seq":1}`)},
			{Step: 1, Name: store.EventExecOutput, Payload: json.RawMessage(`{"seq":1,"type":"stdout","text":"a\u0000b"}`)},
			{Step: 1, Name: store.EventExecCompleted, Payload: json.RawMessage(`{"exitCode":0,"seq":1}`)},
			{Step: -1, Name: store.EventCheckpointCreated, Payload: json.RawMessage(`{"snapshotId":"snap","name":"mid"}`)},
			{Step: -1, Name: store.EventSandboxClosed},
		} {
			if err := s.Append(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.SaveEnvironment(t.Context(), store.Environment{Name: "py", SnapshotID: "snap", Image: "python", BuiltAt: 5}); err != nil {
		t.Fatal(err)
	}
	ours := read(t, l)

	at.must(t, references[at.guest.Name()].connect)
	if diff := read(t, l).differs(ours); diff != nil {
		t.Errorf("after the reference connected, and before: %q", diff)
	}
	rows := func(query string, args ...any) [][]any {
		t.Helper()
		all, err := at.query(query, args...)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	all := rows(referenceReads, key.Name, key.SandboxID)
	if len(all) != 6 || all[0][2] != store.EventSandboxCreated || all[5][2] != store.EventSandboxClosed || all[5][3] != nil {
		t.Fatalf("readAll: %v", all)
	}
	frame, want := all[2][3], map[string]any{"seq": 1.0, "type": "stdout", "text": "a␀b"} // JSONB can't hold a NUL
	if text, ok := frame.(string); ok {
		frame, want["text"] = value(t, []byte(text)), "a\x00b"
	}
	if got, ok := frame.(map[string]any); !ok || got["type"] != want["type"] || got["text"] != want["text"] {
		t.Errorf("a frame with a NUL: %v", frame)
	}
	if got := rows(referenceLast, key.Name, key.SandboxID); len(got) != 1 || got[0][0] != all[4][0] {
		t.Errorf("lastCheckpoint: %v", got)
	}
	if got := rows(referenceTags, key.Name, key.SandboxID); len(got) != 1 || got[0][0] != "snap" || got[0][1] != "mid" {
		t.Errorf("listCheckpoints: %v", got)
	}
	list := rows(referenceLists)
	if len(list) != len(ours.Sandboxes) {
		t.Fatalf("listAllSandboxDetails: %v", list)
	}
	for _, got := range list {
		i := slices.IndexFunc(ours.Sandboxes, func(d store.Details) bool { return d.SandboxID == got[1] })
		if i < 0 {
			t.Fatalf("listAllSandboxDetails: %v", got)
		}
		if d := ours.Sandboxes[i]; got[0] != d.Name || got[1] != d.SandboxID || got[2] != d.StartedAt || got[4] != d.ExecCount || got[5] != d.RunID || got[3] != d.CompletedAt {
			t.Errorf("listAllSandboxDetails: %v, want %+v", got, d)
		}
	}
	if got := rows(referenceBuilds); len(got) != 1 || !reflect.DeepEqual(got[0], []any{"py", "snap", "python", int64(5)}) {
		t.Errorf("listEnvironments: %v", got)
	}
	// It adds, replaces and deletes.
	for _, change := range [][]any{
		{referenceAppend, key.SandboxID, key.Name, 2, nil, store.EventExecStarted, `{"cmd":"theirs","seq":2}`, nil, all[5][1].(int64) + 5},
		{referenceSaves, "py", "snap-2", "python", 6},
		{referenceDeletes, "run", "s-2"},
	} {
		rows(change[0].(string), change[1:]...)
	}
	after := read(t, l)
	if len(after.Sandboxes) != 1 || len(after.Entries) != 7 || after.Entries[6].StepIndex != 2 || after.Environments[0].SnapshotID != "snap-2" {
		t.Errorf("after its changes: %+v", after)
	}
	head, err := l.OpenLedger(t.Context(), key)
	if err != nil || head.LastStep != 2 || head.MaxTS != all[5][1].(int64)+5 {
		t.Errorf("the head does not see its entry: %+v, %v", head, err)
	}
}
