//go:build !wasip1

package sqliteledger

import (
	"database/sql"
	"strings"
	"testing"

	_ "modernc.org/sqlite"
)

// TestPlans keeps the statements that run often from reading a table from end to end, or from sorting
// what an index has in order already.
func TestPlans(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	for _, statement := range schema {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	right := Standard()
	for name, statement := range map[string]string{
		"claim": right.Claim, "stand": right.Stand, "advance": right.Advance, "segment": right.Segment, "applied": right.Applied, "head": right.Head,
		"read": right.Read, "read all": right.ReadAll, "last checkpoint": right.LastCheckpoint, "tagged checkpoint": right.TaggedCheckpoint,
		"list checkpoints": right.ListCheckpoints, "find": right.FindName, "find foreign": right.FindForeign,
		"details": right.Details("name = ? AND sandbox_id = ?"), "of a name": right.Details("name = ?"),
		"delete": right.DeleteEvents, "delete segments": right.DeleteSegments, "environment": right.Environments.Get,
	} {
		rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+statement, make([]any, strings.Count(statement, "?"))...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
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
		_ = rows.Close()
		if strings.Contains(plan.String(), "\nSCAN alineo_") || strings.Contains(plan.String(), "\nSCAN e") || strings.Contains(plan.String(), "TEMP B-TREE") {
			t.Errorf("%s:%s", name, &plan)
		}
	}
}
