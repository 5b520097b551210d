package plugintest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/capability/postgres"
	"github.com/alineo-labs/alineo-host/host/internal/capability/sqlite"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/host/store/storetest"
)

// grant is a database that the plugin asked for.
type grant struct {
	want abi.Want
	sql  config.SQL
}

// text says what it is in each case.
func (g grant) text() string {
	if g.sql.Driver == config.Postgres {
		return "PostgreSQL at " + postgres.Where(g.sql.DSN.Reveal()) + ": a database of its own for each case, dropped afterwards"
	}
	return "a temporary SQLite file for each case"
}

// grant decides what the plugin gets of what it asks for.
func (s *subject) grant() error {
	var errs []error
	for _, want := range s.manifest.Capabilities {
		switch want.Name {
		case "log", "secret":
		case "sql":
			db, given := s.opts.Grants[want.Resource]
			if !given {
				db = config.SQL{Driver: config.SQLite}
			}
			s.grants = append(s.grants, grant{want: want, sql: db})
		case "files":
			s.directories = append(s.directories, want)
		case "http":
			if s.opts.Web == nil && !want.Optional {
				errs = append(errs, fmt.Errorf("plugin %q wants to send HTTP requests to %s (%s): grant it the address (--grant URL)",
					s.opts.Name, cmp.Or(want.Resource, "what its configuration names"), want.Reason))
			}
		default:
			if want.Optional {
				continue
			}
			errs = append(errs, fmt.Errorf("plugin %q wants %q of %q (%s), which it can't be granted here; it can have \"sql\", \"files\", \"http\", \"secret\" and \"log\"",
				s.opts.Name, want.Name, want.Resource, want.Reason))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.opts.Grants)) {
		if !slices.ContainsFunc(s.grants, func(g grant) bool { return g.want.Resource == name }) {
			errs = append(errs, fmt.Errorf("the plugin does not ask for the database %q that it is granted (it asks for: %s)", name, s.wanted()))
		}
	}
	return errors.Join(errs...)
}

func (s *subject) wanted() string {
	names := make([]string, len(s.grants))
	for i, g := range s.grants {
		names[i] = g.want.Resource
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// place is the storage of one case.
type place struct {
	databases   map[string]config.SQL // by the name that the plugin uses
	directories map[string]string     // by the path that the plugin uses
}

// keeper is where a place is made, and what takes it away again. storetest.T is one.
type keeper interface {
	Context() context.Context
	TempDir() string
	Cleanup(f func())
	Errorf(format string, args ...any)
}

// place makes storage with nothing in it.
func (s *subject) place(t keeper) (place, error) {
	at := place{databases: map[string]config.SQL{}, directories: map[string]string{}}
	for _, want := range s.directories {
		if at.directories[want.Resource] = s.kept.directory(want.Resource); at.directories[want.Resource] == "" {
			at.directories[want.Resource] = t.TempDir()
		}
	}
	for i, g := range s.grants {
		db := g.sql
		if s.kept != nil && slices.Contains(s.kept.Databases, g.want.Resource) {
			at.databases[g.want.Resource] = db
			continue
		}
		if db.Driver == config.Postgres {
			dsn, drop, err := makeDatabase(t.Context(), db.DSN.Reveal())
			if err != nil {
				return place{}, err
			}
			db.DSN = config.NewSecret(dsn)
			t.Cleanup(func() {
				if err := drop(context.WithoutCancel(t.Context())); err != nil {
					t.Errorf("%v", err)
				}
			})
		} else {
			db.Path = filepath.Join(t.TempDir(), fmt.Sprintf("%d.db", i))
			if !s.durable {
				db.Synchronous = "normal" // nobody cuts the power off here
			}
			if err := s.fill(db.Path); err != nil {
				return place{}, err
			}
		}
		at.databases[g.want.Resource] = db
	}
	return at, nil
}

// fill copies the template to where a case's file will be.
func (s *subject) fill(path string) error {
	if s.opts.Template == "" {
		return nil
	}
	content, err := os.ReadFile(s.opts.Template)
	if err == nil {
		err = os.WriteFile(path, content, 0o600)
	}
	if err != nil {
		return fmt.Errorf("copying the template of a case's database: %w", err)
	}
	return nil
}

// open opens the databases. Nothing is connected to before it is used.
func (p place) open() (map[string]capability.Database, error) {
	opened := make(map[string]capability.Database, len(p.databases))
	for name, db := range p.databases {
		one, err := openDatabase(db)
		if err != nil {
			for _, other := range opened {
				err = errors.Join(err, other.Close())
			}
			return nil, err
		}
		opened[name] = one
	}
	return opened, nil
}

func openDatabase(db config.SQL) (capability.Database, error) {
	if db.Driver == config.Postgres {
		return postgres.Open(postgres.Options{
			DSN: db.DSN.Reveal(), PoolSize: poolSize, StatementTimeout: time.Duration(db.StatementTimeout), AllowSuperuser: db.AllowSuperuser,
		})
	}
	return sqlite.Open(sqlite.Options{Path: db.Path, Synchronous: db.Synchronous, BusyTimeout: time.Duration(db.BusyTimeout)})
}

// poolSize keeps many cases at once from using up a server's connections.
const poolSize = 4

// dialect is how foreign rows are written to a database.
func dialect(db config.SQL) storetest.Foreign {
	if db.Driver == config.Postgres {
		return storetest.ForeignPostgres()
	}
	return storetest.ForeignSQLite()
}

// run runs statements on the place's only database, past the plugin.
func (p place) run(ctx context.Context, statements func(storetest.Foreign) []abi.SQLStep) (err error) {
	for _, db := range p.databases {
		opened, err := openDatabase(db)
		if err != nil {
			return err
		}
		var failure error
		if _, refused := opened.Exec(ctx, &abi.SQLExec{Steps: statements(dialect(db))}, new(capability.Call)); refused != nil {
			failure = refused
		}
		if err := errors.Join(failure, opened.Close()); err != nil {
			return err
		}
	}
	return nil
}

// insert adds rows as the reference client would.
func (p place) insert(ctx context.Context, entries []store.Entry) error {
	err := p.run(ctx, func(f storetest.Foreign) []abi.SQLStep {
		steps := []abi.SQLStep{{SQL: f.Create}}
		for i := range entries {
			step := abi.SQLStep{SQL: f.Insert}
			for _, v := range f.Row(&entries[i]) {
				step.Params = append(step.Params, abi.SQLParam{Value: value(v)})
			}
			steps = append(steps, step)
		}
		return steps
	})
	if err != nil {
		return fmt.Errorf("writing rows as another program: %w", err)
	}
	return nil
}

func value(v any) abi.Value {
	switch v := v.(type) {
	case string:
		return abi.Text(v)
	case int64:
		return abi.Int(v)
	}
	return abi.Null
}

// foreign tells whether the plugin keeps its entries in the reference client's table.
func (s *subject) foreign(ctx context.Context) (uses bool) {
	if len(s.grants) != 1 {
		return false
	}
	t := &temporary{ctx: ctx, dir: s.opts.Dir}
	defer t.cleanUp()
	at, err := s.place(t)
	if err != nil {
		return false // the cases will say so
	}
	p, err := s.open(ctx, at, "")
	if err != nil {
		return false
	}
	t.Cleanup(func() { _ = p.Close(context.WithoutCancel(ctx)) })
	if p.Call(ctx, abi.OpLedgerOpen, &abi.LedgerOpenRequest{Key: abi.SandboxKey{Name: "probe", SandboxID: "probe"}}, nil, nil) != nil {
		return false
	}
	return at.run(ctx, func(f storetest.Foreign) []abi.SQLStep {
		return []abi.SQLStep{{SQL: f.Probe, Result: abi.ResultInline}}
	}) == nil
}
