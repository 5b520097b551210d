package sqlite

import (
	"strings"
	"unsafe"

	lib "modernc.org/sqlite/lib"
)

const (
	maxStatements    = 256     // that a connection keeps prepared
	maxStatementText = 4 << 20 // of their text, bytes
)

// stmt is a prepared statement. Its parameters are bound anew before each run.
type stmt struct {
	handle   uintptr
	params   int
	columns  int
	readOnly bool
	text     string
	used     uint64 // the cache's clock when it was last asked for
	rows     int    // of its last result that was kept, 0 when it was small
	bytes    int    // of that result's values
	bound    []binding
	kept     []kept // of a statement of many rows, nil of others
}

// statements keeps those of one connection prepared, by their text.
type statements struct {
	byText map[string]*stmt
	size   int
	clock  uint64
}

// get returns the statement of a text that may be a view.
func (s *statements) get(text string) *stmt {
	st, ok := s.byText[text]
	if !ok {
		return nil
	}
	s.clock++
	st.used = s.clock
	return st
}

// put remembers a statement and returns those that it displaced.
func (s *statements) put(st *stmt) (displaced []*stmt) {
	if s.byText == nil {
		s.byText = make(map[string]*stmt)
	}
	// The one before is spared: a step holds a statement and its many-row form at once.
	for len(s.byText) > 1 && (len(s.byText) >= maxStatements || s.size+len(st.text) > maxStatementText) {
		var oldest *stmt
		for _, candidate := range s.byText {
			if oldest == nil || candidate.used < oldest.used {
				oldest = candidate
			}
		}
		delete(s.byText, oldest.text)
		s.size -= len(oldest.text)
		displaced = append(displaced, oldest)
	}
	s.clock++
	st.used = s.clock
	s.byText[st.text] = st
	s.size += len(st.text)
	return displaced
}

// statement returns the prepared statement of a guest's SQL.
func (c *conn) statement(sql string) (*stmt, error) {
	if st := c.cache.get(sql); st != nil {
		return st, nil
	}
	st, err := c.prepare(strings.Clone(sql))
	if err != nil {
		return nil, err
	}
	for _, old := range c.cache.put(st) {
		c.finalize(old)
	}
	return st, nil
}

// prepare compiles one statement.
func (c *conn) prepare(sql string) (*stmt, error) {
	if len(sql) > MaxSQL {
		return nil, &sqliteError{code: lib.SQLITE_TOOBIG, text: "statement is too long"}
	}
	if strings.IndexByte(sql, 0) >= 0 {
		return nil, &sqliteError{code: lib.SQLITE_ERROR, text: "statement contains a NUL"}
	}
	start, err := allocateString(c.tls, sql)
	if err != nil {
		return nil, err
	}
	defer free(c.tls, start)
	handle, tail, err := c.compile(start)
	if err != nil {
		return nil, err
	}
	if handle == 0 {
		return nil, &sqliteError{code: lib.SQLITE_ERROR, text: "statement is empty"}
	}
	st := &stmt{
		handle:   handle,
		params:   int(lib.Xsqlite3_bind_parameter_count(c.tls, handle)),
		columns:  int(lib.Xsqlite3_column_count(c.tls, handle)),
		readOnly: lib.Xsqlite3_stmt_readonly(c.tls, handle) != 0,
		text:     sql,
	}
	st.bound = make([]binding, st.params)
	// Spaces, comments and semicolons may follow; they compile to nothing.
	for *(*byte)(pointer(tail)) != 0 {
		second, rest, err := c.compile(tail)
		if second != 0 {
			lib.Xsqlite3_finalize(c.tls, second)
		}
		if err != nil || second != 0 || rest == tail {
			c.finalize(st)
			return nil, &sqliteError{code: lib.SQLITE_ERROR, text: "more than one statement: each is a step of its own"}
		}
		tail = rest
	}
	return st, nil
}

// compile returns the first statement of a text in C memory, 0 when there is none, and what follows.
func (c *conn) compile(start uintptr) (handle, tail uintptr, err error) {
	out := c.scratch
	if rc := lib.Xsqlite3_prepare_v3(c.tls, c.db, start, -1, lib.SQLITE_PREPARE_PERSISTENT, out, out+unsafe.Sizeof(out)); rc != lib.SQLITE_OK {
		return 0, 0, c.failure(rc)
	}
	return *(*uintptr)(pointer(out)), *(*uintptr)(pointer(out + unsafe.Sizeof(out))), nil
}

func (c *conn) finalize(st *stmt) {
	if st != nil {
		lib.Xsqlite3_finalize(c.tls, st.handle)
		if st.kept != nil {
			free(c.tls, st.kept[0].address)
			st.kept = nil
		}
	}
}
