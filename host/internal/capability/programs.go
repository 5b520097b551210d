package capability

import (
	"hash/maphash"
	"sync"
	"unsafe"

	"github.com/alineo-labs/alineo-host/abi"
)

const (
	maxPrograms     = 64       // that are kept decoded
	maxProgramBytes = 16 << 10 // of the largest request that is kept
)

// programs decodes requests of sql.exec and keeps those that come again and again: an append to a
// ledger is the same program each time, for another batch behind the same handle. It is safe for
// concurrent use.
type programs struct {
	seed maphash.Seed
	pool sync.Pool // of *abi.SQLExec

	mu   sync.RWMutex
	kept map[string]*abi.SQLExec
	seen [maxPrograms]uint64 // hashes of requests that came once
}

// decode returns the program of a request, which nobody may change. It is good until release.
func (p *programs) decode(req []byte) (program *abi.SQLExec, release func(), err error) {
	if len(req) <= maxProgramBytes {
		if program, err := p.known(req); program != nil || err != nil {
			return program, func() {}, err
		}
	}
	program, ok := p.pool.Get().(*abi.SQLExec)
	if !ok {
		program = new(abi.SQLExec)
	}
	if err := program.Unmarshal(req); err != nil {
		p.recycle(program)
		return nil, nil, err
	}
	return program, func() { p.recycle(program) }, nil
}

// known returns the kept program of a request, and keeps it when it comes for the second time.
func (p *programs) known(req []byte) (*abi.SQLExec, error) {
	p.mu.RLock()
	program := p.kept[string(req)]
	p.mu.RUnlock()
	if program != nil {
		return program, nil
	}
	hash := maphash.Bytes(p.seed, req)
	slot := &p.seen[hash%maxPrograms]
	p.mu.Lock()
	defer p.mu.Unlock()
	if *slot != hash {
		*slot = hash
		return nil, nil
	}
	own := string(req)
	program = new(abi.SQLExec)
	if err := program.Unmarshal(unsafe.Slice(unsafe.StringData(own), len(own))); err != nil {
		return nil, err
	}
	if p.kept == nil || len(p.kept) >= maxPrograms {
		p.kept = make(map[string]*abi.SQLExec)
	}
	p.kept[own] = program
	return program, nil
}

// recycle keeps a program's slices for the next one, without the views of guest memory in them.
func (p *programs) recycle(program *abi.SQLExec) {
	steps := program.Steps[:cap(program.Steps)]
	for i := range steps {
		params := steps[i].Params[:cap(steps[i].Params)]
		clear(params)
		steps[i] = abi.SQLStep{Params: params[:0]}
	}
	*program = abi.SQLExec{Steps: steps[:0]}
	p.pool.Put(program)
}
