// Command wrongledger is the bundled SQLite ledger with a fault: a guest for tests, which shows that the
// shared suite notices each rule that is broken, and nothing else.
//
//	[plugins.wrong.config]
//	fault = "append/atomic"      # the case that must fail; without it the ledger is right
//	lacks = "environments"       # or "read all": an ability that it does not have
//
// A fault is as small as it can be made. Most are another text for one statement (statements.go); the
// others are a method that answers wrongly in the one situation that its rule is about (append.go,
// read.go, others.go), which several of them know from what the instance saw before.
//
// imports: abi, plugins/internal/ledgerkit, plugins/internal/runkit, plugins/internal/sqliteledger, sdk/go/alineo.
package main
