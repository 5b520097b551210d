package plugintest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// adminTimeout bounds making and dropping a database.
const adminTimeout = 30 * time.Second

// makeDatabase makes a database on the server of a DSN, and returns a DSN of it and how to drop it.
func makeDatabase(ctx context.Context, dsn string) (own string, drop func(context.Context) error, err error) {
	name := "alineo_test_" + strings.ToLower(rand.Text())
	if own, err = withDatabase(dsn, name); err != nil {
		return "", nil, err
	}
	if err := admin(ctx, dsn, "CREATE DATABASE "+name+" TEMPLATE template0"); err != nil {
		if failed, ok := errors.AsType[*pgconn.PgError](err); ok && failed.Code == "42501" {
			err = fmt.Errorf("%w (each case gets a database of its own: let the role make them, ALTER ROLE … CREATEDB)", err)
		}
		return "", nil, fmt.Errorf("making a database for a case: %w", err)
	}
	return own, func(ctx context.Context) error {
		if err := admin(ctx, dsn, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			return fmt.Errorf("dropping database %s: %w", name, err)
		}
		return nil
	}, nil
}

// admin runs one statement on a connection of its own. The error repeats nothing of the DSN.
func admin(ctx context.Context, dsn, statement string) error {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	cfg, err := pgconn.ParseConfig(dsn)
	if err != nil {
		return errors.New("the dsn can't be used: it is not a URL such as postgres://role@host/database, nor a list such as host=… dbname=…")
	}
	conn, err := pgconn.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement).ReadAll()
	return errors.Join(err, conn.Close(ctx))
}

// withDatabase is a DSN with another database.
func withDatabase(dsn, name string) (string, error) {
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return strings.TrimSpace(dsn + " dbname=" + name), nil
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", errors.New("the dsn can't be used: it is no URL")
	}
	u.Path = "/" + name
	query := u.Query()
	query.Del("dbname")
	u.RawQuery = query.Encode()
	return u.String(), nil
}
