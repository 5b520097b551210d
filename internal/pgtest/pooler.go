package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"
)

// poolerSettings are those of a pooler in its strictest mode: few server processes, which change after
// each transaction.
const poolerSettings = `[databases]
* = host=%[1]s port=%[2]d
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %[3]d
unix_socket_dir =
auth_type = trust
auth_file = %[1]s/users.txt
pool_mode = transaction
max_client_conn = 1000
default_pool_size = 3
log_connections = 0
log_disconnections = 0
`

// Pooler starts PgBouncer before the server, lending a server process for one transaction at a time,
// until the test ends, and returns the DSN of a database through it.
func (c *Cluster) Pooler(tb testing.TB, database string) (dsn string) {
	tb.Helper()
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		path = "/usr/sbin/pgbouncer" // not in everybody's PATH
		if _, err := os.Stat(path); err != nil {
			tb.Skip("SKIPPED: PgBouncer is not installed (Debian: apt-get install pgbouncer)")
		}
	}
	port, err := freePort()
	if err != nil {
		tb.Fatal(err)
	}
	users := c.File(tb, "users.txt", fmt.Sprintf("%q \"\"\n", Role))
	settings := c.File(tb, "pgbouncer-"+strconv.Itoa(port)+".ini", fmt.Sprintf(poolerSettings, filepath.Dir(users), c.Port, port))
	output := new(log)
	cmd := exec.Command(path, settings) //nolint:noctx // it ends with the test
	c.ident.serve(cmd, "/")
	cmd.Stdout, cmd.Stderr = output, output
	ended, err := begin(cmd)
	if err != nil {
		tb.Fatalf("starting PgBouncer: %v", err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Process.Kill()
		<-ended
	})
	dsn = fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", Role, port, database)
	err = c.wait(func(ctx context.Context) error {
		conn, err := pgx.Connect(ctx, dsn)
		if err != nil {
			return err
		}
		return errors.Join(conn.Ping(ctx), conn.Close(ctx))
	})
	if err != nil {
		tb.Fatalf("PgBouncer: %v\n%s", err, output)
	}
	return dsn
}
