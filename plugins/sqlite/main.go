package main

import (
	"github.com/alineo-labs/alineo-host/plugins/internal/sqliteledger"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

func main() {}

func init() {
	ledger := sqliteledger.New(sqliteledger.Standard())
	stores := ledger.RunStores(sqliteledger.RunStatements)
	alineo.Serve(sqliteledger.Plugin(ledger, &stores))
}
