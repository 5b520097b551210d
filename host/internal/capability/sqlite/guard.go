package sqlite

import (
	"fmt"
	"strings"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// limits are those of SQLite's that a guest's statements run under, beside MaxValue and MaxSQL.
var limits = [...]struct{ id, value int32 }{
	{lib.SQLITE_LIMIT_LENGTH, MaxValue},
	{lib.SQLITE_LIMIT_SQL_LENGTH, MaxSQL},
	{lib.SQLITE_LIMIT_ATTACHED, 0},
	{lib.SQLITE_LIMIT_WORKER_THREADS, 0},
	{lib.SQLITE_LIMIT_TRIGGER_DEPTH, 100},
	// LIKE takes time in the pattern's length times the text's, and can't be stopped.
	{lib.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000},
}

// switches are SQLite's configuration of a connection.
var switches = [...]struct {
	id int32
	on bool
}{
	{lib.SQLITE_DBCONFIG_DEFENSIVE, true},
	{lib.SQLITE_DBCONFIG_TRUSTED_SCHEMA, false},
	{lib.SQLITE_DBCONFIG_WRITABLE_SCHEMA, false},
	{lib.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, false},
	{lib.SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, false},
	{lib.SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE, false},
	{lib.SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE, false},
	// "text" in double quotes is a name that is wrong, not a text.
	{lib.SQLITE_DBCONFIG_DQS_DML, false},
	{lib.SQLITE_DBCONFIG_DQS_DDL, false},
}

// guard puts the walls up around a connection. It comes after the connection's own pragmas.
func (c *conn) guard() error {
	for _, l := range limits {
		lib.Xsqlite3_limit(c.tls, c.db, l.id, l.value)
	}
	for _, s := range switches {
		list := libc.VaList(c.scratch, libc.Bool32(s.on), uintptr(0))
		if rc := lib.Xsqlite3_db_config(c.tls, c.db, s.id, list); rc != lib.SQLITE_OK {
			return fmt.Errorf("configuring switch %d: %w", s.id, c.failure(rc))
		}
	}
	if rc := lib.Xsqlite3_set_authorizer(c.tls, c.db, functionPointer(onAuthorize), c.hooksAddress()); rc != lib.SQLITE_OK {
		return fmt.Errorf("setting authorizer: %w", c.failure(rc))
	}
	return nil
}

const (
	refuseAttach      = "ATTACH and DETACH are not allowed: the grant is one file"
	refuseTransaction = "BEGIN, COMMIT, ROLLBACK and savepoints are not allowed: a program is one transaction"
	refuseTemporary   = "temporary tables, views, indexes and triggers are not allowed"
)

// refusal says why a guest's statement may not do something, or "". The arguments are SQLite's.
func refusal(action int32, first, second, database uintptr) string {
	// ALTER TABLE … RENAME looks through the temporary schema by itself.
	if action != lib.SQLITE_READ && action != lib.SQLITE_UPDATE && text(database) == "temp" {
		return refuseTemporary
	}
	switch action {
	case lib.SQLITE_SELECT, lib.SQLITE_RECURSIVE,
		lib.SQLITE_INSERT, lib.SQLITE_UPDATE, lib.SQLITE_DELETE,
		lib.SQLITE_CREATE_TABLE, lib.SQLITE_CREATE_INDEX, lib.SQLITE_CREATE_VIEW, lib.SQLITE_CREATE_TRIGGER,
		lib.SQLITE_DROP_TABLE, lib.SQLITE_DROP_INDEX, lib.SQLITE_DROP_VIEW, lib.SQLITE_DROP_TRIGGER,
		lib.SQLITE_ALTER_TABLE, lib.SQLITE_REINDEX, lib.SQLITE_ANALYZE, lib.SQLITE_DROP_VTABLE:
		return ""
	case lib.SQLITE_READ:
		if text(first) == "sqlite_dbpage" {
			return "reading sqlite_dbpage is not allowed"
		}
		return ""
	case lib.SQLITE_FUNCTION:
		switch name := strings.ToLower(text(second)); name {
		case "load_extension", "fts3_tokenizer":
			return "the function " + name + " is not allowed"
		}
		return ""
	case lib.SQLITE_PRAGMA:
		return refusePragma(strings.ToLower(text(first)), second != 0)
	case lib.SQLITE_CREATE_VTABLE:
		switch module := strings.ToLower(text(second)); module {
		case "fts5", "rtree":
			return ""
		default:
			return "virtual tables of module " + module + " are not allowed"
		}
	case lib.SQLITE_ATTACH, lib.SQLITE_DETACH:
		return refuseAttach
	case lib.SQLITE_TRANSACTION, lib.SQLITE_SAVEPOINT:
		return refuseTransaction
	case lib.SQLITE_CREATE_TEMP_INDEX, lib.SQLITE_CREATE_TEMP_TABLE, lib.SQLITE_CREATE_TEMP_TRIGGER, lib.SQLITE_CREATE_TEMP_VIEW,
		lib.SQLITE_DROP_TEMP_INDEX, lib.SQLITE_DROP_TEMP_TABLE, lib.SQLITE_DROP_TEMP_TRIGGER, lib.SQLITE_DROP_TEMP_VIEW:
		return refuseTemporary
	default:
		return fmt.Sprintf("action %d of SQLite is not allowed", action)
	}
}

// refusePragma lets those through that say something about the guest's own tables, and one number
// that is the guest's to keep. The others would tell paths, or change what belongs to the grant.
func refusePragma(name string, hasArgument bool) string {
	switch name {
	case "table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo",
		"foreign_key_list", "foreign_key_check", "integrity_check", "quick_check", "user_version":
		return ""
	case "application_id", "page_count", "page_size", "freelist_count", "encoding", "schema_version", "data_version":
		if !hasArgument {
			return ""
		}
		return "PRAGMA " + name + " may only be read"
	default:
		return "PRAGMA " + name + " is not allowed"
	}
}

func text(address uintptr) string {
	if address == 0 {
		return ""
	}
	return libc.GoString(address)
}
