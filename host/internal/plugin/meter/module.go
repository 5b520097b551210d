package meter

// Section ids, in the order in which a module has them.
const (
	secCustom    = 0
	secType      = 1
	secImport    = 2
	secFunction  = 3
	secTable     = 4
	secMemory    = 5
	secGlobal    = 6
	secExport    = 7
	secStart     = 8
	secElement   = 9
	secDataCount = 12
	secCode      = 10
	secData      = 11
	secTag       = 13
)

// Limits on what a module may declare. They bound what an engine allocates for it and are far above
// what compilers make.
const (
	maxTypes     = 100_000
	maxParams    = 1_000
	maxImports   = 10_000
	maxFunctions = 1_000_000
	maxTables    = 16
	maxGlobals   = 100_000
	maxExports   = 100_000
	maxSegments  = 100_000
	maxElements  = 10_000_000
	maxBody      = 8 << 20  // bytes of one function
	maxLocals    = 50_000   // of one function, with its parameters
	maxAllLocals = 10 << 20 // of all functions
	maxNesting   = 50_000   // blocks within blocks
	maxTargets   = 100_000  // of one br_table
	maxWork      = 1 << 31  // of compiling, in units of some 10 ns
)

// rewriter holds what is known of the module so far. Counts are those of the original module: they
// are what the guest may name.
type rewriter struct {
	opts  Options
	stats Stats

	params   []uint32 // number of parameters, by type
	imports  uint32   // imported functions
	funcs    []uint32 // type of each function, imported ones first
	tables   uint32
	memories uint32
	globals  uint32
	elements uint32
	datas    uint32
	counted  bool // a data count section gives datas
	locals   uint64
	work     uint64  // of compiling, as an estimate
	control  []frame // scratch of the function being rewritten
	entry    []byte  // likewise
	local    []byte  // likewise
}

// tick is the index of the imported function tick: the last import, so that every function that the
// module defines moves up by one.
func (w *rewriter) tick() uint32 { return w.imports }

// fuel is the index of the global that holds the fuel: the last one, so that no global moves.
func (w *rewriter) fuel() uint32 { return w.globals }

// tickType is the index of tick's type: the last one.
func (w *rewriter) tickType() uint32 { return uint32(len(w.params)) }

// remap returns the new index of a function.
func (w *rewriter) remap(f uint32) uint32 {
	if f >= w.imports {
		f++
	}
	return f
}

// functions is the size of the function index space.
func (w *rewriter) functions() uint32 { return uint32(len(w.funcs)) }

// sections are the parts of a module by id.
type sections struct {
	at   [secTag + 1]reader
	has  [secTag + 1]bool
	name *reader // contents of the custom section "name"
}

// split finds the sections and checks their order.
func split(wasm []byte) (sections, error) {
	var s sections
	r := reader{b: wasm, end: len(wasm)}
	if !IsModule(wasm) {
		r.failf(0, "not a WebAssembly module of version 1")
		return s, r.err
	}
	r.pos = len(header)
	last := 0
	for r.more() {
		start := r.pos
		id := r.byte()
		body := r.sub(r.u32())
		if r.err != nil {
			break
		}
		if id == secCustom {
			if name := body.name(); body.err == nil && string(name) == "name" && s.name == nil {
				s.name = &body
			}
			r.join(&reader{pos: body.end, end: body.end, err: body.err}, "")
			continue
		}
		rank, known := sectionRank(id)
		switch {
		case !known:
			r.failf(start, "section %d is not supported%s", id, sectionFeature(id))
		case rank <= last:
			r.failf(start, "section %d is out of order", id)
		default:
			last = rank
			s.at[id], s.has[id] = body, true
		}
	}
	return s, r.err
}

// sectionRank returns the place of a section in a module.
func sectionRank(id byte) (rank int, known bool) {
	order := [...]byte{
		secType, secImport, secFunction, secTable, secMemory, secGlobal, secExport, secStart,
		secElement, secDataCount, secCode, secData,
	}
	for i, o := range order {
		if o == id {
			return i + 1, true
		}
	}
	return 0, false
}

func sectionFeature(id byte) string {
	if id == secTag {
		return " (tags of the exception handling proposal)"
	}
	return ""
}

// module rewrites a whole module.
func (w *rewriter) module(wasm []byte) ([]byte, error) {
	s, err := split(wasm)
	if err != nil {
		return nil, err
	}
	// Metered code is a quarter to a half larger at worst; growing once more is no harm.
	out := make([]byte, 0, len(wasm)+len(wasm)/4+128)
	out = append(out, header...)
	var body []byte
	for _, step := range [...]struct {
		id      byte
		always  bool // the rewritten module has this section even when the original has none
		rewrite func(r *reader, dst []byte) []byte
	}{
		{secType, true, w.typeSection},
		{secImport, true, w.importSection},
		{secFunction, false, w.functionSection},
		{secTable, false, w.tableSection},
		{secMemory, false, w.memorySection},
		{secGlobal, true, w.globalSection},
		{secExport, false, w.exportSection},
		{secStart, false, w.startSection},
		{secElement, false, w.elementSection},
		{secDataCount, false, w.dataCountSection},
		{secCode, false, w.codeSection},
		{secData, false, w.dataSection},
	} {
		if !s.has[step.id] {
			if !step.always {
				continue
			}
			s.at[step.id] = reader{b: []byte{0}, end: 1} // an empty vector
		}
		r := &s.at[step.id]
		body = step.rewrite(r, body[:0])
		if r.join(r, "section"); r.err != nil {
			return nil, r.err
		}
		out = appendU32(append(out, step.id), uint32(len(body)))
		out = append(out, body...)
	}
	if !s.has[secCode] && w.functions() > w.imports {
		r := reader{}
		r.failf(len(wasm), "%d functions without code", w.functions()-w.imports)
		return nil, r.err
	}
	if !s.has[secData] && w.datas > 0 {
		r := reader{}
		r.failf(len(wasm), "%d data segments were announced, there are none", w.datas)
		return nil, r.err
	}
	return w.appendNames(out, s.name), nil
}
