// Package adapter makes a plugin a store: it is the only place that knows both sides.
//
// [NewLedger] turns a guest of kind "ledger" into a store.Ledger. Requests cross as messages,
// entries and rows stay on the host and are named by handle; errors of the guest become the
// sentinels of package store, with the plugin's error beneath them.
//
// imports: abi, host/store, host/internal/capability, host/internal/plugin.
package adapter
