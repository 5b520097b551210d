package capability

import (
	"net/http"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/credential"
)

// MaxKept bounds the memory of the rows that a guest's own programs leave behind handles during one
// call, bytes.
const MaxKept int64 = 256 << 20

// keptOverhead is charged for a handle beside its rows, so that empty ones are bounded too.
const keptOverhead = 4 << 10

// Rows is a table that stays on the host while a guest works with its handle.
type Rows interface {
	Len() int
	Columns() int
	// Value returns one cell as a view that lives as long as the Rows. The row is below Len and the
	// column below Columns.
	Value(row, column int) abi.Value
}

// RowReader is what Rows may have beside: all cells of a row at a time. A batch that has it is bound
// to statements some percent faster.
type RowReader interface {
	Rows
	// ReadRow sets dst, which has Columns elements, to the cells of a row, views as those of Value.
	ReadRow(row int, dst []abi.Value)
}

// Call is what one call to a guest may name by handle. Handles die with the call. A Call is used by
// one goroutine at a time; its zero value is ready.
type Call struct {
	rows []Rows
	few  [4]Rows // where rows begins, so that most calls allocate nothing more
	kept int64

	secrets   []credential.Secret
	endpoints []Endpoint
	trouble   error
}

// EndpointError returns why the last request to an endpoint that had no answer had none. It is not for
// guests: it may name addresses.
func (c *Call) EndpointError() error { return c.trouble }

// maxSecrets bounds the secrets of one call.
const maxSecrets = 4096

// Endpoint is a place that a guest may send HTTP requests to during one call, without knowing where it
// is. A credential.Endpoint is one.
type Endpoint interface {
	// Do sends a request whose URL is a path and perhaps a query, and follows no redirects.
	Do(req *http.Request) (*http.Response, error)
}

// PutEndpoint lends an endpoint for the rest of the call and returns its handle, never 0.
func (c *Call) PutEndpoint(endpoint Endpoint) uint64 {
	c.endpoints = append(c.endpoints, endpoint)
	return uint64(len(c.endpoints))
}

// PutSecret lends a secret for the rest of the call and returns its handle, never 0.
func (c *Call) PutSecret(secret credential.Secret) uint64 {
	c.secrets = append(c.secrets, secret)
	return uint64(len(c.secrets))
}

// Secret returns what a secret's handle names.
func (c *Call) Secret(handle uint64) (credential.Secret, bool) {
	if c == nil || handle == 0 || handle > uint64(len(c.secrets)) {
		return credential.Secret{}, false
	}
	return c.secrets[handle-1], true
}

// endpoint returns what an endpoint's handle names.
func (c *Call) endpoint(handle uint64) (Endpoint, bool) {
	if c == nil || handle == 0 || handle > uint64(len(c.endpoints)) {
		return nil, false
	}
	return c.endpoints[handle-1], true
}

// Put lends rows to the guest for the rest of the call and returns their handle, never 0.
func (c *Call) Put(rows Rows) uint64 {
	if c.rows == nil {
		c.rows = c.few[:0]
	}
	c.rows = append(c.rows, rows)
	return uint64(len(c.rows))
}

// Room reports whether the guest's programs may leave count more results of that many bytes
// together behind handles. A nil Call has no room.
func (c *Call) Room(count int, size int64) bool {
	return c != nil && size <= MaxKept && c.kept+size+int64(count)*keptOverhead <= MaxKept
}

// Keep is Put for the result of a guest's own program: its memory, bytes, counts against MaxKept.
// Ask Room before.
func (c *Call) Keep(rows Rows, size int64) uint64 {
	c.kept += size + keptOverhead
	return c.Put(rows)
}

// Get returns what a handle names.
func (c *Call) Get(handle uint64) (Rows, bool) {
	if c == nil || handle == 0 || handle > uint64(len(c.rows)) {
		return nil, false
	}
	return c.rows[handle-1], true
}
