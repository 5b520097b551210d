package plugintest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/internal/plugintest"
	"github.com/alineo-labs/alineo-host/internal/pgtest"
	"github.com/alineo-labs/alineo-host/plugins"
)

// TestPostgres tries the bundled PostgreSQL ledger on a server: each case has a database of its own, which
// is dropped, and the granted one stays as it was.
func TestPostgres(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	name, dsn := server.Database(t)
	bundle, err := plugins.Find("postgres")
	if err != nil {
		t.Fatal(err)
	}
	opts := plugintest.Options{
		Name: "postgres", Wasm: bundle.Wasm, SHA256: bundle.SHA256, Parallel: 2, Dir: t.TempDir(),
		Limits: plugin.Limits{Deadline: time.Minute, StartDeadline: time.Minute}, Deadline: 5 * time.Minute,
		Grants: map[string]config.SQL{"ledger": {Driver: config.Postgres, DSN: config.NewSecret(dsn)}},
		Match: func(name string) bool {
			return strings.HasPrefix(name, "append/a") || name == "handle/reopened" || name == "heads/foreign" || name == "append/verbatim" ||
				name == "fenced/claim-race" || name == "log/verbatim"
		},
	}
	refused, err := plugintest.Run(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if c := byName(refused, "append/atomic"); c.Status != plugintest.Failed || !strings.Contains(strings.Join(c.Messages, "\n"), "ALTER ROLE … CREATEDB") {
		t.Errorf("without the right to make databases: %+v", c)
	}

	admin := server.Conn(t, "postgres")
	if _, err := admin.Exec(t.Context(), "ALTER ROLE "+pgtest.Role+" CREATEDB"); err != nil {
		t.Fatal(err)
	}
	report, err := plugintest.Run(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if c := byName(report, "append/verbatim"); c.Status != plugintest.NotRun {
		t.Errorf("JSONB keeps no bytes, and the case about them ended as %+v", c)
	}
	if report.Failed > 0 || report.Passed < 5 {
		t.Errorf("%+v", report)
	}
	if as := report.Plan.Grants[0].As; !strings.Contains(as, "a database of its own for each case") || strings.Contains(as, pgtest.Role+"@") {
		t.Errorf("granted as %q", as)
	}
	for query, want := range map[string]int{
		"SELECT count(*) FROM pg_database WHERE datname LIKE 'alineo_test_%'": 0,
		"SELECT count(*) FROM pg_database WHERE datname = '" + name + "'":     1,
	} {
		var got int
		if err := admin.QueryRow(t.Context(), query).Scan(&got); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", query, got, err, want)
		}
	}
	var tables int
	own := server.Conn(t, name)
	if err := own.QueryRow(t.Context(), "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").Scan(&tables); err != nil || tables != 0 {
		t.Errorf("the granted database has %d tables, %v", tables, err)
	}
}
