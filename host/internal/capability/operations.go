package capability

import (
	"context"
	"fmt"

	"github.com/alineo-labs/alineo-host/abi"
)

// operation is one thing that a guest may ask for. run appends the reply message to dst.
type operation struct {
	op  abi.Op
	run func(s *Set, ctx context.Context, call *Call, req, dst []byte) ([]byte, *abi.Error)
}

// operations is the table: adding one is a file and a row.
var operations = [...]operation{
	{abi.OpSQLExec, (*Set).sqlExec},
	{abi.OpBatchRead, (*Set).batchRead},
	{abi.OpBatchCell, (*Set).batchCell},
	{abi.OpHTTPSend, (*Set).httpSend},
	{abi.OpSecretGet, (*Set).secretGet},
	{abi.OpSecretKeep, (*Set).secretKeep},
}

// Handle runs one capability call of a guest: req is the operation's request message, which is read
// until Handle returns, and the reply message is appended to dst. After an error dst is returned as
// it was. Handles are those of call, which may be nil.
func (s *Set) Handle(ctx context.Context, call *Call, op abi.Op, req, dst []byte) ([]byte, *abi.Error) {
	for i := range operations {
		if operations[i].op != op {
			continue
		}
		out, failure := operations[i].run(s, ctx, call, req, dst)
		if failure != nil {
			return dst, failure
		}
		return out, nil
	}
	return dst, failf(abi.CodeUnsupported, "this host has no operation %s", op)
}

func failf(code abi.Code, format string, args ...any) *abi.Error {
	return &abi.Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

func malformed(op abi.Op, err error) *abi.Error {
	return failf(abi.CodeInvalid, "request of %s: %v", op, err)
}

// lookup is Get with the error that a guest is given.
func (c *Call) lookup(handle uint64) (Rows, *abi.Error) {
	if rows, ok := c.Get(handle); ok {
		return rows, nil
	}
	return nil, failf(abi.CodeNotFound, "there is no handle %d in this call", handle)
}
