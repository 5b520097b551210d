// Package nativeledger is the ledger's SQLite store written in plain Go, for tests and benchmarks.
//
// It is what the shared suite in host/store/storetest was proved against, what host/ledger is
// tested over, and the native twin that benchmarks compare the WebAssembly plugin with. It is not
// part of the product: the product's ledger is plugins/sqlite. It makes the same tables, so that
// either opens the other's files:
//
//	st, err := nativeledger.Open(filepath.Join(t.TempDir(), "ledger.db"), nativeledger.Options{})
//	head, err := st.OpenLedger(ctx, store.Key{Name: "run", SandboxID: "id"})
//
// Writes go through one connection in immediate transactions, reads through others. A context is
// looked at before a statement, not during it: the driver spends a goroutine on each cancellable
// statement.
//
// imports: host/store.
package nativeledger
