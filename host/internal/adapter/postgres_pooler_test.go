package adapter_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/host/store/storetest"
	"github.com/alineo-labs/alineo-host/internal/pgtest"
)

// TestPostgresLedgerPooled runs the suite through a pooler that lends a server process for one
// transaction at a time.
func TestPostgresLedgerPooled(t *testing.T) {
	t.Parallel()
	if raced {
		t.Skip("LEFT OUT: minutes, for the code that the suite without a pooler runs under the detector too")
	}
	server := pgtest.Server(t)
	name, direct := server.Database(t)
	dsn := server.Pooler(t, name)
	rt := newRuntime(t)
	var made atomic.Int64
	storetest.Run(t, func(storetest.T) storetest.Storage {
		schema := fmt.Sprintf("pooled_%d", made.Add(1))
		return storetest.Storage{
			Open: func(ctx context.Context) (store.Ledger, error) { return openPostgres(ctx, rt, dsn, schema) },
			Insert: func(ctx context.Context, entries []store.Entry) error {
				return insertReference(ctx, direct, schema, entries)
			},
		}
	}, postgresFeatures...)
}

// TestPostgresPoolerShares lets more drivers append through a pooler than it has server processes,
// and looks at what they leave on those: nothing.
func TestPostgresPoolerShares(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	name, _ := server.Database(t)
	dsn := server.Pooler(t, name)
	rt := newRuntime(t)
	var group sync.WaitGroup
	for host := range 3 {
		l := openLedger(t, rt, dsn)
		for driver := range 4 {
			group.Go(func() {
				n, err := claim(t.Context(), l, "run", fmt.Sprint(host, "/", driver))
				for i := 0; err == nil && i < 20; i++ {
					err = n.append(t.Context(), 1+i%9)
				}
				if err == nil {
					err = n.check(t.Context())
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
	group.Wait()
	var processes, busy, locks int
	err := server.Conn(t, name).QueryRow(t.Context(), `SELECT
		(SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'),
		(SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'),
		(SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE d.datname = current_database() AND locktype = 'advisory')`).
		Scan(&processes, &busy, &locks)
	if err != nil || processes > 3 || busy != 0 || locks != 0 {
		t.Errorf("%d processes, %d in a transaction, %d advisory locks, %v", processes, busy, locks, err)
	}
}
