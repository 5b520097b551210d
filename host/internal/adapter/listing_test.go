package adapter_test

import (
	"path/filepath"
	"testing"

	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/internal/pgtest"
)

// TestListingWithoutLimit lists more sandboxes than a call could, were there many more of them: page by
// page, each of them once, the newest first.
func TestListingWithoutLimit(t *testing.T) {
	t.Parallel()
	const sandboxes, page = 2500, 1000
	const columns = `INSERT INTO alineo_events(sandbox_id, name, step_idx, event, payload, ts) `
	rt := newRuntime(t)
	for name, open := range map[string]func() (store.Ledger, error){
		"sqlite": func() (store.Ledger, error) {
			file := filepath.Join(t.TempDir(), "ledger.db")
			st, err := openSQLite(t.Context(), rt, file, "normal")
			if err == nil {
				_, err = st.OpenLedger(t.Context(), store.Key{Name: "job", SandboxID: "none"})
				onFile(t, file, columns+`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
 SELECT 'sb-' || i, 'job', -1, 'sandbox.created', '{}', 1000 + i / 7 FROM n`, `SELECT 1`)
			}
			return st, err
		},
		"postgres": func() (store.Ledger, error) {
			server := pgtest.Server(t)
			name, dsn := server.Database(t)
			st, err := openPostgres(t.Context(), rt, dsn, "public")
			if err == nil {
				if _, err = st.OpenLedger(t.Context(), store.Key{Name: "job", SandboxID: "none"}); err == nil {
					_, err = server.Conn(t, name).Exec(t.Context(), columns+`SELECT 'sb-' || i, 'job', -1, 'sandbox.created', '{}', 1000 + i / 7 FROM generate_series(1, 2500) i`)
				}
			}
			return st, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			st, err := open()
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := st.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}()
			seen, pages, last := map[string]bool{}, 0, int64(1<<62)
			for opts, more := (store.ListOptions{}), true; more; pages++ {
				list, err := st.ListSandboxes(t.Context(), opts)
				if err != nil {
					t.Fatal(err)
				}
				if n := len(list.Sandboxes); n > page || n == 0 {
					t.Fatalf("page %d has %d sandboxes, want at most %d", pages, n, page)
				}
				for _, d := range list.Sandboxes {
					if seen[d.SandboxID] || d.StartedAt > last {
						t.Fatalf("%s of %d comes again, or out of order", d.SandboxID, d.StartedAt)
					}
					seen[d.SandboxID], last = true, d.StartedAt
				}
				opts.Cursor, more = list.Cursor, list.More
			}
			if len(seen) != sandboxes || pages != 3 {
				t.Errorf("%d sandboxes on %d pages, want %d on 3", len(seen), pages, sandboxes)
			}
		})
	}
}
