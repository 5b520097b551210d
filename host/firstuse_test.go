package host_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/internal/pgtest"
)

// A host is built on every start, whatever is the matter with its ledger: nothing is opened or made before
// something is asked of it.
func TestLedgerIsOpenedAtFirstUse(t *testing.T) {
	t.Parallel()
	lite := siteIn(t, t.TempDir())
	for _, s := range []site{lite, onPostgres(t, "postgres://nobody@127.0.0.1:1/nothing")} {
		h := s.open(t)
		if err := h.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(s.ledger); !os.IsNotExist(err) {
			t.Errorf("there is a ledger that nobody used: %v", err)
		}
	}
}

// A ledger of the reference's may have so many events that its names and indexes take longer than a call has
// that somebody waits for. The first call waits for that, unless the configuration says how long a call may
// take, and no other one does.
func TestLargeLedgerIsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	// Its ids tell how many there may be.
	const large = `INSERT INTO alineo_events(id, sandbox_id, name, step_idx, event, ts) VALUES
		(1, 'a', 'run', -1, 'sandbox_created', 1), (2000000, 'a', 'run', 1, 'exec_complete', 2)`
	const look = `SELECT CASE WHEN EXISTS (SELECT 1 FROM alineo_events WHERE event = 'exec.completed') THEN 'renamed' ELSE 'old' END || version FROM alineo_host_schema`
	for deadline, want := range map[string]string{"": "renamed", "6s": "old1"} {
		limits := func(plugin string) string {
			if deadline == "" {
				return ""
			}
			return fmt.Sprintf("[plugins.%s.limits]\ndeadline = %q\n", plugin, deadline)
		}
		check := func(t *testing.T, h *host.Host, got func() string) {
			t.Helper()
			if list, err := h.Store().ListSandboxes(t.Context(), store.ListOptions{}); err != nil || len(list.Sandboxes) != 1 {
				t.Fatalf("%+v, %v", list, err)
			}
			if got := got(); len(got) < len(want) || got[:len(want)] != want {
				t.Errorf("with a deadline of %q it is %s, want %s", deadline, got, want)
			}
		}
		t.Run("sqlite "+deadline, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			if err := os.WriteFile(s.config, []byte("[plugins.sqlite.config]\npath = \"ledger.db\"\n[log]\nlevel = \"error\"\n"+limits("sqlite")), 0o600); err != nil {
				t.Fatal(err)
			}
			db, err := sql.Open("sqlite", s.ledger)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			_, err = db.ExecContext(t.Context(), `CREATE TABLE alineo_events (id INTEGER PRIMARY KEY, sandbox_id TEXT NOT NULL, name TEXT NOT NULL,
				step_idx INTEGER NOT NULL, branch INTEGER, event TEXT NOT NULL, payload TEXT, error TEXT, ts INTEGER NOT NULL); `+large)
			if err != nil {
				t.Fatal(err)
			}
			check(t, s.open(t), func() (got string) {
				if err := db.QueryRowContext(t.Context(), look).Scan(&got); err != nil {
					t.Fatal(err)
				}
				return got
			})
		})
		t.Run("postgres "+deadline, func(t *testing.T) {
			t.Parallel()
			server := pgtest.Server(t)
			name, dsn := server.Database(t)
			s := onPostgres(t, dsn)
			text := fmt.Sprintf("[ledger]\nplugin = \"postgres\"\n[plugins.postgres.config]\nurl = %q\n[log]\nlevel = \"error\"\n", dsn) + limits("postgres")
			if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			conn := server.Conn(t, name)
			_, err := conn.Exec(t.Context(), `CREATE TABLE alineo_events (id BIGSERIAL PRIMARY KEY, sandbox_id TEXT NOT NULL, name TEXT NOT NULL,
				step_idx INTEGER NOT NULL, branch INTEGER, event TEXT NOT NULL, payload JSONB, error TEXT, ts BIGINT NOT NULL);
				ALTER TABLE alineo_events OWNER TO `+pgtest.Role+"; "+large)
			if err != nil {
				t.Fatal(err)
			}
			h := s.open(t)
			check(t, h, func() (got string) {
				if err := conn.QueryRow(t.Context(), look).Scan(&got); err != nil {
					t.Fatal(err)
				}
				return got
			})
			if _, err := conn.Exec(t.Context(), "BEGIN; LOCK TABLE alineo_events"); err != nil {
				t.Fatal(err)
			}
			const seconds = "s (limits.deadline)"
			if _, err := h.Store().ListSandboxes(t.Context(), store.ListOptions{}); err == nil || !strings.Contains(err.Error(), "within 5"+seconds) && !strings.Contains(err.Error(), "within 6"+seconds) {
				t.Errorf("a second call: %v", err)
			}
		})
	}
}
