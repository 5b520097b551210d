// Command ledger-memory-go is a small ledger that lives in the plugin's memory and is gone with it. Its
// README says how to build and try it; `alineo-host plugin new` gives it to authors to begin with.
//
// imports: abi, sdk/go/alineo.
package main
