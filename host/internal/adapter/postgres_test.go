package adapter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/alineo-labs/alineo-host/host/internal/adapter"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/capability/postgres"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/host/store/storetest"
	"github.com/alineo-labs/alineo-host/internal/pgtest"
	"github.com/alineo-labs/alineo-host/plugins"
)

// openPostgres opens the bundled PostgreSQL ledger in a schema, through its WebAssembly guest.
func openPostgres(ctx context.Context, rt *plugin.Runtime, dsn, schema string) (store.Ledger, error) {
	bundle, err := plugins.Find("postgres")
	if err != nil {
		return nil, err
	}
	db, err := postgres.Open(postgres.Options{DSN: dsn, PoolSize: 4})
	if err != nil {
		return nil, err
	}
	caps := capability.NewSet(capability.SetOptions{
		Plugin: "postgres", Databases: map[string]capability.Database{"ledger": db},
	})
	options, err := json.Marshal(map[string]string{"schema": schema})
	if err != nil {
		return nil, err
	}
	p, err := rt.Load(ctx, plugin.Spec{
		Name: "postgres", Wasm: bundle.Wasm, SHA256: bundle.SHA256, Caps: caps, Limits: patient, Config: options,
	})
	if err != nil {
		return nil, errors.Join(err, caps.Close())
	}
	return opened{adapter.NewLedger(p), caps, p}, nil
}

// reference is the reference's own schema.
const reference = `CREATE SCHEMA IF NOT EXISTS {};
CREATE TABLE IF NOT EXISTS {}.alineo_events (id BIGSERIAL PRIMARY KEY, sandbox_id TEXT NOT NULL, name TEXT NOT NULL,
 step_idx INTEGER NOT NULL, branch INTEGER, event TEXT NOT NULL, payload JSONB, error TEXT, ts BIGINT NOT NULL)`

// insertReference adds rows as the reference would: to the base table, past everything of ours.
func insertReference(ctx context.Context, dsn, schema string, entries []store.Entry) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	place := pgx.Identifier{schema}.Sanitize()
	_, err = conn.Exec(ctx, strings.ReplaceAll(reference, "{}", place))
	for i := range entries {
		e := &entries[i]
		if err != nil {
			break
		}
		var payload any
		if e.Payload != nil {
			payload = string(e.Payload)
		}
		if e.Payload != nil && !json.Valid(e.Payload) {
			payload = strconv.Quote(string(e.Payload)) // JSONB holds nothing malformed; this is JSON and no object
		}
		_, err = conn.Exec(ctx, `INSERT INTO `+place+`.alineo_events(sandbox_id, name, step_idx, branch, event, payload, error, ts)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, e.SandboxID, e.Name, e.StepIndex, e.Branch, e.Event, payload, e.Error, e.TS)
	}
	return errors.Join(err, conn.Close(ctx))
}

// postgresFeatures are all but verbatim: JSONB keeps a payload's value, not its bytes.
var postgresFeatures = []storetest.Feature{
	storetest.FeatureEnvironments, storetest.FeatureReadAll, storetest.FeatureHandles, storetest.FeaturePersistent, storetest.FeatureForeignRows,
	storetest.FeatureMaintenance,
}

func TestPostgresLedger(t *testing.T) {
	t.Parallel()
	if raced {
		t.Skip("LEFT OUT: minutes; the detector sees this code in the tests of faults and writers, and the suite on SQLite")
	}
	_, dsn := pgtest.Server(t).Database(t)
	rt := newRuntime(t)
	var made atomic.Int64
	storetest.Run(t, func(storetest.T) storetest.Storage {
		schema := fmt.Sprintf(`it's "%d"`, made.Add(1))
		return storetest.Storage{
			Open: func(ctx context.Context) (store.Ledger, error) { return openPostgres(ctx, rt, dsn, schema) },
			Insert: func(ctx context.Context, entries []store.Entry) error {
				return insertReference(ctx, dsn, schema, entries)
			},
			OpenStores: func(ctx context.Context) (storetest.Stores, error) { return stores(openPostgres(ctx, rt, dsn, schema)) },
		}
	}, append(storetest.StoreFeatures(), postgresFeatures...)...)
}
