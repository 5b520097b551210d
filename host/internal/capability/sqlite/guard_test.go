package sqlite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability/sqlite"
)

// TestAttacks tries what a grant of one file must not give. Each attack is tried as a program that
// writes and as one that reads.
func TestAttacks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	other := filepath.Join(dir, "other.db")
	db := open(t, sqlite.Options{Path: filepath.Join(dir, "own.db")})
	must(t, db, write(once("CREATE TABLE t (a)"), once("INSERT INTO t VALUES (1)"), once("CREATE TABLE seq (id INTEGER PRIMARY KEY AUTOINCREMENT)")), nil)

	denied := []string{
		"ATTACH '" + other + "' AS o",
		"ATTACH ':memory:' AS o",
		"ATTACH '' AS o",
		"EXPLAIN ATTACH '" + other + "' AS o",
		"DETACH main",
		"BEGIN", "BEGIN IMMEDIATE", "COMMIT", "END", "ROLLBACK", "SAVEPOINT a", "RELEASE a", "ROLLBACK TO a",
		"PRAGMA journal_mode = DELETE", "PRAGMA journal_mode", "PRAGMA synchronous = OFF", "PRAGMA main.synchronous = 0",
		"PRAGMA busy_timeout = 0", "PRAGMA writable_schema = 1", "PRAGMA query_only = 0", "PRAGMA trusted_schema = 1",
		"PRAGMA temp_store_directory = '/tmp'", "PRAGMA data_store_directory = '/tmp'", "PRAGMA database_list", "PRAGMA locking_mode = EXCLUSIVE",
		"PRAGMA wal_checkpoint(TRUNCATE)", "PRAGMA wal_autocheckpoint = 0", "PRAGMA mmap_size = 1000000000", "PRAGMA cache_size = -10000000",
		"PRAGMA max_page_count = 1", "PRAGMA page_size = 512", "PRAGMA schema_version = 7", "PRAGMA encoding = 'UTF-16'", "PRAGMA optimize",
		"PRAGMA ignore_check_constraints = 1", "PRAGMA secure_delete = 1", "PRAGMA soft_heap_limit = 1", "PRAGMA threads = 8", "PRAGMA no_such_pragma",
		"SELECT * FROM pragma_database_list", "SELECT file FROM pragma_database_list()", "SELECT * FROM pragma_compile_options",
		"SELECT load_extension('/tmp/evil.so')",
		"SELECT data FROM sqlite_dbpage",
		"CREATE TEMP TABLE x (a)", "CREATE TABLE temp.x (a)", "CREATE TEMP VIEW v AS SELECT 1", "CREATE TEMP TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; END",
		"CREATE TEMPORARY TABLE x AS SELECT 1",
		"CREATE VIRTUAL TABLE v USING dbstat", "CREATE VIRTUAL TABLE v USING csv(filename='/etc/passwd')",
		"CREATE VIRTUAL TABLE v USING sqlite_dbpage",
	}
	for _, sql := range denied {
		_, failure := db.Exec(t.Context(), write(once(sql)), nil)
		if failure == nil || failure.Code != abi.CodeDenied {
			t.Errorf("%s: ended with %v", sql, failure)
			continue
		}
		if strings.Contains(failure.Message, dir) || failure.Message == "" {
			t.Errorf("%s: message %q", sql, failure.Message)
		}
		if _, failure := db.Exec(t.Context(), read(once(sql)), nil); failure == nil || failure.Code != abi.CodeDenied {
			t.Errorf("%s: read-only program ended with %v", sql, failure)
		}
	}

	for _, sql := range []string{
		"VACUUM", "VACUUM INTO '" + other + "'", "VACUUM main INTO '" + other + "'",
		"INSERT INTO sqlite_master VALUES ('table', 'x', 'x', 1, 'CREATE TABLE x (a)')", "UPDATE sqlite_schema SET sql = ''",
		"DELETE FROM sqlite_master", "DROP TABLE sqlite_sequence", "INSERT INTO sqlite_temp_master VALUES (1, 2, 3, 4, 5)",
		"UPDATE sqlite_dbpage SET data = zeroblob(4096)", "SELECT fts3_tokenizer('simple')", "SELECT readfile('/etc/passwd')", "SELECT writefile('" + other + "', 'x')", "SELECT * FROM fsdir('/')", "SELECT edit('x')",
		"SELECT 1; SELECT 2", "SELECT 1; ATTACH ':memory:' AS x", "SELECT 1;; DROP TABLE t", "SELECT 1; nonsense", "SELECT 1\x00; DROP TABLE t",
		"", " ", ";", "-- only a comment", "/* */",
		strings.Repeat(" ", sqlite.MaxSQL) + "SELECT 1",
		"SELECT 'a' LIKE '" + strings.Repeat("%a", 600) + "'",
		`SELECT "no such column"`,
		"SELECT zeroblob(1000000000)", "SELECT randomblob(1000000000)",
	} {
		if _, failure := db.Exec(t.Context(), write(once(sql)), nil); failure == nil {
			t.Errorf("%.80s: succeeded", sql)
		} else if strings.Contains(failure.Message, dir) && !strings.Contains(sql, dir) {
			t.Errorf("%.80s: message %q names the path", sql, failure.Message)
		}
	}

	for _, sql := range []string{
		"PRAGMA table_info(t)", "PRAGMA table_xinfo('t')", "PRAGMA index_list(t)", "PRAGMA user_version", "PRAGMA user_version = 7",
		"PRAGMA integrity_check", "PRAGMA page_count", "PRAGMA schema_version", "SELECT * FROM pragma_table_info('t')",
		"SELECT sql FROM sqlite_master", "SELECT sql FROM sqlite_schema", "UPDATE sqlite_sequence SET seq = 5",
		"SELECT 1;", "SELECT 1 ; -- done", "SELECT 1 /* done */ ;; ;\n",
		"CREATE TABLE u (a, b UNIQUE)", "CREATE INDEX ui ON u(a)", "CREATE VIEW uv AS SELECT a FROM u",
		"CREATE TRIGGER ug AFTER INSERT ON u BEGIN UPDATE t SET a = new.a; END", "INSERT INTO u VALUES (2, 3)",
		"ALTER TABLE u ADD COLUMN c", "ALTER TABLE u RENAME COLUMN c TO d", "ALTER TABLE u RENAME TO w", "REINDEX", "ANALYZE", "DROP VIEW uv",
		"EXPLAIN QUERY PLAN SELECT * FROM t", "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 9) SELECT sum(x) FROM c",
		"SELECT json_extract('{\"a\":1}', '$.a')", "SELECT sqrt(2.0)", "SELECT sqlite_version()",
	} {
		if sql == "ALTER TABLE u RENAME COLUMN c TO d" {
			must(t, db, write(once("DROP VIEW IF EXISTS uv"), once(sql), once("CREATE VIEW uv AS SELECT a FROM u")), nil)
			continue
		}
		if _, failure := db.Exec(t.Context(), write(once(sql)), nil); failure != nil {
			t.Errorf("%s: %v", sql, failure)
		}
	}

	must(t, db, write(
		once("CREATE VIRTUAL TABLE words USING fts5(body)"),
		once("INSERT INTO words VALUES ('hello world')"),
		query("SELECT rowid FROM words WHERE words MATCH 'world'"),
		once("CREATE VIRTUAL TABLE boxes USING rtree(id, a, b)"),
	), nil)
	// A shadow table is written by its owner only.
	fails(t.Context(), t, db, write(once("UPDATE words_content SET c0 = 'x'")), nil, abi.CodeInvalid, "may not be modified")

	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "own.db") {
			t.Errorf("a guest made %s", e.Name())
		}
	}
}

// TestReadOnly checks that a program that says so does not write, on either kind of connection.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", sqlite.Memory} {
		db := open(t, sqlite.Options{Path: path})
		must(t, db, write(once("CREATE TABLE t (a)"), once("INSERT INTO t VALUES (1)")), nil)
		for _, sql := range []string{"INSERT INTO t VALUES (2)", "DELETE FROM t", "CREATE TABLE u (a)", "DROP TABLE t", "PRAGMA user_version = 3"} {
			failure := fails(t.Context(), t, db, read(query("SELECT 1"), once(sql)), nil, abi.CodeInvalid, "read-only")
			if failure.Details[abi.DetailStep] != "1" {
				t.Errorf("details are %v", failure.Details)
			}
		}
		if got := scalar(t, db, "SELECT group_concat(a) FROM t"); got != "1" {
			t.Errorf("table has %s", got)
		}
	}
}

// TestTransactionTricks checks statements that would end the transaction from within.
func TestTransactionTricks(t *testing.T) {
	t.Parallel()
	db := open(t, sqlite.Options{})
	must(t, db, write(once("CREATE TABLE t (a UNIQUE)"), once("INSERT INTO t VALUES (1)"),
		once("CREATE TRIGGER g BEFORE INSERT ON t WHEN new.a = 13 BEGIN SELECT RAISE(ROLLBACK, 'no thirteen'); END")), nil)
	fails(t.Context(), t, db, write(once("INSERT INTO t VALUES (2)"), once("INSERT OR ROLLBACK INTO t VALUES (1)")), nil, abi.CodeConflict, "UNIQUE")
	fails(t.Context(), t, db, write(once("INSERT INTO t VALUES (2)"), once("INSERT INTO t VALUES (13)")), nil, abi.CodeConflict, "no thirteen")
	fails(t.Context(), t, db, write(once("INSERT INTO t VALUES (2)"), once("INSERT OR FAIL INTO t VALUES (3), (1), (4)")), nil, abi.CodeConflict, "UNIQUE")
	must(t, db, write(once("INSERT OR IGNORE INTO t VALUES (1), (5)")), nil)
	if got := scalar(t, db, "SELECT group_concat(a) FROM t"); got != "1,5" {
		t.Errorf("table has %s, want 1,5", got)
	}
}
