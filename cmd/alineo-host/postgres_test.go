package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/alineo-labs/alineo-host/internal/pgtest"
	"github.com/alineo-labs/alineo-host/internal/testcache"
)

// TestPostgresStories runs the stories of testdata/postgres, each with an empty database on a server
// that wants a password: $PGTEST_URL with it, $PGTEST_PASSWORD, $PGTEST_PORT, $PGTEST_DATABASE.
func TestPostgresStories(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t, pgtest.Options{HBA: "host all all 127.0.0.1/32 scram-sha-256"})
	password := rand.Text()
	server.Exec(t, "ALTER ROLE "+pgtest.Role+" PASSWORD '"+password+"'")
	able := sandboxes(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/postgres",
		Setup: func(env *testscript.Env) error {
			tb, ok := env.T().(testing.TB)
			if !ok {
				tb = t
			}
			database, _ := server.Database(tb)
			url := fmt.Sprintf("postgres://%s:%s@127.0.0.1:%d/%s?sslmode=disable", pgtest.Role, password, server.Port, database)
			for name, value := range map[string]string{
				"HOME": env.WorkDir, "XDG_CACHE_HOME": testcache.Home(), "PGTEST_URL": url, "PGTEST_PASSWORD": password,
				"PGTEST_PORT": strconv.Itoa(server.Port), "PGTEST_DATABASE": database,
			} {
				env.Setenv(name, value)
			}
			data, err := engineData()
			if err != nil {
				return err
			}
			env.Defer(func() { _ = os.RemoveAll(data) })
			for _, file := range []string{"alineo.toml", "other.toml"} {
				path := filepath.Join(env.WorkDir, file)
				text, err := os.ReadFile(path)
				if err != nil {
					continue // the story does without
				}
				if err := os.WriteFile(path, fmt.Appendf(text, "[engine]\ndata = %q\n", data), 0o600); err != nil {
					return err
				}
			}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "sandbox" {
				return able, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"fill": fill, "tamper": tamper,
			// secret looks for the password in every file of the story, and in what the last command printed.
			"secret": func(ts *testscript.TestScript, neg bool, _ []string) {
				found := ts.ReadFile("stdout") + ts.ReadFile("stderr")
				ts.Check(filepath.WalkDir(ts.MkAbs("."), func(path string, entry os.DirEntry, err error) error {
					if err != nil || !entry.Type().IsRegular() || strings.HasSuffix(path, ".pass") {
						return err
					}
					found += ts.ReadFile(path)
					return nil
				}))
				if strings.Contains(found, password) == neg {
					ts.Fatalf("the password is there: %t", neg)
				}
			},
		},
	})
}
