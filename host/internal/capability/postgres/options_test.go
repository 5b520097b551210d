package postgres_test

import (
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/internal/capability/postgres"
)

// TestWrongOptions checks that what is wrong with a dsn is said without a word of it: any part may be
// the password.
func TestWrongOptions(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"mysql://u:geheim@h/db":                            "not a URL",
		"postgres://u:gehe%im@h/db":                        "%2F",
		"postgres://u:ge/heim@h:5432/db":                   "",
		"postgres://u:geheim@h:99x/db":                     "not a",
		"postgres://u:geheim@h:0/db":                       "port",
		"host=h password=geheim port=geheim":               "port",
		"host=h password='geheim":                          "not a URL",
		"geheim":                                           "not a URL",
		"host=h password=geheim sslmode=geheim":            "sslmode",
		"host=h password=geheim connect_timeout=geheim":    "connect_timeout",
		"host=h password=geheim service=geheim":            "service",
		"host=h password=geheim sslrootcert=/nix":          "/nix",
		"host=a,b port=1,2,3 password=geheim":              "ports",
		"host=h password=geheim target_session_attrs=some": "target_session_attrs",
	} {
		db, err := postgres.Open(postgres.Options{DSN: dsn})
		if err == nil {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			if want != "" {
				t.Errorf("%s: accepted", dsn)
			}
			continue
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "heim") {
			t.Errorf("%s: %v, want …%s…", dsn, err, want)
		}
	}
	for _, wrong := range []postgres.Options{{PoolSize: -1}, {PoolSize: 1001}, {StatementTimeout: -1}, {ConnectTimeout: -1}} {
		wrong.DSN = "host=h"
		if _, err := postgres.Open(wrong); err == nil {
			t.Errorf("%+v: accepted", wrong)
		}
	}
}

func TestWhere(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"postgres://u:geheim@db.internal/alineo":             "db.internal:5432/alineo",
		"postgres://u:geheim@a:1,b:2/x?sslmode=verify-full":  "a:1,b:2/x",
		"host=/run/postgresql user=u password=geheim port=7": "/run/postgresql:7/u",
		"postgres://u:geheim@[::1]/x":                        "[::1]:5432/x",
		"mysql://u:geheim@h/x":                               "",
	} {
		if got := postgres.Where(dsn); got != want {
			t.Errorf("%s: %q, want %q", dsn, got, want)
		}
	}
}
