package host_test

import (
	"bufio"
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
)

// TestChaosAppend kills a host with SIGKILL at random moments while it appends, round after round, and
// looks into the file: what was acknowledged is there, once and in order, and the chain of segments
// is what its rows make.
func TestChaosAppend(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	c := appendChaos{random: rand.New(rand.NewPCG(seed, 0)).Int64N, ends: time.Now().Add(chaosTime)}
	asked := rounds(roundsPerLedger)
	for left := asked.n; left > 0 && (asked.all || time.Now().Before(c.ends)); left -= roundsPerLedger {
		c.ledger(t, min(left, roundsPerLedger), asked.all)
		if t.Failed() {
			return
		}
	}
	if c.acks == 0 {
		t.Error("nothing was ever acknowledged: the rounds were too short")
	}
	t.Logf("%d kills, %d of them before the first acknowledgement, %d ledgers: %d acknowledged, %d rows, %d segments",
		c.kills, c.early, c.ledgers, c.acks, c.rows, c.segments)
}

// roundsPerLedger is how often hosts are killed on one file, which grows.
const roundsPerLedger = 50

type appendChaos struct {
	random func(int64) int64
	ends   time.Time

	kills, early, ledgers, acks, rows, segments int
}

// ledger kills hosts on one file, up to so many times.
func (c *appendChaos) ledger(t *testing.T, most int, all bool) {
	t.Helper()
	s := newSite(t)
	a := newAuditor()
	c.ledgers++
	for round := 0; round < most && (all || round == 0 || time.Now().Before(c.ends)); round++ {
		acked := killed(t, s, round, c.random)
		c.kills++
		if acked == noAcks() {
			c.early++
		}
		for w, n := range acked {
			c.acks += n + 1
			a.acked[[2]int{round, w}] = n
		}
		a.audit(t, s.ledger)
		if t.Failed() {
			t.Fatalf("round %d of ledger %d", round, c.ledgers)
		}
	}
	whole := newAuditor()
	whole.acked = a.acked
	whole.audit(t, s.ledger)
	c.rows += whole.rows
	c.segments += whole.segments
	readBack(t, s, whole)
}

// readBack checks that what the file has is what a host reads.
func readBack(t *testing.T, s site, a *auditor) {
	t.Helper()
	h := s.open(t)
	read := 0
	for i := range loadSandboxes {
		for _, err := range ledger.ReadSandbox(t.Context(), h.Store(), sandboxKey(i)) {
			if err != nil {
				t.Fatal(err)
			}
			read++
		}
		stream, err := h.Writer().Open(t.Context(), sandboxKey(i))
		if err != nil {
			t.Fatal(err)
		}
		if head := stream.Head(); !bytes.Equal(head.Hash, a.chains[sandboxKey(i)].hash) {
			t.Errorf("sandbox %d opens at %x, not %x", i, head.Hash, a.chains[sandboxKey(i)].hash)
		}
	}
	if read != a.rows {
		t.Errorf("the host reads %d entries, the file has %d", read, a.rows)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// chaosTime is after how long no new round is begun, unless all are asked for: a machine with much else
// to do kills fewer than 50 times.
const chaosTime = 40 * time.Second

func noAcks() (acked [loadWriters]int) {
	for w := range acked {
		acked[w] = -1
	}
	return acked
}

// killed runs a child for a while and returns the last acknowledged number of each writer, -1 for none.
func killed(t *testing.T, s site, round int, random func(int64) int64) (acked [loadWriters]int) {
	t.Helper()
	cmd := s.command(t, "load", fmt.Sprintf("%s=%d", childRound, round))
	stderr := new(tailOf)
	cmd.Stderr = stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	acked = noAcks()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := func() { _ = cmd.Process.Kill() } // it may have ended, which is found out below
	var timer *time.Timer
	if random(4) == 0 {
		timer = time.AfterFunc(soon(random, 400*time.Millisecond), kill) // also while it starts
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		var w, n int
		if _, err := fmt.Sscanf(lines.Text(), "ack %d %d", &w, &n); err != nil {
			t.Fatalf("the child says %q: %v", lines.Text(), err)
		}
		if n != acked[w]+1 {
			t.Errorf("writer %d: %d acknowledged after %d", w, n, acked[w])
		}
		acked[w] = n
		if timer == nil {
			timer = time.AfterFunc(soon(random, 300*time.Millisecond), kill)
		}
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.Exited() {
		t.Errorf("round %d: the child ended by itself: %v: %s", round, err, stderr)
	}
	return acked
}

// auditor checks a ledger's file as it grows, past the plugin.
type auditor struct {
	acked    map[[2]int]int // by round and writer, the last number
	chains   map[store.Key]*chain
	rows     int
	segments int
	canon    ledger.Canonicalizer
	next     map[[2]int]int // by round and writer, the number that comes next
}

type chain struct {
	hash   []byte
	lastID int64
	lastTS int64
	rows   int64
}

func newAuditor() *auditor {
	a := &auditor{acked: map[[2]int]int{}, next: map[[2]int]int{}, chains: map[store.Key]*chain{}}
	for i := range loadSandboxes {
		a.chains[sandboxKey(i)] = new(chain)
	}
	return a
}

func (a *auditor) audit(t *testing.T, file string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	var there int
	err = db.QueryRowContext(t.Context(), `SELECT count(*) FROM sqlite_master WHERE name = 'alineo_host_schema'`).Scan(&there)
	if err != nil || there == 0 {
		// The file or its schema may not be there yet, when nobody was told that something was written.
		for by, n := range a.acked {
			if n >= 0 {
				t.Fatalf("%v acknowledged %d, and there is no ledger: %v", by, n, err)
			}
		}
		return
	}
	var result string
	if err := db.QueryRowContext(t.Context(), `PRAGMA quick_check`).Scan(&result); err != nil || result != "ok" {
		t.Fatalf("the file is %q: %v", result, err)
	}
	for key, c := range a.chains {
		a.sandbox(t, db, key, c)
	}
	for by, n := range a.acked {
		if a.next[by] <= n {
			t.Errorf("round %d, writer %d: %d was acknowledged, and %d rows are there", by[0], by[1], n, a.next[by])
		}
	}
}

// sandbox checks the segments that are new, and their rows.
func (a *auditor) sandbox(t *testing.T, db *sql.DB, key store.Key, c *chain) {
	t.Helper()
	entries := a.entries(t, db, key, c.lastID)
	rows, err := db.QueryContext(t.Context(), `SELECT first_id, last_id, segment_id, previous, hash, leaves FROM alineo_host_segments
		WHERE name = ? AND sandbox_id = ? AND last_id > ? ORDER BY last_id`, key.Name, key.SandboxID, c.lastID)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var first, last int64
		var id, previous, hash, leaves []byte
		if err := rows.Scan(&first, &last, &id, &previous, &hash, &leaves); err != nil {
			t.Fatal(err)
		}
		a.segments++
		if first <= c.lastID || last < first {
			t.Fatalf("%s: segment from %d to %d follows %d", key, first, last, c.lastID)
		}
		if !bytes.Equal(previous, c.hash) {
			t.Fatalf("%s: segment to %d follows hash %x, not %x", key, last, previous, c.hash)
		}
		var own []byte
		for len(entries) > 0 && entries[0].ID <= last {
			leaf, _, err := a.canon.Leaf(&entries[0], nil)
			if err != nil {
				t.Fatal(err)
			}
			if entries[0].ID < first {
				t.Errorf("%s: row %d is in no segment", key, entries[0].ID)
			}
			own = append(own, leaf[:]...)
			a.entry(t, &entries[0], c)
			entries = entries[1:]
		}
		if !bytes.Equal(own, leaves) {
			t.Fatalf("%s: segment from %d to %d has %d leaves, which are not those of its %d rows", key, first, last, len(leaves)/32, len(own)/32)
		}
		want := ledger.SegmentHash(c.hash, [16]byte(id), leaves)
		if !bytes.Equal(want[:], hash) {
			t.Fatalf("%s: segment to %d has hash %x, not %x", key, last, hash, want)
		}
		c.hash, c.lastID = hash, last
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if len(entries) > 0 {
		t.Errorf("%s: %d rows from %d on are in no segment", key, len(entries), entries[0].ID)
	}
	var hash []byte
	var count int64
	err = db.QueryRowContext(t.Context(), `SELECT hash, entries FROM alineo_host_heads WHERE name = ? AND sandbox_id = ?`,
		key.Name, key.SandboxID).Scan(&hash, &count)
	if err == nil && (!bytes.Equal(hash, c.hash) || count != c.rows) || err != nil && c.rows > 0 {
		t.Errorf("%s: head is %x with %d entries, the chain ends at %x with %d: %v", key, hash, count, c.hash, c.rows, err)
	}
}

// entry checks that a row is the next one of its writer.
func (a *auditor) entry(t *testing.T, e *store.Entry, c *chain) {
	t.Helper()
	a.rows++
	c.rows++
	var m mark
	if err := json.Unmarshal(e.Payload, &m); err != nil {
		t.Fatal(err)
	}
	by := [2]int{m.Round, m.Writer}
	if m.N != a.next[by] {
		t.Errorf("row %d: round %d, writer %d: %d comes where %d should", e.ID, m.Round, m.Writer, m.N, a.next[by])
	}
	a.next[by] = m.N + 1
	if e.TS < c.lastTS {
		t.Errorf("row %d: time goes back from %d to %d", e.ID, c.lastTS, e.TS)
	}
	c.lastTS = e.TS
}

func (a *auditor) entries(t *testing.T, db *sql.DB, key store.Key, after int64) (entries []store.Entry) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `SELECT id, ts, step_idx, event, payload FROM alineo_events
		WHERE name = ? AND sandbox_id = ? AND id > ? ORDER BY id`, key.Name, key.SandboxID, after)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		e := store.Entry{Name: key.Name, SandboxID: key.SandboxID}
		var payload string
		if err := rows.Scan(&e.ID, &e.TS, &e.StepIndex, &e.Event, &payload); err != nil {
			t.Fatal(err)
		}
		e.Payload = json.RawMessage(payload)
		entries = append(entries, e)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return entries
}
