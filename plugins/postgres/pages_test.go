//go:build !wasip1

package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/internal/pgtest"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// pages counts what PostgreSQL touched for a statement: pages, found in memory or read. The plan says by what.
func pages(t *testing.T, conn *pgx.Conn, statement string, params []any) (rows, touched int, text string) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+statement, params...).Scan(&text); err != nil {
		t.Fatalf("%v\n%s", err, statement)
	}
	var plan []struct {
		Plan struct {
			Hit  int     `json:"Shared Hit Blocks"`
			Read int     `json:"Shared Read Blocks"`
			Rows float64 `json:"Actual Rows"`
		}
	}
	if err := json.Unmarshal([]byte(text), &plan); err != nil || len(plan) != 1 {
		t.Fatalf("%v\n%s", err, text)
	}
	return int(plan[0].Plan.Rows), plan[0].Plan.Hit + plan[0].Plan.Read, text
}

// eachOrder runs a test in a database that orders texts by bytes, and in one that has a language for that. The collation
// is that of bytes, behind a column.
func eachOrder(t *testing.T, test func(t *testing.T, conn *pgx.Conn, sql *statements, collate string)) {
	t.Helper()
	for name, collate := range map[string]string{"bytes": "", "language": byteOrder} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, sql := pgtest.Server(t), newStatements("public")
			database := server.Database
			made := slices.Concat(sql.schema, sql.indexes)
			if collate != "" {
				database, made = server.Language, append(made, sql.byteIndexes...)
			}
			name, _ := database(t)
			conn := server.Conn(t, name)
			run(t, conn, made...)
			var bytewise, indexed bool
			if err := conn.QueryRow(t.Context(), sql.order).Scan(&bytewise, &indexed); err != nil || bytewise != (collate == "") || indexed == bytewise {
				t.Fatalf("names are ordered by bytes: %v, indexes are: %v; %v", bytewise, indexed, err)
			}
			test(t, conn, &sql, collate)
		})
	}
}

// run runs statements.
func run(t *testing.T, conn *pgx.Conn, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%v\n%s", err, statement)
		}
	}
}

// values are parameters as the driver takes them.
func values(t *testing.T, params []abi.SQLParam) (list []any) {
	t.Helper()
	for i := range params {
		v := params[i].Value
		switch v.Kind {
		case abi.KindInt:
			list = append(list, v.Int)
		case abi.KindText:
			list = append(list, v.String())
		default:
			t.Fatalf("parameter %d is of kind %d", i, v.Kind)
		}
	}
	return list
}

// TestListingsReadWhatTheyShow counts, not times, the pages that statements touch on 20,000 sandboxes, of
// which one has 50,000 entries of output more.
func TestListingsReadWhatTheyShow(t *testing.T) {
	t.Parallel()
	eachOrder(t, func(t *testing.T, conn *pgx.Conn, sql *statements, collate string) {
		run(t, conn,
			`INSERT INTO alineo_events(sandbox_id, name, step_idx, event, payload, ts)
 SELECT 'sb-' || i, 'name-' || i % 100, -1, 'sandbox.created', jsonb_build_object('runId', 'run-' || i / 10), 1000 + i FROM generate_series(0, 19999) i`,
			`INSERT INTO alineo_events(sandbox_id, name, step_idx, event, payload, ts)
 SELECT 'sb-19999', 'name-99', 1, 'exec.output', '{}', 200000 + i FROM generate_series(1, 50000) i`,
			`INSERT INTO alineo_events(sandbox_id, name, step_idx, event, payload, ts) VALUES
 ('sb-19999', 'name-99', 1, 'exec.started', '{}', 200000), ('sb-19999', 'name-99', 1, 'exec.completed', '{}', 300000)`,
			`INSERT INTO alineo_host_heads SELECT name, sandbox_id, 1, 'i', 'h', 0, 1 FROM alineo_events WHERE event = 'sandbox.created'`,
			`INSERT INTO alineo_host_tombstones SELECT 'name-' || i % 100, 'gone-' || i, 1, '', 0 FROM generate_series(0, 19999) i`,
			`VACUUM ANALYZE`)
		readsWhatItShows(t, conn, sql, collate)
	})
}

// readsWhatItShows is about a database of 20,000 sandboxes and as many tombstones.
func readsWhatItShows(t *testing.T, conn *pgx.Conn, sql *statements, collate string) {
	t.Helper()
	heads, tombstones := sql.quick(collate)
	limit, before := uint64(20), int64(15_000)
	list := func(req abi.ListSandboxesRequest, q query) (string, []any) {
		if err := q.filter(&req); err != nil {
			t.Fatal(err)
		}
		statement := sql.details(q.where, q.order)
		statement += " LIMIT " + q.bind(alineo.Int(int64(limit)))
		return statement, values(t, q.params)
	}
	type question struct {
		statement string
		params    []any
		rows      int
	}
	ask := func(rows int, statement string, params ...any) question { return question{statement, params, rows} }
	listed := func(rows int, req abi.ListSandboxesRequest) question {
		statement, params := list(req, query{})
		return question{statement, params, rows}
	}
	// Those around the sandbox that has most of the entries.
	few := func(rows int, req abi.ListSandboxesRequest) question {
		req.IDPrefix = "sb-1999"
		statement, params := list(req, query{few: true, collate: collate, behind: "sb-199:"})
		return question{statement, params, rows}
	}
	cursor := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, 15_000), 1)
	for name, q := range map[string]question{
		"list":            listed(20, abi.ListSandboxesRequest{}),
		"list name":       listed(20, abi.ListSandboxesRequest{Name: "name-7"}),
		"list running":    listed(20, abi.ListSandboxesRequest{Status: "running"}),
		"list before":     listed(20, abi.ListSandboxesRequest{Before: &before}),
		"list run":        listed(10, abi.ListSandboxesRequest{RunID: "run-77"}),
		"few ids":         ask(1, sql.fewIDs(collate), "sb-1999", "sb-199:"),
		"list few ids":    few(11, abi.ListSandboxesRequest{}),
		"list few of":     few(2, abi.ListSandboxesRequest{Name: "name-99"}),
		"list few behind": few(1, abi.ListSandboxesRequest{Before: &before, Cursor: cursor}),
		"many ids":        ask(1, sql.fewIDs(collate), "sb-", "sb."),
		"list ids":        listed(20, abi.ListSandboxesRequest{IDPrefix: "sb-1"}),
		"list ids behind": listed(20, abi.ListSandboxesRequest{IDPrefix: "sb-1", Cursor: cursor}),
		"find":            ask(1, sql.findName, "sb-5000"),
		"details":         ask(1, sql.details(oneSandbox, fewOnly), "name-99", "sb-19999"),
		"stand":           ask(1, sql.stand, "name-99", "sb-19999"),
		"last":            ask(20, sql.last, "name-99", "sb-19999", int64(20), int64(1<<20)),
		"last checkpoint": ask(0, sql.lastCheckpoint, "name-99", "sb-19999"),
		"heads of all":    ask(2, heads, "name-99", "sb-19998", int64(2)),
		"heads":           ask(20, heads, "name-5", "sb-5", int64(20)),
		"first heads":     ask(20, heads, "", "", int64(20)),
		"tombstones":      ask(20, tombstones, "name-5", "gone-5", int64(20)),
	} {
		rows, touched, plan := pages(t, conn, q.statement, q.params)
		// What a row says is looked up in a few indexes, of which each has a few levels.
		if most := 60 + 40*q.rows; rows != q.rows || touched > most {
			t.Errorf("%s: %d rows out of %d pages, want %d rows out of at most %d", name, rows, touched, q.rows, most)
		}
		for _, index := range map[string][]string{
			"heads": {"alineo_host_events_bytes", "alineo_host_heads_bytes"}, "tombstones": {"alineo_host_tombstones_bytes"},
			"few ids": {"alineo_host_created_bytes"}, "list few ids": {"alineo_host_created_bytes"},
		}[name] {
			if used := strings.Contains(plan, `"Index Name": "`+index+`"`); used != (collate != "") {
				t.Errorf("%s: %s is used: %v\n%s", name, index, used, plan)
			}
		}
		t.Logf("%s: %d pages", name, touched)
	}
}

// TestHeadsInOrderOfBytes compares the two statements for a page of heads, and their order with that of Go.
func TestHeadsInOrderOfBytes(t *testing.T) {
	t.Parallel()
	eachOrder(t, func(t *testing.T, conn *pgx.Conn, sql *statements, collate string) {
		run(t, conn,
			`INSERT INTO alineo_events(sandbox_id, name, step_idx, event, ts)
 SELECT s, n, -1, 'exec.output', i FROM unnest(ARRAY['', 'a', 'B', 'b-1', 'b1', 'é', '😀', '～']) s, unnest(ARRAY['x', 'X', 'x-', 'ß', '~']) n, generate_series(1, 3) i`,
			`INSERT INTO alineo_host_heads SELECT n, 'gone', 1, 'i', 'h', 0, 7 FROM unnest(ARRAY['x', 'W', 'y', 'a', 'B']) n`,
			`INSERT INTO alineo_host_heads VALUES ('x', 'empty', 1, '', '', 0, 0), ('x', 'a', 2, 'i', 'h', 3, 3), ('z', 'going', 3, 'deleting', '', 0, 0)`,
			`INSERT INTO alineo_host_tombstones SELECT DISTINCT name, sandbox_id, 1, ''::bytea, 0 FROM alineo_events`)
		pagesInOrder(t, conn, sql, collate)
	})
}

// pagesInOrder compares what the quick statements and the others give.
func pagesInOrder(t *testing.T, conn *pgx.Conn, sql *statements, collate string) {
	t.Helper()
	heads, tombstones := sql.quick(collate)
	page := func(statement, name, id string, limit int64) []string {
		rows, err := conn.Query(t.Context(), statement, name, id, limit)
		if err != nil {
			t.Fatal(err)
		}
		list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
			values, err := row.Values()
			return fmt.Sprintf("%s\x00%s\x00%v", values[0], values[1], values[2:]), err
		})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for statement, want := range map[string]int{sql.maintenance.Heads: 5*8 + 6, tombstones: 5 * 8} {
		if all := page(statement, "", "", 1000); len(all) != want || !slices.IsSorted(all) {
			t.Errorf("%d sandboxes, want %d in the order of bytes: %q", len(all), want, all)
		}
	}
	for _, after := range [][2]string{{"", ""}, {"x", ""}, {"x", "b-1"}, {"x", "gone"}, {"z", ""}, {"~", "a"}, {"\U0010ffff", ""}} {
		for _, limit := range []int64{1, 2, 7, 1000} {
			slow, quick := page(sql.maintenance.Heads, after[0], after[1], limit), page(heads, after[0], after[1], limit)
			if !slices.Equal(slow, quick) {
				t.Errorf("after %q, %d rows: %q, want %q", after, limit, quick, slow)
			}
		}
	}
}
