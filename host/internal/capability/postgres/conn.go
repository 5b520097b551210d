package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
)

const (
	maxStatements = 256 // that a connection keeps prepared
	// closeTime bounds a farewell, and a ROLLBACK.
	closeTime = 5 * time.Second
	// hurry is closeTime for connections that are likely dead.
	hurry = 200 * time.Millisecond
	// signTime is how long a connection that was idle for long may take to show that it is alive.
	signTime = 2 * time.Second
	// idleInTransaction is after which the server ends a transaction of a host that hangs.
	idleInTransaction = time.Minute
)

var errEncoding = errors.New("the database does not store text as UTF8")

var errSuperuser = errors.New("the role is a superuser, or may run programs or use files on the server, and allow_superuser is not set")

// conn is one connection. It is used by one goroutine at a time.
type conn struct {
	pg    *pgconn.PgConn
	named bool // statements may stay prepared: the other side is one server process
	fresh bool // nothing ran on it yet
	used  time.Time
	begin string // before each program that writes
	look  string // before each program that reads
	limit string // after that, where the session can't be set up

	statements map[string]*stmt
	lone       map[string]bool // statements without parameters that came once
	evicted    []string        // names of statements that the server may let go of
	made       int             // statements, for their names
	clock      uint64

	// Of the running program; their memory serves the next one.
	results []result
	queue   []run
	cells   []abi.Value
	values  [][]byte
	formats []int16
	arrays  [][]byte
	arena   []byte
}

// stmt is a statement of which the server has told the types.
type stmt struct {
	about   *pgconn.StatementDescription
	formats []int16 // of the columns that it returns
	used    uint64  // the connection's clock when it was last asked for
	rows    int     // of its last result
	size    int     // of that, bytes
}

// hello asks who is on the other side. A process that has another number than the one that
// answered the connection is lent by a pooler.
const hello = `SELECT pg_backend_pid()::text,
 (SELECT bool_or(rolsuper) FROM pg_roles WHERE rolname IN (current_user, session_user))
 OR EXISTS (SELECT 1 FROM pg_roles WHERE pg_has_role(session_user, oid, 'MEMBER')
  AND rolname IN ('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files')),
 current_setting('server_encoding')`

// open makes a connection that is ready for a guest's statements.
func open(ctx context.Context, cfg *pgconn.Config, opts *Options) (*conn, error) {
	// pgconn bounds each address by the connect timeout; a server that accepts and says nothing counts too.
	ctx, cancel := context.WithTimeout(ctx, 2*cfg.ConnectTimeout)
	defer cancel()
	pg, err := pgconn.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	c := &conn{pg: pg, fresh: true, statements: make(map[string]*stmt)}
	if err := c.introduce(ctx, opts); err != nil {
		return nil, errors.Join(err, c.close(closeTime))
	}
	return c, nil
}

// introduce learns what the other side is and sets the session up.
func (c *conn) introduce(ctx context.Context, opts *Options) error {
	answer := c.pg.ExecParams(ctx, hello, nil, nil, nil, nil).Read()
	if answer.Err != nil {
		return fmt.Errorf("asking for the role: %w", answer.Err)
	}
	if len(answer.Rows) != 1 || len(answer.Rows[0]) != 3 {
		return errors.New("asking for the role: no answer")
	}
	if string(answer.Rows[0][1]) != "f" && !opts.AllowSuperuser {
		return errSuperuser
	}
	if encoding := string(answer.Rows[0][2]); encoding != "UTF8" {
		// LATIN1 and the like can't hold every text, and SQL_ASCII can't be searched as JSON.
		return fmt.Errorf("%w, but as %s", errEncoding, encoding)
	}
	c.named = string(answer.Rows[0][0]) == strconv.FormatUint(uint64(c.pg.PID()), 10)
	c.begin = "BEGIN ISOLATION LEVEL READ COMMITTED" // and not READ WRITE: the database may be set to be read only
	c.look = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	// A host that hangs must not hold locks: programs don't wait between their statements.
	limits := fmt.Sprintf("SELECT set_config('statement_timeout', '%d', %t), set_config('idle_in_transaction_session_timeout', '%d', %t)",
		opts.StatementTimeout.Milliseconds(), !c.named, idleInTransaction.Milliseconds(), !c.named)
	if !c.named {
		// A session's settings would be left with whoever has the process next.
		c.limit = limits
		return nil
	}
	if _, err := c.pg.Exec(ctx, limits).ReadAll(); err != nil {
		return fmt.Errorf("setting timeouts: %w", err)
	}
	return nil
}

// describe says what is on the other side.
func (c *conn) describe(ctx context.Context, info *capability.DatabaseInfo) error {
	answer := c.pg.ExecParams(ctx, "SELECT current_setting('server_version'), current_setting('synchronous_commit'), current_user", nil, nil, nil, nil).Read()
	if answer.Err != nil {
		return answer.Err
	}
	row := answer.Rows[0]
	info.Version, info.Synchronous, info.Role = string(row[0]), string(row[1]), string(row[2])
	info.Pooled = !c.named
	switch wire := c.pg.Conn().(type) {
	case *tls.Conn:
		info.Transport = tls.VersionName(wire.ConnectionState().Version)
	case *net.UnixConn:
		info.Transport = "a local socket"
	default:
		info.Transport = "no TLS"
	}
	return nil
}

// alive asks the other side for a sign of life.
func (c *conn) alive(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, signTime)
	defer cancel()
	return c.pg.Exec(ctx, "-- alive?").Close() == nil
}

// known returns a statement that was described before, nil when it was not.
func (c *conn) known(sql string) *stmt {
	st := c.statements[sql]
	if st != nil {
		c.clock++
		st.used = c.clock
	}
	return st
}

// maxLone is how many statements without parameters a connection remembers to have seen.
const maxLone = 64

// again tells whether a statement without parameters came before: then it is worth being prepared, since
// the server reads and plans it anew otherwise. Where nothing outlives the transaction it never is.
func (c *conn) again(sql string) bool {
	if !c.named {
		return false
	}
	if c.statements[sql] != nil || c.lone[sql] {
		return true
	}
	if c.lone == nil || len(c.lone) >= maxLone {
		c.lone = make(map[string]bool)
	}
	c.lone[strings.Clone(sql)] = true
	return false
}

// name is what the next statement is called, empty where it does not outlive the transaction.
func (c *conn) name() string {
	if !c.named {
		return ""
	}
	c.made++
	return "alineo_" + strconv.FormatUint(uint64(c.pg.PID()), 10) + "_" + strconv.Itoa(c.made)
}

// keep remembers a statement; its text must not be a view.
func (c *conn) keep(sql string, about *pgconn.StatementDescription) *stmt {
	for len(c.statements) >= maxStatements {
		oldest := ""
		for text, st := range c.statements {
			if oldest == "" || st.used < c.statements[oldest].used {
				oldest = text
			}
		}
		if name := c.statements[oldest].about.Name; name != "" {
			c.evicted = append(c.evicted, name)
		}
		delete(c.statements, oldest)
	}
	c.clock++
	st := &stmt{about: about, formats: make([]int16, len(about.Fields)), used: c.clock}
	for i := range about.Fields {
		st.formats[i] = resultFormat(about.Fields[i].DataTypeOID)
	}
	c.statements[sql] = st
	return st
}

// rest lets go of what the last program left: rows, and views of its text.
func (c *conn) rest() {
	clear(c.results)
	clear(c.queue)
	clear(c.cells)
	clear(c.values)
	const most = 1 << 20
	if cap(c.arena) > most {
		c.arena = nil
	}
	for i := range c.arrays {
		if cap(c.arrays[i]) > most {
			c.arrays[i] = nil
		}
	}
}

// run executes one of the host's own statements outside of a pipeline and returns what the server
// says that it did.
func (c *conn) run(ctx context.Context, sql string) (tag string, err error) {
	results, err := c.pg.Exec(ctx, sql).ReadAll()
	if err != nil {
		return "", err
	}
	if len(results) > 0 {
		tag = results[0].CommandTag.String()
	}
	return tag, nil
}

func (c *conn) close(within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	return c.pg.Close(ctx)
}
