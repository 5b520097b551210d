package main

import (
	"strings"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
)

const (
	defaultSchema = "public"
	maxSchema     = 63 // bytes that PostgreSQL keeps of a name
)

// configure accepts schema. Where the server is and how it is used is the grant's, not the guest's.
func (l *ledger) configure(req *abi.ConfigureRequest) (*abi.ConfigureReply, error) {
	var reply abi.ConfigureReply
	refuse := func(key, message string) {
		reply.Diagnostics = append(reply.Diagnostics, abi.Diagnostic{Key: key, Message: message})
	}
	for _, m := range ledgerkit.Members(req.Config) {
		switch {
		case m.Key != "schema":
			refuse(m.Key, "unknown key (the bundled PostgreSQL ledger knows url, schema, pool_size, statement_timeout and allow_superuser)")
		case !m.IsText:
			refuse(m.Key, "the name of a schema is text, which stands in quotes")
		case m.Value == "" || len(m.Value) > maxSchema:
			refuse(m.Key, "the name of a schema has 1 to 63 bytes")
		case strings.IndexByte(m.Value, 0) >= 0:
			refuse(m.Key, "the name of a schema has no NUL")
		default:
			l.use(m.Value)
		}
	}
	return &reply, nil
}
