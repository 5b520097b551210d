package alineo

import (
	"slices"

	"github.com/alineo-labs/alineo-host/abi"
)

// Program is a list of steps that runs again and again. Only the batches that it runs for differ from
// call to call, and they mostly have the same handles, so the request is made once and kept:
//
//	store := alineo.SQL("notes").Program(false, advance.Over(0), insert.Over(1))
//	…
//	_, err := store.Run(req.Segments, req.Entries)
//
// A guest in WebAssembly saves some ten microseconds a call by that.
type Program struct {
	exec    abi.SQLExec
	over    []int    // the argument of Run that each step runs for, or -1
	batches []uint64 // that wire was made for
	wire    []byte
}

// over marks the Batch of a step as an argument of Run. No handle is that large.
const over = 1 << 63

// Over makes the step run for every row of a batch that is not known yet: the argument of that index of
// Program.Run. It is of no use in Write, Read and Exec.
func (s Step) Over(argument int) Step {
	s.step.Batch = over | uint64(argument)
	return s
}

// Program returns a program of these steps. What they bind as literals is read now and at later
// runs, so it must not change.
func (db SQL) Program(readOnly bool, steps ...Step) *Program {
	p := &Program{exec: abi.SQLExec{Database: string(db), ReadOnly: readOnly, Steps: slices.Clone(asSteps(steps))}}
	for i := range p.exec.Steps {
		argument := -1
		if batch := p.exec.Steps[i].Batch; batch >= over {
			argument = int(batch &^ over)
		}
		p.over = append(p.over, argument)
	}
	return p
}

// Run runs the program with these batches. Reply and error are those of SQL.Exec.
func (p *Program) Run(batches ...uint64) (*abi.SQLExecReply, error) {
	if err := p.encode(batches); err != nil {
		return nil, err
	}
	body, err := guest.ask(abi.OpSQLExec, p.wire)
	if err != nil {
		return nil, err
	}
	return readResults(body, len(p.exec.Steps))
}

// Do is Run for when only the error matters: what the steps did stays on the host, which saves some
// microseconds.
func (p *Program) Do(batches ...uint64) error {
	if err := p.encode(batches); err != nil {
		return err
	}
	return guest.tell(abi.OpSQLExec, p.wire)
}

// encode makes the request, unless the last one is the same.
func (p *Program) encode(batches []uint64) error {
	if p.wire != nil && slices.Equal(p.batches, batches) {
		return nil
	}
	return p.make(batches)
}

// make encodes the request.
func (p *Program) make(batches []uint64) error {
	for i, argument := range p.over {
		if argument >= len(batches) {
			return &abi.Error{Code: abi.CodeInternal, Message: "a step of the program runs over a batch that Run was not given"}
		}
		if argument >= 0 {
			p.exec.Steps[i].Batch = batches[argument]
		}
	}
	p.batches = append(p.batches[:0], batches...)
	p.wire = p.exec.AppendTo(p.wire[:0])
	return nil
}
