// Package ledger writes and replays the ledgers of sandboxes.
package ledger
