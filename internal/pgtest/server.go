package pgtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
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

	opts    Options
	bin     string
	ident   identity
	process *exec.Cmd
	ended   <-chan struct{} // closed when process has ended
	output  *log
	made    atomic.Int64
}

// Options are what a server of a test's own has beside the defaults.
type Options struct {
	Settings map[string]string // of postgresql.conf
	HBA      string            // the content of pg_hba.conf; empty: everybody is trusted
}

// shared is a server of this test binary: one for its tests, and one for its benchmarks.
type shared struct {
	cluster *Cluster
	err     error
	started bool
}

// binary is what the tests of this binary share; Main cleans it up.
type binary struct {
	mu       sync.Mutex
	tests    shared
	benches  shared
	main     bool   // Main runs
	template string // the folder of a cluster as initdb makes it, to copy; empty before there is one
}

var errMissing = errors.New("PostgreSQL is not installed (Debian: apt-get install postgresql)")

var one binary

// Main runs the tests and stops the server if one of them started it. It returns the exit code.
func Main(m *testing.M) int {
	one.mu.Lock()
	one.main = true
	one.mu.Unlock()
	defer func() {
		one.mu.Lock()
		defer one.mu.Unlock()
		for _, s := range []*shared{&one.tests, &one.benches} {
			if s.cluster != nil {
				s.cluster.stop()
			}
		}
		if one.template != "" {
			_ = os.RemoveAll(one.template)
		}
	}()
	return m.Run()
}

// Server returns the server of this test binary, which the first call starts. Benchmarks get one of
// their own: that of the tests doesn't wait for the disk.
func Server(tb testing.TB) *Cluster {
	tb.Helper()
	one.mu.Lock()
	defer one.mu.Unlock()
	s, opts := &one.tests, Options{}
	if _, bench := tb.(*testing.B); bench {
		s, opts.Settings = &one.benches, map[string]string{"fsync": "on"}
	}
	if !s.started {
		s.started = true
		s.cluster, s.err = start(opts)
	}
	if errors.Is(s.err, errMissing) {
		tb.Skipf("SKIPPED: %v", s.err)
	}
	if s.err != nil {
		tb.Fatalf("starting PostgreSQL: %v", s.err)
	}
	return s.cluster
}

// New starts a server of the test's own, which ends with the test: one to restart, or to set up in
// another way.
func New(tb testing.TB, opts Options) *Cluster {
	tb.Helper()
	one.mu.Lock()
	c, err := start(opts)
	one.mu.Unlock()
	if errors.Is(err, errMissing) {
		tb.Skipf("SKIPPED: %v", err)
	}
	if err != nil {
		tb.Fatalf("starting PostgreSQL: %v", err)
	}
	tb.Cleanup(c.stop)
	return c
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

func start(opts Options) (*Cluster, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	ident, err := servant()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pgtest-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{Dir: dir, opts: opts, bin: bin, ident: ident, output: new(log)}
	if err := errors.Join(os.Chown(dir, ident.uid, ident.gid), c.make()); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

// make makes the cluster and starts it.
func (c *Cluster) make() error {
	if err := c.files(); err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	c.Port = port
	if err := c.launch(); err != nil {
		return err
	}
	if err := c.wait(func(ctx context.Context) error { return c.exec(ctx, "CREATE ROLE "+Role+" LOGIN") }); err != nil {
		return err
	}
	if c.opts.HBA == "" {
		return nil
	}
	// The superuser comes in through the socket in any case.
	if err := c.write("data/pg_hba.conf", "local all postgres trust\n"+c.opts.HBA+"\n"); err != nil {
		return err
	}
	return c.exec(context.Background(), "SELECT pg_reload_conf()")
}

// files makes the cluster's files: with initdb, or as a copy of those that it made before. One mutex
// guards that.
func (c *Cluster) files() error {
	if one.template == "" {
		out, err := c.command("initdb", "-D", c.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync").CombinedOutput()
		if err != nil {
			return fmt.Errorf("initdb: %w\n%s", err, out)
		}
		if !one.main {
			return nil // nobody would remove a template
		}
		dir, err := os.MkdirTemp("", "pgtest-template-")
		if err != nil {
			return err
		}
		one.template = dir
		if err := os.Chown(dir, c.ident.uid, c.ident.gid); err != nil {
			return err
		}
		return c.copyFiles(c.data(), filepath.Join(dir, "data"))
	}
	return c.copyFiles(filepath.Join(one.template, "data"), c.data())
}

// copyFiles copies a cluster's files as the server's user, whose they stay.
func (c *Cluster) copyFiles(from, to string) error {
	cmd := exec.Command("cp", "-R", "-p", from, to) //nolint:noctx // it is quick
	c.ident.serve(cmd, c.Dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("copying a cluster: %w\n%s", err, out)
	}
	return nil
}

func (c *Cluster) data() string { return filepath.Join(c.Dir, "data") }

// launch starts the server of a cluster that is there.
func (c *Cluster) launch() error {
	args := []string{"-D", c.data(), "-k", c.Dir, "-p", strconv.Itoa(c.Port), "-c", "listen_addresses=127.0.0.1"}
	// A server that crashes loses nothing that the system has, and the system does not crash in tests.
	settings := map[string]string{"fsync": "off", "max_connections": "300", "shared_buffers": "64MB", "autovacuum_naptime": "10s"}
	maps.Copy(settings, c.opts.Settings)
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	c.process = c.command("postgres", args...)
	c.process.Stdout, c.process.Stderr = c.output, c.output
	var err error
	c.ended, err = begin(c.process)
	return err
}

// wait tries until it succeeds, for a minute.
func (c *Cluster) wait(try func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the server: %w\n%s", err, c.output)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Standby starts a hot standby of the server, which ends with the test.
func (c *Cluster) Standby(tb testing.TB) *Cluster {
	tb.Helper()
	dir, err := os.MkdirTemp("", "pgtest-") //nolint:usetesting // the server's user can't enter a test's
	if err != nil {
		tb.Fatal(err)
	}
	s := &Cluster{Dir: dir, opts: c.opts, bin: c.bin, ident: c.ident, output: new(log)}
	tb.Cleanup(s.stop)
	s.Own(tb, dir)
	backup := s.command("pg_basebackup", "-D", s.data(), "-h", c.Dir, "-p", strconv.Itoa(c.Port), "-U", "postgres", "-R", "-c", "fast", "--no-sync")
	out, err := backup.CombinedOutput()
	if err != nil {
		tb.Fatalf("pg_basebackup: %v\n%s", err, out)
	}
	if s.Port, err = freePort(); err != nil {
		tb.Fatal(err)
	}
	s.Up(tb)
	return s
}

// Down ends the server as a crash would ("immediate"): nothing is written back.
func (c *Cluster) Down(tb testing.TB) {
	tb.Helper()
	if err := c.process.Process.Signal(syscall.SIGQUIT); err != nil {
		tb.Fatalf("ending the server: %v", err)
	}
	<-c.ended
	c.process = nil
}

// Up starts the server again after Down, and waits until it answers.
func (c *Cluster) Up(tb testing.TB) {
	tb.Helper()
	err := c.launch()
	if err == nil {
		err = c.wait(func(ctx context.Context) error { return c.exec(ctx, "SELECT 1") })
	}
	if err != nil {
		tb.Fatalf("starting the server again: %v", err)
	}
}

// Exec runs statements as the superuser, in the database postgres.
func (c *Cluster) Exec(tb testing.TB, sql string) {
	tb.Helper()
	if err := c.exec(tb.Context(), sql); err != nil {
		tb.Fatalf("%s: %v", sql, err)
	}
}

// File writes a file that belongs to the server into its folder, and returns its path.
func (c *Cluster) File(tb testing.TB, name, content string) string {
	tb.Helper()
	if err := c.write(name, content); err != nil {
		tb.Fatalf("writing a file of the server: %v", err)
	}
	return filepath.Join(c.Dir, name)
}

// Folder makes a folder that belongs to the server, in its own, and returns its path.
func (c *Cluster) Folder(tb testing.TB, name string) string {
	tb.Helper()
	path := filepath.Join(c.Dir, name)
	if err := os.Mkdir(path, 0o700); err != nil {
		tb.Fatalf("making a folder for the server: %v", err)
	}
	c.Own(tb, path)
	return path
}

// Own gives a file or a folder to the server's user.
func (c *Cluster) Own(tb testing.TB, path string) {
	tb.Helper()
	if err := os.Chown(path, c.ident.uid, c.ident.gid); err != nil {
		tb.Fatalf("giving a file to the server: %v", err)
	}
}

func (c *Cluster) write(name, content string) error {
	path := filepath.Join(c.Dir, name)
	return errors.Join(os.WriteFile(path, []byte(content), 0o600), os.Chown(path, c.ident.uid, c.ident.gid))
}

// command is one of PostgreSQL's own, under the server's user; it ends with this process.
func (c *Cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, name), args...) //nolint:noctx // it lives as long as the test binary
	c.ident.serve(cmd, c.Dir)
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
	if c.process != nil && c.ended != nil { // nil after Down
		_ = c.process.Process.Signal(os.Interrupt) // "fast": clients are cut off
		<-c.ended
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

// Language makes a database that orders texts as a language does, by ICU or by the C library, whichever there is.
func (c *Cluster) Language(tb testing.TB) (name, dsn string) {
	tb.Helper()
	name = fmt.Sprintf("test_%d", c.made.Add(1))
	var refused error
	for _, order := range []string{"LOCALE_PROVIDER icu ICU_LOCALE 'en-US'", "LOCALE 'en_US.UTF-8'"} {
		err := c.exec(tb.Context(), "CREATE DATABASE "+name+" OWNER "+Role+" TEMPLATE template0 "+order)
		if err == nil {
			return name, c.DSN(Role, name)
		}
		refused = errors.Join(refused, err)
	}
	tb.Skipf("SKIPPED: PostgreSQL has neither ICU nor en_US.UTF-8 here: %v", refused)
	return "", ""
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
