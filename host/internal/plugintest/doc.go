// Package plugintest tries somebody's plugin: the shared suite of host/store/storetest, and what a
// plugin of any kind must do.
//
//	report, err := plugintest.Run(ctx, plugintest.Options{
//		Name: "mine", Wasm: wasm, SHA256: digest, Grants: grants,
//		Ended: func(c plugintest.Case) { fmt.Println(c.Status, c.Name) },
//	})
//
// The module is compiled once. Each case then loads it anew, several times when it is about several
// handles, and grants it storage that nobody else uses: a temporary SQLite file, or on a PostgreSQL
// server a database that is made for the case and dropped after it. A guest that crashes, spins or eats
// memory so fails its own cases only, with the host's typed error.
//
// Which cases run follows from the manifest. Of a plugin of kind "ledger" the ABI wants everything but
// what is marked optional, and of the kinds that durable runs need ("instances", "runs", "log", "locks")
// too; whether several handles may share a storage, and whether they find again what
// others wrote, follows from its state; the cases about rows of other programs run when it uses the
// reference client's table. What does not apply is reported as not run, with the reason.
//
// A plugin of kind "broker" is tried with host/credential/brokertest, its sandboxes' sidecars being the
// embedded engine's vault on a socket. Secrets that it asks for, and those that Options.References lead
// to, are made up for each case.
//
// [Call] calls one operation of a plugin by hand, and [Bench] measures one.
//
// imports: abi, host/config, host/credential, host/store, host/store/storetest, host/internal/adapter,
// host/internal/capability, host/internal/opjson, host/internal/plugin, host/internal/sidecar.
package plugintest
