//go:build !wasip1

package sqliteledger

import (
	"database/sql"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/alineo-labs/alineo-host/abi"
)

// emptyLedger makes an empty ledger in memory.
func emptyLedger(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	for _, statement := range slices.Concat(schema[:], []string{sqlSchemaTable}, indexes[:]) {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	return db
}

// plan is what SQLite does for a statement, a line a step.
func plan(t *testing.T, db *sql.DB, statement string) string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+statement, make([]any, max(strings.Count(statement, "?"), 1))...)
	if err != nil {
		t.Fatalf("%v\n%s", err, statement)
	}
	defer func() { _ = rows.Close() }()
	var plan strings.Builder
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan.WriteString("\n" + detail)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan.String()
}

// listed is the statement of a listing.
func listed(t *testing.T, req *abi.ListSandboxesRequest) string {
	t.Helper()
	var q query
	if err := q.filter(req); err != nil {
		t.Fatal(err)
	}
	return Standard().Details(q.where, q.order, " LIMIT ?")
}

// listedFew is the same when few have ids with that beginning.
func listedFew(t *testing.T, req *abi.ListSandboxesRequest) string {
	t.Helper()
	q := query{few: true}
	if err := q.filter(req); err != nil {
		t.Fatal(err)
	}
	return Standard().Details(q.where, q.order, " LIMIT ?")
}

// TestPlans keeps the statements that run often from reading a table or an index from end to end, and
// from sorting what an index has in order already. What only lists may walk along a partial index.
func TestPlans(t *testing.T) {
	t.Parallel()
	db := emptyLedger(t)
	right := Standard()
	before := int64(7)
	cursor := make([]byte, 16)
	for name, c := range map[string]struct{ statement, sorts string }{
		"claim": {statement: right.Claim}, "stand": {statement: right.Stand}, "advance": {statement: right.Advance},
		"segment": {statement: right.Segment}, "above": {statement: right.Above}, "below": {statement: right.Below}, "applied": {statement: right.Applied}, "head": {statement: right.Head},
		"read": {statement: right.Read}, "read on": {statement: right.Sparse}, "read first": {statement: right.first(), sorts: "entries without a time"}, "read all": {statement: right.ReadAll},
		"last": {statement: right.Last, sorts: "the page"}, "last of all": {statement: right.LastAll, sorts: "the page"},
		"last checkpoint": {statement: right.LastCheckpoint}, "tagged checkpoint": {statement: right.TaggedCheckpoint},
		"list checkpoints": {statement: right.ListCheckpoints}, "find": {statement: right.FindName, sorts: "created entries of one id"},
		"details":        {statement: right.Details(" AND c.name = ? AND c.sandbox_id = ?", fewOnly, ""), sorts: "created entries of one sandbox"},
		"list":           {statement: listed(t, &abi.ListSandboxesRequest{})},
		"list name":      {statement: listed(t, &abi.ListSandboxesRequest{Name: "n"})},
		"list before":    {statement: listed(t, &abi.ListSandboxesRequest{Before: &before, Name: "n"})},
		"list cursor":    {statement: listed(t, &abi.ListSandboxesRequest{Before: &before, Cursor: cursor})},
		"list running":   {statement: listed(t, &abi.ListSandboxesRequest{Status: "running"})},
		"list completed": {statement: listed(t, &abi.ListSandboxesRequest{Status: "completed", Name: "n"})},
		"list run":       {statement: listed(t, &abi.ListSandboxesRequest{RunID: "r"}), sorts: "sandboxes of one run"},
		"list run name":  {statement: listed(t, &abi.ListSandboxesRequest{RunID: "r", Name: "n", Status: "running", Cursor: cursor}), sorts: "sandboxes of one run"},
		"few ids":        {statement: right.FewIDs},
		"list few ids":   {statement: listedFew(t, &abi.ListSandboxesRequest{IDPrefix: "a"}), sorts: "sandboxes of one beginning"},
		"list few ids of": {
			statement: listedFew(t, &abi.ListSandboxesRequest{IDPrefix: "a", Name: "n", Status: "running", Before: &before, Cursor: cursor}),
			sorts:     "sandboxes of one beginning",
		},
		"list ids":    {statement: listed(t, &abi.ListSandboxesRequest{IDPrefix: "a"})},
		"list ids of": {statement: listed(t, &abi.ListSandboxesRequest{IDPrefix: "a", Name: "n", Cursor: cursor})},
		"delete":      {statement: right.Delete.Events}, "delete segments": {statement: right.Delete.Segments},
		"delete mark": {statement: right.Delete.Mark}, "delete reset": {statement: right.Delete.Reset}, "delete more": {statement: right.Delete.More},
		"tombstone":   {statement: right.Delete.Tombstone},
		"environment": {statement: right.Environments.Get}, "segments": {statement: right.Maintenance.Segments},
		"heads": {statement: right.Maintenance.Heads, sorts: "the page"}, "tombstones": {statement: right.Maintenance.Tombstones},
		"usage": {statement: right.Maintenance.Usage},
	} {
		plan := plan(t, db, c.statement)
		for line := range strings.Lines(plan) {
			line = strings.TrimSpace(line)
			whole := strings.HasPrefix(line, "SCAN alineo_") || strings.HasPrefix(line, "SCAN c ") || strings.HasPrefix(line, "SCAN e ") || line == "SCAN c" || line == "SCAN e"
			// From the newest id on it reads what it shows.
			if whole && !strings.Contains(line, "INDEX alineo_host_created") && name != "last of all" {
				t.Errorf("%s: %s in%s", name, line, plan)
			}
			// Of a sandbox only what is asked for, not all of its entries.
			if about := strings.HasPrefix(name, "list") || strings.HasPrefix(name, "details") || strings.Contains(name, "checkpoint"); about &&
				strings.HasSuffix(line, "alineo_events_name_sandbox_ts (name=? AND sandbox_id=?)") {
				t.Errorf("%s: %s in%s", name, line, plan)
			}
			if strings.HasPrefix(line, "COMPOUND QUERY") && name != "heads" {
				t.Errorf("%s: %s in%s", name, line, plan) // all of both halves
			}
			// That is a walk along all entries of the one that it begins behind.
			if strings.Contains(line, "alineo_events_name_sandbox_ts ((name,sandbox_id)>") {
				t.Errorf("%s: %s in%s", name, line, plan)
			}
			if strings.Contains(line, "TEMP B-TREE") && c.sorts == "" {
				t.Errorf("%s: %s in%s", name, line, plan)
			}
			if strings.Contains(name, "few ids") && (strings.HasPrefix(line, "SEARCH c ") || strings.HasPrefix(line, "SEARCH alineo_events ")) &&
				!strings.Contains(line, "INDEX alineo_host_marks (sandbox_id>? AND sandbox_id<?)") {
				t.Errorf("%s: %s in%s", name, line, plan)
			}
		}
	}
}
