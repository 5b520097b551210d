package adapter

import (
	"math"
	"testing"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
)

// What is no integer counts as SQLite's CAST has it.
func TestWhole(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		value abi.Value
		want  int64
	}{
		{abi.Int(7), 7},
		{abi.Null, 0},
		{abi.Real(1.9), 1},
		{abi.Real(-1.9), -1},
		{abi.Real(1e300), math.MaxInt64},
		{abi.Real(math.Inf(-1)), math.MinInt64},
		{abi.Text("12nd"), 12},
		{abi.Text("  -3"), -3},
		{abi.Text("none"), 0},
		{abi.Text("99999999999999999999"), math.MaxInt64},
		{abi.Blob([]byte("5")), 5},
		{abi.Blob(nil), 0},
	} {
		page := capability.NewPage(1)
		page.AppendValue(tc.value)
		for _, c := range []cells{{rows: page, page: page}, {rows: page}} {
			if got := c.whole(0); got != tc.want || c.err != nil {
				t.Errorf("%s %v counts as %d, want %d (%v)", tc.value.Kind, tc.value, got, tc.want, c.err)
			}
		}
	}
}
