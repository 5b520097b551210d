package capability_test

import (
	"sync"
	"testing"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
)

// TestRecycledPages fills pages that others have filled before, and finds nothing of those in them.
func TestRecycledPages(t *testing.T) {
	t.Parallel()
	var pool sync.Pool
	for round := range 20 {
		page := capability.PageFrom(&pool)
		if page.Len() != 0 || page.Columns() != 0 || page.WireSize() != 0 {
			t.Fatalf("round %d begins with %d rows of %d columns, %d bytes", round, page.Len(), page.Columns(), page.WireSize())
		}
		page.Reset(2)
		for row := range round {
			page.AppendInt(int64(row))
			page.AppendBytes(abi.KindText, []byte("row"))
		}
		for row := range round {
			kind, n := page.Number(row, 0)
			_, text := page.Bytes(row, 1)
			if kind != abi.KindInt || n != int64(row) || string(text) != "row" {
				t.Fatalf("round %d, row %d is %v %d %q", round, row, kind, n, text)
			}
			if kind, b := page.Bytes(row, 0); kind != abi.KindInt || b != nil {
				t.Fatalf("a number has the bytes %q", b)
			}
		}
		page.Recycle()
		page.Recycle() // is not there twice
		if a, b := capability.PageFrom(&pool), capability.PageFrom(&pool); a == b {
			t.Fatal("two have the same page")
		}
	}
	capability.NewPage(1).Recycle() // comes from nowhere
}
