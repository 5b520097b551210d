package main

import (
	"github.com/alineo-labs/alineo-host/plugins/internal/sqliteledger"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

func main() {}

func init() {
	alineo.Serve(sqliteledger.Plugin(sqliteledger.New(sqliteledger.Standard())))
}
