// Package adapter makes a plugin a store or a credential broker: it is the only place that knows both sides.
//
// [NewLedger] turns a guest of kind "ledger" into a store.Ledger, [NewStores] one of the kinds "instances",
// "runs", "log" and "locks" into the stores of durable runs. Requests cross as messages,
// entries and rows stay on the host and are named by handle; errors of the guest become the
// sentinels of package store, with the plugin's error beneath them.
//
// [NewBroker] turns a guest of kind "broker" into a credential.Broker: values and the way to a sandbox's
// sidecar are lent for one call, and the guest never sees them.
//
// imports: abi, host/store, host/credential, host/internal/capability, host/internal/plugin.
package adapter
