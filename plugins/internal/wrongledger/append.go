package main

import (
	"errors"
	"slices"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
	"github.com/alineo-labs/alineo-host/plugins/internal/sqliteledger"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// segment is one of a batch, as far as faults look.
type segment struct {
	key   abi.SandboxKey
	epoch int64
	id    string
}

func readSegments(batch uint64) ([]segment, error) {
	var found []segment
	err := alineo.Batch(batch).Each(func(_ uint64, v []abi.Value) error {
		found = append(found, segment{
			key:   abi.SandboxKey{Name: string(v[abi.SegmentName].Bytes), SandboxID: string(v[abi.SegmentSandboxID].Bytes)},
			epoch: v[abi.SegmentEpoch].Int, id: string(v[abi.SegmentID].Bytes),
		})
		return nil
	})
	return found, err
}

// conflict refuses the first segment.
func conflict() error {
	return &abi.Error{Code: abi.CodeConflict, Message: "a fault refuses it", Details: map[string]string{abi.DetailSegment: "0"}}
}

// insert writes a batch's entries past everything.
func insert(req *abi.LedgerAppendRequest) error {
	_, err := database.Write(alineo.Statement(sqliteledger.Standard().Insert, alineo.Columns(
		abi.EntrySandboxID, abi.EntryName, abi.EntryStep, abi.EntryBranch,
		abi.EntryEvent, abi.EntryPayload, abi.EntryError, abi.EntryTS)...).ForEach(req.Entries))
	return err
}

// exec runs one statement.
func exec(sql string, params ...abi.SQLParam) error {
	_, err := database.Write(alineo.Statement(sql, params...))
	return err
}

// number is the only value of a query.
func number(sql string, params ...abi.SQLParam) (int64, error) {
	v, err := ledgerkit.One(database, sql, params...)
	return v.Int, err
}

// Append is right but for the fault.
func (w *wrong) Append(req *abi.LedgerAppendRequest) (*abi.LedgerAppendReply, error) {
	if !isMethod(w.fault) {
		return w.Ledger.Append(req)
	}
	segments, err := readSegments(req.Segments)
	if err != nil {
		return nil, err
	}
	if reply, done, err := w.before(req, segments); done {
		return reply, err
	}
	reply, err := w.choose(segments).Append(req)
	return w.after(req, segments, reply, err)
}

// choose is the ledger that gets the batch: the right one, or one that accepts too much.
func (w *wrong) choose(segments []segment) *sqliteledger.Ledger {
	loose := false
	switch w.fault {
	case "fencing/epoch": // forgets the old driver when it gave the new claim itself
		loose = slices.ContainsFunc(segments, func(s segment) bool {
			now, err := number("SELECT epoch FROM alineo_host_heads WHERE name = ? AND sandbox_id = ?", ledgerkit.Key(s.key)...)
			return err == nil && now != s.epoch && w.claims[s.key] == now
		})
	case "handle/takeover": // trusts its own memory of claims
		loose = !slices.ContainsFunc(segments, func(s segment) bool {
			known, ok := w.claims[s.key]
			return ok && known != s.epoch
		})
	case "fencing/previous": // looks at the first segment's predecessor in company only
		loose = len(segments) == 1
	}
	if loose {
		return w.loose
	}
	return w.Ledger
}

// before answers in the place of the ledger.
func (w *wrong) before(req *abi.LedgerAppendRequest, segments []segment) (_ *abi.LedgerAppendReply, done bool, _ error) {
	yes := &abi.LedgerAppendReply{}
	switch w.fault {
	case "fencing/deleted": // puts the head of what was deleted back
		for _, s := range segments {
			if h, ok := w.deleted[s.key]; ok {
				if err := exec("UPDATE alineo_host_heads SET epoch = ?, hash = ? WHERE name = ? AND sandbox_id = ?",
					append([]abi.SQLParam{alineo.Int(h.epoch), alineo.Blob(h.hash)}, ledgerkit.Key(s.key)...)...); err != nil {
					return nil, true, err
				}
			}
		}
	case "fencing/unclaimed": // claims what nobody did
		for _, s := range segments {
			if err := exec(`INSERT INTO alineo_host_heads(name, sandbox_id, epoch, segment_id, hash, max_ts, entries)
 VALUES (?, ?, 1, x'', x'', 0, 0) ON CONFLICT DO NOTHING`, ledgerkit.Key(s.key)...); err != nil {
				return nil, true, err
			}
		}
	case "retry/refused": // takes a refused segment for an applied one
		if len(segments) == 1 && w.refused[segments[0].id] {
			return yes, true, nil
		}
	case "handle/concurrent": // has room for two sandboxes that run something
		if !w.runs(req.Entries) {
			return nil, false, nil
		}
		w.written[segments[0].key] = true
		if len(w.written) > 2 {
			return yes, true, nil
		}
	case "handle/several": // loses what it writes when others wrote in between
		if w.segments < 0 {
			break // it has not written yet
		}
		now, err := number("SELECT count(*) FROM alineo_host_segments")
		if err != nil || now > w.segments {
			return yes, true, err
		}
	}
	return nil, false, nil
}

// runs tells whether a batch has an entry of an exec.
func (w *wrong) runs(entries uint64) bool {
	found := false
	err := alineo.Batch(entries).Each(func(_ uint64, v []abi.Value) error {
		found = found || v[abi.EntryStep].Int >= 0
		return nil
	})
	return err == nil && found
}

// after changes what the ledger did, or its answer.
func (w *wrong) after(req *abi.LedgerAppendRequest, segments []segment, reply *abi.LedgerAppendReply, err error) (*abi.LedgerAppendReply, error) {
	var failed *abi.Error
	if errors.As(err, &failed) && failed.Code == abi.CodeConflict {
		return w.afterConflict(req, segments, err)
	}
	if err != nil {
		return nil, err
	}
	if reply != nil && reply.Already {
		return w.afterRetry(req, segments, reply)
	}
	for i, s := range segments {
		w.mine[s.id] = true
		if len(segments) > 1 && i == 0 {
			w.company[s.id] = true
		}
	}
	switch w.fault {
	case "append/many": // writes large batches from behind
		if req.EntryCount > 1000 {
			err = exec("UPDATE alineo_events SET step_idx = (SELECT max(step_idx) FROM alineo_events) - step_idx")
		}
	case "append/several-sandboxes": // files a batch under its first name
		last, numberErr := number("SELECT max(id) FROM alineo_events")
		if err = numberErr; err == nil {
			err = exec("UPDATE alineo_events SET name = ? WHERE id > ?", alineo.Text(segments[0].key.Name), alineo.Int(last-int64(req.EntryCount)))
		}
	case "handle/several":
		w.segments, err = number("SELECT count(*) FROM alineo_host_segments")
	}
	return reply, err
}

func (w *wrong) afterConflict(req *abi.LedgerAppendRequest, segments []segment, err error) (*abi.LedgerAppendReply, error) {
	switch w.fault {
	case "append/atomic": // writes what was not refused, and that too
		if len(segments) >= 3 {
			err = errors.Join(err, insert(req))
		}
	case "retry/refused":
		for _, s := range segments {
			w.refused[s.id] = true
		}
	}
	return nil, err
}

func (w *wrong) afterRetry(req *abi.LedgerAppendRequest, segments []segment, reply *abi.LedgerAppendReply) (*abi.LedgerAppendReply, error) {
	first := segments[0]
	forgotten := false
	switch w.fault {
	case "retry/identical": // does not know a batch of several again for ever
		if len(segments) > 1 {
			w.again++
		}
		forgotten = w.again > 2
	case "retry/after-claim": // does not look behind a claim
		now, err := number("SELECT epoch FROM alineo_host_heads WHERE name = ? AND sandbox_id = ?", ledgerkit.Key(first.key)...)
		if err != nil {
			return nil, err
		}
		forgotten = len(segments) == 1 && now != first.epoch
	case "retry/alone": // knows batches, not segments
		forgotten = len(segments) == 1 && w.company[first.id]
	case "handle/retry": // knows what it applied itself
		forgotten = !w.mine[first.id]
	case "retry/late": // knows the last segment only
		last, err := number("SELECT count(*) FROM alineo_host_heads WHERE name = ? AND sandbox_id = ? AND segment_id = ?",
			append(ledgerkit.Key(first.key), alineo.Blob([]byte(first.id)))...)
		if err != nil {
			return nil, err
		}
		if last == 0 {
			return reply, insert(req)
		}
	case "segments/retry": // counts what it did not write
		if err := exec("UPDATE alineo_host_heads SET entries = entries + 1"); err != nil {
			return nil, err
		}
	}
	if forgotten {
		return nil, conflict()
	}
	return reply, nil
}
