package adapter_test

import (
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/internal/pgtest"
)

// The statements of the PostgreSQL guest's append, for pgx to run.
const (
	nativeAdvance = `UPDATE alineo_host_heads h
 SET segment_id = u.segment_id, hash = u.hash, max_ts = greatest(h.max_ts, u.max_ts), entries = h.entries + u.entries
 FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::bytea[])
  AS u(segment_id, hash, max_ts, entries, name, sandbox_id, epoch, previous)
 WHERE h.name = u.name AND h.sandbox_id = u.sandbox_id AND h.epoch = u.epoch AND h.hash = u.previous`
	nativeMark   = `SELECT pg_advisory_xact_lock_shared(1, ((last_value - CASE WHEN is_called THEN 0 ELSE 1 END) & 2147483647)::integer) FROM alineo_events_id_seq`
	nativeInsert = `WITH added AS (
  INSERT INTO alineo_events(sandbox_id, name, step_idx, branch, event, payload, error, ts)
  SELECT * FROM unnest($1::text[], $2::text[], $3::int[], $4::int[], $5::text[], $6::jsonb[], $7::text[], $8::bigint[])
  RETURNING id)
 SELECT set_config('alineo_host.ids', string_agg(id::text, ',' ORDER BY id), true) FROM added`
	nativeSegment = `WITH given AS MATERIALIZED (SELECT string_to_array(current_setting('alineo_host.ids'), ',')::bigint[] AS ids)
 INSERT INTO alineo_host_segments(name, sandbox_id, last_id, first_id, segment_id, previous, hash, leaves)
 SELECT u.name, u.sandbox_id, ids[cardinality(ids) - u.after], ids[cardinality(ids) - u.after - u.entries + 1],
  u.segment_id, u.previous, u.hash, u.leaves
 FROM given, unnest($1::text[], $2::text[], $3::int[], $4::int[], $5::bytea[], $6::bytea[], $7::bytea[], $8::bytea[])
  AS u(name, sandbox_id, after, entries, segment_id, previous, hash, leaves)`
)

// nativeAppend does with pgx, in the fewest round trips, what the plugin's append does.
func nativeAppend(b *testing.B, conn *pgx.Conn, key store.Key, head *store.Head, n int, ts *int64) {
	b.Helper()
	ctx := b.Context()
	id, hash := make([]byte, 16), make([]byte, 32)
	_, _ = rand.Read(id)
	_, _ = rand.Read(hash)
	ids, names, steps, branches := make([]string, n), make([]string, n), make([]int32, n), make([]*int32, n)
	events, payloads, failures, times := make([]string, n), make([][]byte, n), make([]*string, n), make([]int64, n)
	for i := range n {
		*ts++
		ids[i], names[i], steps[i], events[i], payloads[i], times[i] = key.SandboxID, key.Name, 1, store.EventExecOutput, payload, *ts
	}
	var batch pgx.Batch
	batch.Queue("BEGIN")
	batch.Queue(nativeAdvance, [][]byte{id}, [][]byte{hash}, []int64{*ts}, []int64{int64(n)}, []string{key.Name}, []string{key.SandboxID}, []int64{int64(head.Epoch)}, [][]byte{append([]byte{}, head.Hash...)})
	batch.Queue(nativeMark)
	batch.Queue(nativeInsert, ids, names, steps, branches, events, payloads, failures, times)
	batch.Queue(nativeSegment, []string{key.Name}, []string{key.SandboxID}, []int32{0}, []int32{int32(n)}, [][]byte{id}, [][]byte{append([]byte{}, head.Hash...)}, [][]byte{hash}, [][]byte{make([]byte, 32*n)})
	if err := conn.SendBatch(ctx, &batch).Close(); err != nil {
		b.Fatal(err)
	}
	if _, err := conn.Exec(ctx, "COMMIT"); err != nil {
		b.Fatal(err)
	}
	head.Hash = hash
}

// BenchmarkPostgresAppend appends the same batches through the WebAssembly ledger and through pgx with
// the same statements, in turns. of-native is pgx's time divided by the plugin's, the median over
// pairs of slices of one run: 1 is as fast, more is faster.
func BenchmarkPostgresAppend(b *testing.B) {
	for _, n := range []int{1, 64, 512} {
		b.Run(fmt.Sprintf("events=%d", n), func(b *testing.B) {
			server := pgtest.Server(b)
			name, dsn := server.Database(b)
			guest, err := openPostgres(b.Context(), newRuntime(b), dsn, "public")
			if err != nil {
				b.Fatal(err)
			}
			way := newAppender(b, guest)
			key := store.Key{Name: "native", SandboxID: way.key.SandboxID}
			head, err := guest.OpenLedger(b.Context(), key)
			if err != nil {
				b.Fatal(err)
			}
			conn := server.Conn(b, name)
			ts := time.Now().UnixMilli()
			var ratios, each []float64
			run := func(count int) {
				began := time.Now()
				for range count {
					nativeAppend(b, conn, key, &head, n, &ts)
				}
				native := time.Since(began)
				began = time.Now()
				for range count {
					way.append(b, n, &ts)
				}
				plugin := time.Since(began)
				ratios = append(ratios, native.Seconds()/plugin.Seconds())
				each = append(each, plugin.Seconds()/float64(count*n))
			}
			slice := max(4, 256/n)
			run(slice)
			ratios, each = nil, nil
			b.ResetTimer()
			for done := 0; done < b.N; done += slice {
				run(min(slice, b.N-done))
			}
			b.StopTimer()
			b.ReportMetric(median(ratios), "of-native")
			b.ReportMetric(1/median(each), "events/s")
		})
	}
}
