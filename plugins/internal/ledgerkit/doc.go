// Package ledgerkit is what the bundled ledgers have in common: the guest's side of pages, cursors
// and errors, the names of events, and the operations that differ in their statements only.
//
// A ledger gives it a [Database], which is where its statements run, and embeds what fits:
//
//	type ledger struct {
//		ledgerkit.Environments
//		…
//	}
//
//	func (l *ledger) ListCheckpoints(req *abi.SandboxRequest) (*abi.RowsReply, error) {
//		return ledgerkit.All(l, sqlListCheckpoints, ledgerkit.Key(req.Key)...)
//	}
//
// It runs within a guest, so it imports little: each package adds to what a host compiles.
//
// imports: abi, sdk/go/alineo.
package ledgerkit
