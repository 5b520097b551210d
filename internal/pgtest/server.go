package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Role is the role that owns the databases; it is no superuser.
const Role = "alineo"

// Cluster is a running server.
type Cluster struct {
	Dir  string // of the socket
	Port int

	process *exec.Cmd
	output  *strings.Builder
	made    atomic.Int64
}

// shared is the server of this test binary.
type shared struct {
	mu      sync.Mutex
	cluster *Cluster
	err     error
	started bool
}

var errMissing = errors.New("PostgreSQL is not installed (Debian: apt-get install postgresql)")

// one is what Main cleans up; a test binary has one.
var one shared

// Main runs the tests and stops the server if one of them started it. It returns the exit code.
func Main(m *testing.M) int {
	defer func() {
		one.mu.Lock()
		defer one.mu.Unlock()
		if one.cluster != nil {
			one.cluster.stop()
		}
	}()
	return m.Run()
}

// Server returns the server of this test binary, which the first call starts.
func Server(tb testing.TB) *Cluster {
	tb.Helper()
	one.mu.Lock()
	defer one.mu.Unlock()
	if !one.started {
		one.started = true
		one.cluster, one.err = start()
	}
	if errors.Is(one.err, errMissing) {
		tb.Skipf("SKIPPED: %v", one.err)
	}
	if one.err != nil {
		tb.Fatalf("starting PostgreSQL: %v", one.err)
	}
	return one.cluster
}

// binaries is the folder of the newest installed version.
func binaries() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		path, err := exec.LookPath("initdb")
		if err != nil {
			return "", errMissing
		}
		return filepath.Dir(path), nil
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))) //nolint:errcheck // another name is oldest
		return n
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })), nil
}

func start() (*Cluster, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pgtest-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{Dir: dir, output: new(strings.Builder)}
	if err := c.start(bin); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) start(bin string) error {
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 {
		who, err := user.Lookup("postgres")
		if err != nil {
			return err
		}
		uid, _ = strconv.Atoi(who.Uid) //nolint:errcheck // numbers on every system that PostgreSQL runs on
		gid, _ = strconv.Atoi(who.Gid) //nolint:errcheck // the same
		if err := os.Chown(c.Dir, uid, gid); err != nil {
			return err
		}
	}
	data := filepath.Join(c.Dir, "data")
	initdb := c.command(uid, gid, filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	c.Port = port
	c.process = c.command(uid, gid, filepath.Join(bin, "postgres"), "-D", data, "-k", c.Dir, "-p", strconv.Itoa(port),
		"-c", "listen_addresses=127.0.0.1", "-c", "max_connections=300", "-c", "shared_buffers=64MB", "-c", "autovacuum_naptime=10s")
	c.process.Stdout, c.process.Stderr = c.output, c.output
	if err := c.process.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		err := c.exec(ctx, "CREATE ROLE "+Role+" LOGIN")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the server: %w\n%s", err, c.output)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// command is a command under another user that ends with this process.
func (c *Cluster) command(uid, gid int, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...) //nolint:noctx // it lives as long as the test binary
	cmd.Dir = c.Dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.Dir, "LC_ALL=C.UTF-8"}
	tie(cmd, uid, gid)
	return cmd
}

// freePort asks the system for a port that nobody listens on.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // no name to resolve
	if err != nil {
		return 0, err
	}
	port := 0
	if address, ok := l.Addr().(*net.TCPAddr); ok {
		port = address.Port
	}
	return port, l.Close()
}

// stop ends the server and removes its files.
func (c *Cluster) stop() {
	if c.process != nil && c.process.Process != nil {
		_ = c.process.Process.Signal(os.Interrupt) // "fast": clients are cut off
		_ = c.process.Wait()
	}
	_ = os.RemoveAll(c.Dir)
}

// DSN names a database as a role, through the socket.
func (c *Cluster) DSN(role, database string) string {
	return fmt.Sprintf("postgres:///%s?host=%s&port=%d&user=%s&sslmode=disable", database, c.Dir, c.Port, role)
}

// Admin is the DSN of the superuser in a database.
func (c *Cluster) Admin(database string) string { return c.DSN("postgres", database) }

// exec runs a statement as the superuser.
func (c *Cluster) exec(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, c.Admin("postgres"))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}

// Database makes an empty database that the role owns, and returns its name and its DSN.
func (c *Cluster) Database(tb testing.TB) (name, dsn string) {
	tb.Helper()
	name = fmt.Sprintf("test_%d", c.made.Add(1))
	if err := c.exec(tb.Context(), "CREATE DATABASE "+name+" OWNER "+Role); err != nil {
		tb.Fatalf("making a database: %v", err)
	}
	return name, c.DSN(Role, name)
}

// Conn connects to a database as the superuser, until the test ends.
func (c *Cluster) Conn(tb testing.TB, database string) *pgx.Conn {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), c.Admin(database))
	if err != nil {
		tb.Fatalf("connecting as the superuser: %v", err)
	}
	tb.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}
