package main

import (
	"strings"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
	"github.com/alineo-labs/alineo-host/plugins/internal/runkit"
	"github.com/alineo-labs/alineo-host/plugins/internal/sqliteledger"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// database is what the host grants.
const database alineo.SQL = "ledger"

// wrong is a right ledger with a fault.
type wrong struct {
	*sqliteledger.Ledger
	fault string
	lacks string
	memory
	past runMemory
}

// memory is what some faults know of the calls before. A right ledger has nothing of the kind.
type memory struct {
	loose    *sqliteledger.Ledger // accepts what it should refuse
	claims   map[abi.SandboxKey]int64
	company  map[string]bool // ids of segments that came first, with others
	refused  map[string]bool // ids of segments that were
	mine     map[string]bool // ids of segments that this instance applied
	written  map[abi.SandboxKey]bool
	deleted  map[abi.SandboxKey]oldHead
	again    int   // retries of batches of several
	segments int64 // that there were after the last append of this instance, -1 before
	newest   int64 // id at the first page of a reader
	leak     [][]byte
}

// oldHead is a head before its sandbox was deleted.
type oldHead struct {
	epoch int64
	hash  []byte
}

func main() {}

func init() {
	w := &wrong{Ledger: sqliteledger.New(sqliteledger.Standard())}
	alineo.Serve(w.plugin(sqliteledger.RunStatements))
}

func (w *wrong) plugin(runs func() runkit.Statements) alineo.Plugin {
	p := sqliteledger.Plugin(w, w.stores(runs))
	p.Manifest.Name = "wrongledger"
	p.Manifest.ConfigSchema = `{"type":"object","additionalProperties":false,"properties":{` +
		`"fault":{"type":"string","description":"the case that must fail"},` +
		`"lacks":{"enum":["","environments","read all","maintenance"],"description":"what it does not have"}}}`
	p.Configure, p.Close = w.configure, w.close
	return p
}

// configure puts the fault in.
func (w *wrong) configure(req *abi.ConfigureRequest) (*abi.ConfigureReply, error) {
	for _, m := range ledgerkit.Members(req.Config) {
		switch m.Key {
		case "fault":
			w.fault = strings.Clone(m.Value)
		case "lacks":
			w.lacks = strings.Clone(m.Value)
		}
	}
	if w.fault == "" {
		return nil, nil
	}
	sql := sqliteledger.Standard()
	known := changed(&sql, w.fault)
	w.Ledger = sqliteledger.New(sql)
	w.memory = memory{
		claims: map[abi.SandboxKey]int64{}, company: map[string]bool{}, refused: map[string]bool{},
		mine: map[string]bool{}, written: map[abi.SandboxKey]bool{}, deleted: map[abi.SandboxKey]oldHead{}, segments: -1,
	}
	loose := sqliteledger.Standard()
	if w.fault == "fencing/previous" {
		loose.Advance = replaced(loose.Advance, "AND hash = ?", "AND (hash = ? OR hash = x'')")
	} else {
		loose.Advance = replaced(loose.Advance, "AND epoch = ?", "AND ? IS NOT NULL")
	}
	w.loose = sqliteledger.New(loose)
	runs := sqliteledger.RunStatements()
	known = changedRuns(&runs, w.fault) || known
	if !known && !isMethod(w.fault) && !isRunMethod(w.fault) {
		return &abi.ConfigureReply{Diagnostics: []abi.Diagnostic{{Key: "fault", Message: "there is no such fault"}}}, nil
	}
	w.past = runMemory{touched: map[string]bool{}, epochs: map[string]uint64{}, tails: map[string]uint64{}, own: map[string]uint64{}}
	other := w.plugin(func() runkit.Statements { return runs })
	if w.fault == "plugin/describe" {
		other.Manifest.Version = "0.2.0"
	}
	alineo.Serve(other)
	return nil, nil
}
