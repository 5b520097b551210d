package adapter_test

import (
	"crypto/rand"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/alineo-labs/alineo-host/host/ledger"
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
	// Where the ids are known beforehand.
	nativeIDs     = `SELECT nextval('alineo_events_id_seq') FROM generate_series(1, $1::int)`
	nativePlain   = `INSERT INTO alineo_host_segments(name, sandbox_id, last_id, first_id, segment_id, previous, hash, leaves) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`
	nativeColumns = "sandbox_id, name, step_idx, branch, event, payload, error, ts"
)

// native appends with pgx what the plugin appends, in the fewest round trips that a form takes.
type native struct {
	conn *pgx.Conn
	key  store.Key
	head store.Head
	rows map[int]string // the form for so many rows
}

// segment is what an append says once, beside its entries.
type segment struct{ id, previous, hash, leaves []byte }

func (n *native) begin(count int, ts int64) (*pgx.Batch, segment) {
	s := segment{id: make([]byte, 16), previous: n.head.Hash, hash: make([]byte, 32), leaves: make([]byte, 32*count)}
	if s.previous == nil {
		s.previous = []byte{}
	}
	_, _ = rand.Read(s.id)
	_, _ = rand.Read(s.hash)
	batch := new(pgx.Batch)
	batch.Queue("BEGIN")
	batch.Queue(nativeAdvance, [][]byte{s.id}, [][]byte{s.hash}, []int64{ts + int64(count)}, []int64{int64(count)}, []string{n.key.Name}, []string{n.key.SandboxID}, []int64{int64(n.head.Epoch)}, [][]byte{s.previous})
	batch.Queue(nativeMark)
	return batch, s
}

func (n *native) commit(b *testing.B, batch *pgx.Batch, s segment) {
	b.Helper()
	if err := n.conn.SendBatch(b.Context(), batch).Close(); err != nil {
		b.Fatal(err)
	}
	if _, err := n.conn.Exec(b.Context(), "COMMIT"); err != nil {
		b.Fatal(err)
	}
	n.head.Hash = s.hash
}

// finish queues the segment of entries whose ids the insert has left behind.
func (n *native) finish(b *testing.B, batch *pgx.Batch, s segment, count int) {
	b.Helper()
	batch.Queue(nativeSegment, []string{n.key.Name}, []string{n.key.SandboxID}, []int32{0}, []int32{int32(count)}, [][]byte{s.id}, [][]byte{s.previous}, [][]byte{s.hash}, [][]byte{s.leaves})
	n.commit(b, batch, s)
}

// unnest inserts with one statement over arrays.
func (n *native) unnest(b *testing.B, count int, ts *int64) {
	b.Helper()
	batch, s := n.begin(count, *ts)
	ids, names, steps, branches := make([]string, count), make([]string, count), make([]int32, count), make([]*int32, count)
	events, payloads, failures, times := make([]string, count), make([][]byte, count), make([]*string, count), make([]int64, count)
	for i := range count {
		*ts++
		ids[i], names[i], steps[i], events[i], payloads[i], times[i] = n.key.SandboxID, n.key.Name, 1, store.EventExecOutput, payload, *ts
	}
	batch.Queue(nativeInsert, ids, names, steps, branches, events, payloads, failures, times)
	n.finish(b, batch, s, count)
}

// values inserts with one statement that has a list of parameters for each row.
func (n *native) values(b *testing.B, count int, ts *int64) {
	b.Helper()
	batch, s := n.begin(count, *ts)
	if n.rows[count] == "" {
		var lists strings.Builder
		for i := range count {
			k := i * 8
			fmt.Fprintf(&lists, ", ($%d, $%d, $%d, $%d, $%d, $%d, $%d, $%d)", k+1, k+2, k+3, k+4, k+5, k+6, k+7, k+8)
		}
		n.rows[count] = "WITH added AS (INSERT INTO alineo_events(" + nativeColumns + ") VALUES " + lists.String()[2:] +
			" RETURNING id) SELECT set_config('alineo_host.ids', string_agg(id::text, ',' ORDER BY id), true) FROM added"
	}
	args := make([]any, 0, 8*count)
	for range count {
		*ts++
		args = append(args, n.key.SandboxID, n.key.Name, int32(1), nil, store.EventExecOutput, payload, nil, *ts)
	}
	batch.Queue(n.rows[count], args...)
	n.finish(b, batch, s, count)
}

// copy asks for ids and copies the rows in, which gives none back.
func (n *native) copy(b *testing.B, count int, ts *int64) {
	b.Helper()
	batch, s := n.begin(count, *ts)
	ids := make([]int64, 0, count)
	batch.Queue(nativeIDs, count).Query(func(rows pgx.Rows) (err error) {
		ids, err = pgx.AppendRows(ids, rows, pgx.RowTo[int64])
		return err
	})
	if err := n.conn.SendBatch(b.Context(), batch).Close(); err != nil {
		b.Fatal(err)
	}
	columns := append([]string{"id"}, strings.Split(nativeColumns, ", ")...)
	if _, err := n.conn.CopyFrom(b.Context(), pgx.Identifier{"alineo_events"}, columns, pgx.CopyFromSlice(count, func(i int) ([]any, error) {
		*ts++
		return []any{ids[i], n.key.SandboxID, n.key.Name, int32(1), nil, store.EventExecOutput, payload, nil, *ts}, nil
	})); err != nil {
		b.Fatal(err)
	}
	batch = new(pgx.Batch)
	batch.Queue(nativePlain, n.key.Name, n.key.SandboxID, ids[count-1], ids[0], s.id, s.previous, s.hash, s.leaves)
	n.commit(b, batch, s)
}

// BenchmarkPostgresAppend appends the same batches through the WebAssembly ledger and through pgx with
// UNNEST, with rows of VALUES and with COPY, in turns. of-unnest, of-values and of-copy are pgx's time
// divided by the plugin's, medians over slices of one run: 1 is as fast, more is faster. of-native is
// the least of them, so that of the best form.
func BenchmarkPostgresAppend(b *testing.B) {
	for _, count := range []int{1, 64, 512} {
		b.Run(fmt.Sprintf("events=%d", count), func(b *testing.B) {
			server := pgtest.Server(b)
			name, dsn := server.Database(b)
			guest, err := openPostgres(b.Context(), newRuntime(b), dsn, "public")
			if err != nil {
				b.Fatal(err)
			}
			way := newAppender(b, guest)
			ts := time.Now().UnixMilli()
			names := []string{"unnest", "values", "copy"}
			forms := make([]func(*testing.B, int, *int64), len(names))
			for i, form := range names {
				n := &native{conn: server.Conn(b, name), key: store.Key{Name: form, SandboxID: way.key.SandboxID}, rows: map[int]string{}}
				if n.head, err = guest.OpenLedger(b.Context(), n.key); err != nil {
					b.Fatal(err)
				}
				forms[i] = [...]func(*testing.B, int, *int64){n.unnest, n.values, n.copy}[i]
			}
			ratios := make([][]float64, len(forms))
			var each []float64
			run := func(rounds int) {
				began := time.Now()
				for range rounds {
					way.append(b, count, &ts)
				}
				plugin := time.Since(began)
				each = append(each, plugin.Seconds()/float64(rounds*count))
				for i, form := range forms {
					began := time.Now()
					for range rounds {
						form(b, count, &ts)
					}
					ratios[i] = append(ratios[i], time.Since(began).Seconds()/plugin.Seconds())
				}
			}
			slice := max(4, 256/count)
			run(slice)
			each, ratios = nil, make([][]float64, len(forms))
			b.ResetTimer()
			for done := 0; done < b.N; done += slice {
				run(min(slice, b.N-done))
			}
			b.StopTimer()
			best := math.Inf(1)
			for i, form := range names {
				ratio := median(ratios[i])
				best = min(best, ratio)
				b.ReportMetric(ratio, "of-"+form)
			}
			b.ReportMetric(best, "of-native")
			b.ReportMetric(1/median(each), "events/s")
		})
	}
}

// BenchmarkPostgresRead reads a sandbox of 100,000 entries through the WebAssembly ledger, page by
// page, and with one bare query of pgx, in turns. of-native is the query's time divided by the
// ledger's.
func BenchmarkPostgresRead(b *testing.B) {
	const entries = 100_000
	server := pgtest.Server(b)
	name, dsn := server.Database(b)
	guest, err := openPostgres(b.Context(), newRuntime(b), dsn, "public")
	if err != nil {
		b.Fatal(err)
	}
	way := newAppender(b, guest)
	ts := time.Now().UnixMilli()
	for range entries / 500 {
		way.append(b, 500, &ts)
	}
	conn := server.Conn(b, name)
	if _, err := conn.Exec(b.Context(), "VACUUM ANALYZE alineo_events"); err != nil {
		b.Fatal(err)
	}
	var ratios []float64
	var ours time.Duration
	for b.Loop() {
		began := time.Now()
		rows, err := conn.Query(b.Context(), "SELECT id, sandbox_id, name, step_idx, branch, event, payload, error, ts FROM alineo_events WHERE name = $1 AND sandbox_id = $2 ORDER BY ts, id", way.key.Name, way.key.SandboxID)
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for rows.Next() {
			var e store.Entry
			if err := rows.Scan(&e.ID, &e.SandboxID, &e.Name, &e.StepIndex, &e.Branch, &e.Event, (*[]byte)(&e.Payload), &e.Error, &e.TS); err != nil {
				b.Fatal(err)
			}
			n++
		}
		if err := rows.Err(); err != nil || n != entries {
			b.Fatalf("%d entries, %v", n, err)
		}
		spent := time.Since(began)
		began = time.Now()
		n = 0
		for _, err := range ledger.ReadSandbox(b.Context(), guest, way.key) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != entries {
			b.Fatalf("%d entries", n)
		}
		mine := time.Since(began)
		ours += mine
		ratios = append(ratios, spent.Seconds()/mine.Seconds())
	}
	b.ReportMetric(median(ratios), "of-native")
	b.ReportMetric(float64(entries*len(ratios))/ours.Seconds(), "events/s")
}
