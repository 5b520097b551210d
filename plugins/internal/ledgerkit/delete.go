package ledgerkit

import (
	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// What one call deletes of a sandbox at most. A call has seconds, and on a busy machine with a slow disk
// they are short: a piece that does not fit into them would be begun anew for ever.
const (
	PieceEntries  = 4_000
	PieceBytes    = 16 << 20 // of payloads and errors
	PieceSegments = 500      // which have a hash for each of their entries
)

// Unfinished is why a sandbox can't be claimed whose deletion has not ended.
const Unfinished = "the sandbox's ledger is being deleted, and its deletion has not ended; delete it again to end it"

// Deleted is the answer to a deletion: how many entries a step removed, and whether another says that
// there are more.
func Deleted(done *abi.SQLExecReply, removed, more int) (*abi.DeleteReply, error) {
	var left abi.Value
	if _, err := alineo.FirstRow(done.Steps[more].Rows, &left); err != nil {
		return nil, err
	}
	// A database without booleans says 0 or 1.
	return &abi.DeleteReply{Rows: done.Steps[removed].Affected, More: left.Int != 0}, nil
}
