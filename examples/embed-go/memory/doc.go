// Package memory is a ledger in the memory of the program that embeds the host: a [store.Ledger] to begin one of
// your own with.
//
//	h, err := host.Open(ctx, cfg, host.WithStore(memory.New()))
//
// It passes every case of host/store/storetest for what it has, which is how yours is tested too: see
// store_test.go. What is in it is gone when the program ends.
//
// imports: host/store.
package memory
