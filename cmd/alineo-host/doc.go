// Command alineo-host runs commands in sandboxes, writes every event to a ledger as it happens, and
// resumes any run from that ledger.
//
// One file a command; root.go has what they share. `alineo-host help` lists them.
//
// imports: abi, internal/scaffold, host, host/config, host/sandbox, host/opensandbox, host/store, host/ledger, host/engine
// and what lies below this folder.
package main
