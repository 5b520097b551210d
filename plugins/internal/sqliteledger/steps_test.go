//go:build !wasip1

package sqliteledger

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/alineo-labs/alineo-host/abi"
)

// steps runs a statement on a file, with its parameters written into it, and returns how many rows it
// has and how many instructions SQLite's machine took for it.
func steps(t *testing.T, file, statement string, params ...string) (rows, count int) {
	t.Helper()
	for _, p := range params {
		statement = strings.Replace(statement, "?", p, 1)
	}
	tls := libc.NewTLS()
	defer tls.Close()
	text := func(s string) uintptr {
		p, err := libc.CString(s)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	place := libc.Xcalloc(tls, 1, 8)
	name, code := text(file), text(statement)
	defer func() {
		for _, p := range []uintptr{place, name, code} {
			libc.Xfree(tls, p)
		}
	}()
	at := (*uintptr)(*(*unsafe.Pointer)(unsafe.Pointer(&place)))
	if rc := lib.Xsqlite3_open_v2(tls, name, place, lib.SQLITE_OPEN_READONLY, 0); rc != lib.SQLITE_OK {
		t.Fatalf("opening: %d", rc)
	}
	db := *at
	defer lib.Xsqlite3_close_v2(tls, db)
	if rc := lib.Xsqlite3_prepare_v2(tls, db, code, -1, place, 0); rc != lib.SQLITE_OK {
		t.Fatalf("preparing: %s\n%s", libc.GoString(lib.Xsqlite3_errmsg(tls, db)), statement)
	}
	prepared := *at
	defer lib.Xsqlite3_finalize(tls, prepared)
	for lib.Xsqlite3_step(tls, prepared) == lib.SQLITE_ROW {
		rows++
	}
	return rows, int(lib.Xsqlite3_stmt_status(tls, prepared, lib.SQLITE_STMTSTATUS_VM_STEP, 0))
}

// TestListingsReadWhatTheyShow counts, not times, what statements do on 100,000 sandboxes, of which one
// has 100,000 entries of output more.
func TestListingsReadWhatTheyShow(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ledger.db")
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	all := append(schema[:len(schema):len(schema)], indexes[:]...)
	for _, statement := range append(all,
		`WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i < 99999)
 INSERT INTO alineo_events(sandbox_id, name, step_idx, event, payload, ts)
 SELECT 'sb-'||i, 'name-'||(i % 100), -1, 'sandbox.created', '{"runId":"run-'||(i/10)||'"}', 1000+i FROM n`,
		`WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i < 99999)
 INSERT INTO alineo_events(sandbox_id, name, step_idx, event, payload, ts) SELECT 'sb-99999', 'name-99', 1, 'exec.output', '{}', 200000+i FROM n`,
		`INSERT INTO alineo_events(sandbox_id, name, step_idx, event, payload, ts) VALUES ('sb-99999', 'name-99', 1, 'exec.completed', '{}', 300000)`) {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	right := Standard()
	pair := []string{"'name-99'", "'sb-99999'"}
	for name, c := range map[string]struct {
		statement  string
		params     []string
		rows, most int
	}{
		"list":         {listed(t, &abi.ListSandboxesRequest{}), []string{"20"}, 20, 20_000},
		"list name":    {listed(t, &abi.ListSandboxesRequest{Name: "n"}), []string{"'name-7'", "20"}, 20, 20_000},
		"list running": {listed(t, &abi.ListSandboxesRequest{Status: "running"}), []string{"20"}, 20, 20_000},
		"list before":  {listed(t, &abi.ListSandboxesRequest{Before: new(int64(7))}), []string{"50000", "20"}, 20, 20_000},
		"list cursor": {
			listed(t, &abi.ListSandboxesRequest{Before: new(int64(7)), Cursor: make([]byte, 16)}), []string{"50000", "9", "50000", "20"}, 20, 20_000,
		},
		"list run":        {listed(t, &abi.ListSandboxesRequest{RunID: "r"}), []string{"'run-77'", "'run-77'", "20"}, 10, 20_000},
		"few ids":         {right.FewIDs, []string{"'sb-5000'", "'sb-5001'"}, 1, 1_000},
		"list few ids":    {listedFew(t, &abi.ListSandboxesRequest{IDPrefix: "sb-5000"}), []string{"'sb-5000'", "'sb-5001'", "20"}, 11, 20_000},
		"many ids":        {right.FewIDs, []string{"'sb-'", "'sb.'"}, 1, 20_000},
		"list ids":        {listed(t, &abi.ListSandboxesRequest{IDPrefix: "sb-9"}), []string{"'sb-9'", "20"}, 20, 20_000},
		"find":            {right.FindName, []string{"'sb-50000'"}, 1, 1_000},
		"details":         {right.Details(" AND c.name = ? AND c.sandbox_id = ?", fewOnly, ""), pair, 1, 2_000},
		"last checkpoint": {right.LastCheckpoint, pair, 0, 1_000},
	} {
		rows, count := steps(t, file, c.statement, c.params...)
		if rows != c.rows || count > c.most {
			t.Errorf("%s: %d rows in %d steps, want %d in at most %d", name, rows, count, c.rows, c.most)
		}
		t.Logf("%s: %d steps", name, count)
	}
}
