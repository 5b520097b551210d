package postgres

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// Bounds of what a guest may make the host hold.
const (
	// MaxSQL is the size of the longest statement, bytes.
	MaxSQL = 1 << 20
	// MaxSteps is the number of steps of the longest program.
	MaxSteps = 4096
	// MaxRows is the number of rows of the longest result.
	MaxRows = 64 << 10
	// MaxHandleBytes is where a result behind a handle ends, and its default, bytes: with the row
	// that passes it.
	MaxHandleBytes = 16 << 20
	// DefaultInlineBytes is where a result in the reply ends unless the step says otherwise, bytes.
	DefaultInlineBytes = 1 << 20
	// MaxInlineBytes is the size of the largest result in a reply, bytes. One row that is larger is an
	// error: it belongs behind a handle.
	MaxInlineBytes = 4 << 20
	// MaxLastCell is the size of the largest cell in the last row that a step reports beside a
	// handle, bytes; larger ones are null there.
	MaxLastCell = 64 << 10
	// readBuffer is how much is read from a connection at a time, bytes: rows come faster than one by one.
	readBuffer = 64 << 10
	// maxMessage is the size of the largest row that is read, bytes.
	maxMessage = 300 << 20
)

// Options say which server a database is on and how it is used.
type Options struct {
	// DSN is a URL or a list of key=value as libpq has them. What it leaves out is taken from the PG*
	// variables (PGHOST, PGSSLMODE …), from a password file, and from libpq's defaults.
	DSN string
	// PoolSize is the largest number of connections, 8 when 0.
	PoolSize int
	// StatementTimeout is the longest that one statement may take, 30 s when 0. The server enforces it.
	StatementTimeout time.Duration
	// ConnectTimeout is the longest that making a connection may take, 10 s when 0. A connect_timeout
	// in the DSN, or PGCONNECT_TIMEOUT, wins.
	ConnectTimeout time.Duration
	// IdleCheck is after how long without work a connection is tried before it is used again, 30 s
	// when 0.
	IdleCheck time.Duration
	// AllowSuperuser accepts a role that can leave the database: a superuser, or one that may run
	// programs or read and write files on the server.
	AllowSuperuser bool
	// Logger gets what the guest must not see, such as the address of a server that can't be reached.
	// Nil logs nothing.
	Logger hclog.Logger
}

const (
	defaultPoolSize         = 8
	maxPoolSize             = 1000
	defaultStatementTimeout = 30 * time.Second
	defaultConnectTimeout   = 10 * time.Second
	defaultIdleCheck        = 30 * time.Second
)

// check fills in the defaults and returns every problem at once.
func (o *Options) check() error {
	var errs []error
	switch {
	case o.PoolSize < 0 || o.PoolSize > maxPoolSize:
		errs = append(errs, fmt.Errorf("a pool of %d connections is not one of 1 to %d", o.PoolSize, maxPoolSize))
	case o.PoolSize == 0:
		o.PoolSize = defaultPoolSize
	}
	switch {
	case o.StatementTimeout < 0:
		errs = append(errs, fmt.Errorf("statement timeout %s is negative", o.StatementTimeout))
	case o.StatementTimeout == 0:
		o.StatementTimeout = defaultStatementTimeout
	}
	switch {
	case o.ConnectTimeout < 0:
		errs = append(errs, fmt.Errorf("connect timeout %s is negative", o.ConnectTimeout))
	case o.ConnectTimeout == 0:
		o.ConnectTimeout = defaultConnectTimeout
	}
	if o.IdleCheck <= 0 {
		o.IdleCheck = defaultIdleCheck
	}
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	return errors.Join(errs...)
}

// parse reads a DSN. The error does not repeat it.
func parse(dsn string) (*pgconn.Config, error) {
	cfg, err := pgconn.ParseConfig(dsn)
	if err == nil {
		return cfg, nil
	}
	return nil, errors.New("the dsn can't be used: " + unreadable(dsn, err))
}

// unreadable says what is wrong with a dsn in words of ours: pgconn's may hold a part of the
// password, if that is what made it unreadable.
func unreadable(dsn string, err error) string {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return "a file that it names can't be read: " + path.Error()
	}
	text := err.Error()
	for _, known := range [...]struct{ said, sentence string }{
		{"failed to parse as", "it is not a URL such as postgres://role@host/database, nor a list such as host=… dbname=…; in a URL's password write / @ : # % as %2F %40 %3A %23 %25"},
		{"invalid port", "its port, or PGPORT, is not a number from 1 to 65535"},
		{"port numbers to", "it has as many ports as hosts, or one"},
		{"failed to read service", "its service, or PGSERVICE, is not in the service file (PGSERVICEFILE, or ~/.pg_service.conf)"},
		{"invalid connect_timeout", "its connect_timeout, or PGCONNECT_TIMEOUT, is not a number of seconds"},
		{"failed to configure TLS", "its sslmode, sslrootcert, sslcert or sslkey, or the PGSSL… variables, can't be used (sslmode is disable, allow, prefer, require, verify-ca or verify-full; the others are files)"},
		{"target_session_attrs", "its target_session_attrs, or PGTARGETSESSIONATTRS, is not any, read-write, read-only, primary, standby or prefer-standby"},
	} {
		if strings.Contains(text, known.said) {
			return known.sentence
		}
	}
	if dsn == "" {
		return "one of the PG* variables has a value that is not one"
	}
	return "one of its settings has a value that is not one"
}

// config returns how to make a connection.
func (o *Options) config() (*pgconn.Config, error) {
	cfg, err := parse(o.DSN)
	if err != nil {
		return nil, err
	}
	// Without one, pgconn waits for two minutes.
	const unset = 2 * time.Minute
	if cfg.ConnectTimeout == 0 || cfg.ConnectTimeout == unset {
		cfg.ConnectTimeout = o.ConnectTimeout
	}
	cfg.RuntimeParams["client_encoding"] = "UTF8"
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "alineo-host"
	}
	cfg.MaxProtocolMessageBodyLen = maxMessage
	cfg.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		return pgproto3.NewFrontend(bufio.NewReaderSize(r, readBuffer), w)
	}
	return cfg, nil
}

// Where says in short which database a DSN names, without role and password: "db.internal:5432/alineo".
// For a DSN that can't be read it is empty.
func Where(dsn string) string {
	cfg, err := parse(dsn)
	if err != nil {
		return ""
	}
	return where(cfg)
}

func where(cfg *pgconn.Config) string {
	database := cfg.Database
	if database == "" {
		database = cfg.User
	}
	hosts := []string{net.JoinHostPort(cfg.Host, strconv.Itoa(int(cfg.Port)))}
	for _, other := range cfg.Fallbacks { // also the same host once more, without TLS
		host := net.JoinHostPort(other.Host, strconv.Itoa(int(other.Port)))
		if !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return strings.Join(hosts, ",") + "/" + database
}
