package host_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/internal/pgtest"
)

// onPostgres is a site whose ledger is on a server, with more lines for the plugin's table.
func onPostgres(t *testing.T, dsn string, more ...string) site {
	t.Helper()
	s := newSite(t)
	text := fmt.Sprintf("[ledger]\nplugin = \"postgres\"\n[plugins.postgres.config]\nurl = %q\n%s\n"+
		"[plugins.postgres.limits]\ndeadline = \"1m\"\nstart_deadline = \"1m\"\ninstances = 8\n[log]\nlevel = \"error\"\n", dsn, strings.Join(more, "\n"))
	if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestChaosAppendPostgres is TestChaosAppend with a server, which goes on when the host is killed.
func TestChaosAppendPostgres(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	name, dsn := server.Database(t)
	s := onPostgres(t, dsn)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0)).Int64N
	asked, ends := rounds(10), time.Now().Add(chaosTime)
	acked, next := map[[2]int]int{}, map[[2]int]int{}
	kills, acks := 0, 0
	for ; kills < asked.n && (asked.all || kills == 0 || time.Now().Before(ends)); kills++ {
		for w, n := range killed(t, s, kills, random) {
			acked[[2]int{kills, w}] = n
			acks += n + 1
		}
		if t.Failed() {
			t.Fatalf("round %d", kills)
		}
	}
	rows, err := server.Conn(t, name).Query(t.Context(), "SELECT (payload->>'round')::int, (payload->>'writer')::int, (payload->>'n')::int FROM alineo_events ORDER BY ts, id")
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var round, writer, n int
		if err := rows.Scan(&round, &writer, &n); err != nil {
			t.Fatal(err)
		}
		by := [2]int{round, writer}
		if n != next[by] {
			t.Errorf("round %d, writer %d: %d comes where %d should", round, writer, n, next[by])
		}
		next[by] = n + 1
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for by, n := range acked {
		if next[by] <= n {
			t.Errorf("round %d, writer %d: %d was acknowledged, and %d rows are there", by[0], by[1], n, next[by])
		}
	}
	if acks == 0 {
		t.Error("nothing was ever acknowledged: the rounds were too short")
	}
	h := s.open(t)
	report, err := ledger.Verify(t.Context(), h.Store(), ledger.VerifyOptions{})
	if err != nil || report.Damaged+report.Foreign > 0 {
		t.Errorf("%+v, %v", report, err)
	}
	t.Logf("%d kills: %d acknowledged, %d rows", kills, acks, report.Entries)
}

// What alineo.toml says of a server is what the plugin gets: how many connections, how long a statement may
// take, and whether a superuser will do.
func TestPostgresGrant(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	name, dsn := server.Database(t)
	admin, watcher := server.Conn(t, name), server.Conn(t, name) // a transaction sees no news of who is connected
	h := onPostgres(t, dsn, "pool_size = 2", `statement_timeout = "400ms"`).open(t)
	if err := h.CheckLedger(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Exec(t.Context(), "BEGIN; LOCK TABLE alineo_events"); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			_, err := h.Store().ListSandboxes(t.Context(), store.ListOptions{})
			if err == nil || !strings.Contains(err.Error(), "longer than the database allows") {
				t.Errorf("a statement that waits for ever: %v", err)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	most := 0
	for waiting := true; waiting; {
		var connections int
		err := watcher.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'alineo-host'").Scan(&connections)
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, connections)
		select {
		case <-done:
			waiting = false
		case <-time.After(10 * time.Millisecond):
		}
	}
	if _, err := admin.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if most != 2 {
		t.Errorf("%d connections at once, want 2", most)
	}
	if err := h.CheckLedger(t.Context()); err != nil {
		t.Errorf("afterwards: %v", err)
	}

	boss := server.Admin(name)
	if err := onPostgres(t, boss).open(t).CheckLedger(t.Context()); err == nil || !strings.Contains(err.Error(), "allow_superuser = true") {
		t.Errorf("a superuser: %v", err)
	}
	if err := onPostgres(t, boss, "allow_superuser = true").open(t).CheckLedger(t.Context()); err != nil {
		t.Errorf("a superuser that is allowed: %v", err)
	}
}
