package nativeledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/alineo-labs/alineo-host/host/store"
)

const listRows = 200

// ListSandboxes returns a page of sandboxes, newest first.
func (l *Ledger) ListSandboxes(ctx context.Context, opts store.ListOptions) (store.DetailsPage, error) {
	page := store.DetailsPage{Cursor: opts.Cursor}
	limit := int64(listRows)
	if opts.Limit != nil {
		limit = int64(min(*opts.Limit, listRows)) //nolint:gosec // small
	}
	if limit == 0 {
		return page, nil
	}
	var started, created int64
	if err := readCursor(opts.Cursor, &started, &created); err != nil {
		return page, fmt.Errorf("listing sandboxes: %w", err)
	}
	filters := []any{opts.Name, "", opts.Status, nil, opts.RunID, opts.ResourceID, opts.TeamID, nil, nil, limit + 1, opts.IDPrefix}
	if opts.Before != nil {
		filters[3] = *opts.Before
	}
	if len(opts.Cursor) > 0 {
		filters[7], filters[8] = started, created
	}
	list, cursors, err := l.details(ctx, filters)
	if err != nil {
		return page, fmt.Errorf("listing sandboxes: %w", err)
	}
	if page.More = int64(len(list)) > limit; page.More {
		list = list[:limit]
	}
	page.Sandboxes = list
	if len(list) > 0 {
		page.Cursor = cursors[len(list)-1]
	}
	return page, nil
}

// GetSandbox returns one sandbox's details.
func (l *Ledger) GetSandbox(ctx context.Context, key store.Key) (store.Details, error) {
	return l.one(ctx, "getting sandbox "+key.String(), key.Name, key.SandboxID)
}

// FindSandbox returns one sandbox's details by its id alone.
func (l *Ledger) FindSandbox(ctx context.Context, sandboxID string) (store.Details, error) {
	return l.one(ctx, "finding sandbox "+sandboxID, "", sandboxID)
}

func (l *Ledger) one(ctx context.Context, doing, name, id string) (store.Details, error) {
	list, _, err := l.details(ctx, []any{name, id, "", nil, "", "", "", nil, nil, 1, ""})
	if err == nil && len(list) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Details{}, fmt.Errorf("%s: %w", doing, err)
	}
	return list[0], nil
}

func (l *Ledger) details(ctx context.Context, filters []any) (list []store.Details, cursors [][]byte, err error) {
	rows, err := l.db.QueryContext(context.WithoutCancel(ctx), sqlDetails, filters...)
	if err != nil {
		return nil, nil, classify(err)
	}
	defer rows.Close() //nolint:errcheck // what matters is in rows.Err
	for rows.Next() {
		var d store.Details
		var created int64
		err = rows.Scan(&d.Name, &d.SandboxID, &d.Status, &d.StartedAt, &d.CompletedAt, &d.ExecCount,
			&d.RunID, &d.ResourceID, &d.TeamID, &d.ParentSandboxID, &created)
		if err != nil {
			return nil, nil, fmt.Errorf("scanning a row: %w", err)
		}
		list, cursors = append(list, d), append(cursors, cursor(d.StartedAt, created))
	}
	return list, cursors, classify(rows.Err())
}

// GetEnvironment returns one environment.
func (l *Ledger) GetEnvironment(ctx context.Context, name string) (store.Environment, error) {
	var e store.Environment
	row := l.db.QueryRowContext(context.WithoutCancel(ctx), sqlGetEnvironment, name)
	err := row.Scan(&e.Name, &e.SnapshotID, &e.Image, &e.BuiltAt)
	if errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNotFound
	}
	if err != nil {
		return e, fmt.Errorf("getting environment %q: %w", name, classify(err))
	}
	return e, nil
}

// SaveEnvironment adds or replaces one environment.
func (l *Ledger) SaveEnvironment(ctx context.Context, e store.Environment) error {
	err := l.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.Exec(sqlSaveEnvironment, e.Name, e.SnapshotID, e.Image, e.BuiltAt)
		return err
	})
	if err != nil {
		return fmt.Errorf("saving environment %q: %w", e.Name, err)
	}
	return nil
}

// DeleteEnvironment removes one environment, if it is there.
func (l *Ledger) DeleteEnvironment(ctx context.Context, name string) error {
	err := l.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.Exec(sqlDeleteEnvironment, name)
		return err
	})
	if err != nil {
		return fmt.Errorf("deleting environment %q: %w", name, err)
	}
	return nil
}

// ListEnvironments returns every environment, newest first.
func (l *Ledger) ListEnvironments(ctx context.Context) ([]store.Environment, error) {
	rows, err := l.db.QueryContext(context.WithoutCancel(ctx), sqlListEnvironments)
	if err != nil {
		return nil, fmt.Errorf("listing environments: %w", classify(err))
	}
	defer rows.Close() //nolint:errcheck // what matters is in rows.Err
	list := []store.Environment{}
	for rows.Next() {
		var e store.Environment
		if err = rows.Scan(&e.Name, &e.SnapshotID, &e.Image, &e.BuiltAt); err != nil {
			return nil, fmt.Errorf("listing environments: %w", err)
		}
		list = append(list, e)
	}
	return list, classify(rows.Err())
}
