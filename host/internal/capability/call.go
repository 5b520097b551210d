package capability

import "github.com/alineo-labs/alineo-host/abi"

// Rows is a table that stays on the host while a guest works with its handle.
type Rows interface {
	Len() int
	Columns() int
	// Value returns one cell as a view that lives as long as the Rows.
	Value(row, column int) abi.Value
}

// Call is what one call to a guest may name by handle. Handles die with the call. A Call is used by
// one goroutine at a time.
type Call struct {
	rows []Rows
}

// Put lends rows to the guest for the rest of the call and returns their handle, never 0.
func (c *Call) Put(rows Rows) uint64 {
	c.rows = append(c.rows, rows)
	return uint64(len(c.rows))
}

// Get returns what a handle names.
func (c *Call) Get(handle uint64) (Rows, bool) {
	if c == nil || handle == 0 || handle > uint64(len(c.rows)) {
		return nil, false
	}
	return c.rows[handle-1], true
}
