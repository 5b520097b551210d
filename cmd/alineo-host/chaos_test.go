package main

import (
	"bufio"
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/internal/testcache"
)

// chaosScript has three checkpoints, and leaves its history in a file.
const chaosScript = `write /workspace/log.txt <<END
begin
END
exec echo one >> /workspace/log.txt; sleep 0.1; echo said one
checkpoint first
exec echo two >> /workspace/log.txt; sleep 0.1; echo said two
checkpoint second
exec echo three >> /workspace/log.txt; sleep 0.1; echo said three
checkpoint third
exec echo four >> /workspace/log.txt; sleep 0.1; echo said four
read /workspace/log.txt
`

// chaosOutput is what it prints, undisturbed or not.
const chaosOutput = "said one\nsaid two\nsaid three\nsaid four\nbegin\none\ntwo\nthree\nfour\n"

// TestChaosResume kills a run with SIGKILL at random moments and resumes it, killed again and again,
// until it is done. In the end it has printed and left in the sandbox what an undisturbed run does;
// what was answered from the ledger has no row of its own, and no sandbox that the ledger knew is left
// when all are deleted.
func TestChaosResume(t *testing.T) {
	t.Parallel()
	if !sandboxes(t) {
		t.Skip("this machine can run no sandbox")
	}
	rounds := 2
	if n, err := strconv.Atoi(os.Getenv("ALINEO_CHAOS_ROUNDS")); err == nil && n > 0 {
		rounds = max(n/25, 1) // a round of this one takes long
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	c := &chaos{dir: t.TempDir(), random: rand.New(rand.NewPCG(seed, 0)), known: map[string]bool{}, orphans: map[string]bool{}}
	var err error
	if c.data, err = engineData(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(c.data) })
	c.write(t, "alineo.toml", fmt.Sprintf("[engine]\ndata = %q\n[log]\nlevel = \"error\"\n", c.data))
	c.write(t, "job.alineo", chaosScript)
	for round := range rounds {
		c.round(t)
		c.audit(t)
		c.deleteAll(t)
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	t.Logf("%d rounds: %d kills, %d runs that began anew, %d resumed, %d killed while a sandbox was being made",
		rounds, c.kills, c.anew, c.resumed, len(c.orphans))
}

type chaos struct {
	dir, data            string
	random               *rand.Rand
	kills, anew, resumed int
	known                map[string]bool // every sandbox that was ever in the ledger
	orphans              map[string]bool // those that never were: killed while they were being made
}

func (c *chaos) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// fate is when a program is killed: some time after it has printed some lines. Nil is never.
type fate struct {
	lines int
	after time.Duration
}

// fate is now while it starts, now after any of its steps.
func (c *chaos) fate() *fate {
	if c.random.Int64N(4) == 0 {
		return &fate{after: time.Duration(c.random.Int64N(int64(1500 * time.Millisecond)))}
	}
	return &fate{lines: 1 + int(c.random.Int64N(4)), after: time.Duration(c.random.Int64N(int64(250 * time.Millisecond)))}
}

// run runs the program, and kills it when its fate is there. Its output is kept.
func (c *chaos) run(t *testing.T, end *fate, args ...string) (stdout, stderr string, killed bool, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "alineo-host", args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "HOME="+c.dir, "XDG_CACHE_HOME="+testcache.Home())
	var errs bytes.Buffer
	cmd.Stderr = &errs
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	reader := bufio.NewReader(pipe)
	var timer *time.Timer
	for n := 0; ; n++ {
		if end != nil && n == end.lines {
			timer = time.AfterFunc(end.after, func() { _ = cmd.Process.Kill() })
		}
		line, err := reader.ReadString('\n')
		out.WriteString(line)
		if err != nil {
			break
		}
	}
	err = cmd.Wait()
	if timer != nil {
		timer.Stop()
	}
	return out.String(), errs.String(), err != nil && !cmd.ProcessState.Exited(), err
}

// round runs the script to its end.
func (c *chaos) round(t *testing.T) {
	t.Helper()
	for try := 0; ; try++ {
		end := c.fate()
		if try >= 5 {
			end = nil
		}
		args := []string{"run", "--name", "job", "--lifetime", "1m", "--script", "job.alineo"}
		id, checkpoints := c.newest(t)
		if checkpoints {
			args = []string{"resume", id, "--lifetime", "1m", "--script", "job.alineo"}
		}
		stdout, stderr, killed, err := c.run(t, end, args...)
		if checkpoints {
			c.resumed++
		} else {
			c.anew++
		}
		if n := c.countOld(t, id); checkpoints && n != 0 {
			t.Errorf("resuming %s wrote %d rows to it", id, n)
		}
		switch {
		case killed:
			c.kills++
		case err != nil:
			t.Fatalf("%v: %v: %s", args, err, stderr)
		default:
			if stdout != chaosOutput {
				t.Errorf("%v printed %q", args, stdout)
			}
			return
		}
	}
}

// db opens the ledger past the host; nil when there is none yet.
func (c *chaos) db(t *testing.T) *sql.DB {
	t.Helper()
	file := filepath.Join(c.dir, ".alineo", "ledger.db")
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	db, err := sql.Open("sqlite", "file:"+file+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM sqlite_master WHERE name = 'alineo_events'`).Scan(&n); err != nil || n == 0 {
		_ = db.Close()
		return nil
	}
	return db
}

// one reads the cells of one row; false when there is none.
func (c *chaos) one(t *testing.T, query string, args []any, into ...any) bool {
	t.Helper()
	db := c.db(t)
	if db == nil {
		return false
	}
	defer func() { _ = db.Close() }()
	err := db.QueryRowContext(t.Context(), query, args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	return true
}

// newest returns the sandbox that was made last, and whether it or its ancestors have a checkpoint.
func (c *chaos) newest(t *testing.T) (id string, checkpoints bool) {
	t.Helper()
	var n int
	c.one(t, `SELECT sandbox_id, (SELECT count(*) FROM alineo_events c WHERE c.sandbox_id = e.sandbox_id AND c.event = 'sandbox.checkpoint_created')
		+ (json_extract(payload, '$.resumedFrom') IS NOT NULL)
		FROM alineo_events e WHERE event = 'sandbox.created' ORDER BY id DESC LIMIT 1`, nil, &id, &n)
	return id, n > 0
}

func (c *chaos) count(t *testing.T) (n int) {
	t.Helper()
	c.one(t, `SELECT count(*) FROM alineo_events`, nil, &n)
	return n
}

// countOld counts the rows of a sandbox that came after one that was made from it.
func (c *chaos) countOld(t *testing.T, id string) (n int) {
	t.Helper()
	c.one(t, `SELECT count(*) FROM alineo_events WHERE sandbox_id = ?1 AND id > (SELECT min(id) FROM alineo_events
		WHERE event = 'sandbox.created' AND json_extract(payload, '$.resumedFrom') = ?1)`, []any{id}, &n)
	return n
}

// audit checks that every sandbox that was resumed begins behind the checkpoint that it came from.
func (c *chaos) audit(t *testing.T) {
	t.Helper()
	db := c.db(t)
	if db == nil {
		t.Fatal("there is no ledger")
	}
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(t.Context(), `SELECT sandbox_id, step_idx, event, coalesce(payload, '{}') FROM alineo_events ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	steps := map[string]int{}     // by sandbox, the last that began
	snapshots := map[string]int{} // by snapshot, the last step in it
	for rows.Next() {
		var id, event, payload string
		var step int
		if err := rows.Scan(&id, &step, &event, &payload); err != nil {
			t.Fatal(err)
		}
		var p struct {
			SnapshotID, ResumedFrom string
			Kind                    string
		}
		if err := json.Unmarshal([]byte(payload), &p); err != nil {
			t.Fatal(err)
		}
		switch event {
		case "sandbox.created":
			c.known[id] = true
			if p.ResumedFrom != "" {
				last, ok := snapshots[p.SnapshotID]
				if !ok {
					t.Errorf("sandbox %s was made from snapshot %q, which no checkpoint names", id, p.SnapshotID)
				}
				steps[id] = last
			}
		case "exec.started":
			if step != steps[id]+1 {
				t.Errorf("sandbox %s runs step %d after %d", id, step, steps[id])
			}
			steps[id] = step
		case "sandbox.checkpoint_created":
			snapshots[p.SnapshotID] = steps[id]
		case "script.step":
			if p.Kind == "write" && steps[id] > 0 {
				t.Errorf("sandbox %s has a row for a step that was answered from the ledger", id)
			}
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// deleteAll deletes every sandbox, and looks for what is left of them.
func (c *chaos) deleteAll(t *testing.T) {
	t.Helper()
	stdout, stderr, _, err := c.run(t, nil, "sandboxes", "list", "--json", "-n", "0")
	if err != nil {
		t.Fatalf("listing: %v: %s", err, stderr)
	}
	for line := range strings.Lines(stdout) {
		var box struct{ SandboxID string }
		if err := json.Unmarshal([]byte(line), &box); err != nil {
			t.Fatal(err)
		}
		if _, stderr, _, err := c.run(t, nil, "sandboxes", "delete", box.SandboxID); err != nil {
			t.Errorf("deleting %s: %v: %s", box.SandboxID, err, stderr)
		}
	}
	if n := c.count(t); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	left, err := os.ReadDir(filepath.Join(c.data, "sandboxes"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range left {
		// One that was killed before the ledger had it ends with its lifetime.
		if c.orphans[entry.Name()] = true; c.known[entry.Name()] {
			t.Errorf("sandbox %s is left", entry.Name())
		}
	}
}
