package meter

// frame is an open block of the function that is being rewritten.
type frame struct {
	loop  bool
	first bool // nothing but straight code came before it
	price int  // where the price of the loop's header is to be written, in the output
	start int  // offset of the header, in the input
}

func (w *rewriter) codeSection(r *reader, dst []byte) []byte {
	start := r.pos
	n := r.count("function bodies", maxFunctions)
	if r.err == nil && n != w.functions()-w.imports {
		r.failf(start, "%d function bodies for %d functions", n, w.functions()-w.imports)
	}
	dst = appendU32(dst, n)
	var code []byte
	for i := uint32(0); i < n && r.err == nil; i++ {
		at := r.pos
		size := r.u32()
		if size > maxBody {
			r.failf(at, "function body of %d bytes, at most %d are supported", size, maxBody)
		}
		body := r.sub(size)
		code = w.function(&body, w.params[w.funcs[w.imports+i]], code[:0])
		if r.join(&body, "function"); r.err != nil {
			break
		}
		dst = appendU32(dst, uint32(len(w.local)+len(w.entry)+len(code)))
		dst = append(append(append(dst, w.local...), w.entry...), code...)
	}
	return dst
}

// function rewrites one body: what comes before its code is left in w.local and w.entry.
func (w *rewriter) function(r *reader, params uint32, dst []byte) []byte {
	f := body{rewriter: w, r: r, locals: params}
	declared := f.declarations()
	start := r.pos
	dst = f.code(dst)
	// What the engine does for a function grows with the square of these.
	if w.work += 12*f.loops*f.loops + f.branches*f.branches; w.work > maxWork {
		r.failf(start, "function of %d loops and %d branches would take too long to compile", f.loops, f.branches)
	}
	w.entry = w.entry[:0]
	if !f.loopFirst {
		w.stats.Entries++
		w.entry = w.appendCharge(w.entry, price(r.end-start))
	}
	w.local = w.local[:0]
	if f.scratch {
		w.local = appendU32(w.local, f.groups+1)
		w.local = append(append(w.local, declared...), 1, typeI32)
	} else {
		w.local = append(appendU32(w.local, f.groups), declared...)
	}
	return dst
}

// body is the state of one function.
type body struct {
	*rewriter
	r         *reader
	locals    uint32 // parameters and declared locals; the scratch local is the one after them
	groups    uint32 // of declarations
	loops     uint64
	branches  uint64 // if and br_if
	scratch   bool   // the scratch local is needed
	straight  bool   // nothing but straight code so far
	loopFirst bool   // the function begins with a loop that spans it, which is charged instead
}

// declarations reads the locals and returns them in canonical form.
func (f *body) declarations() []byte {
	r := f.r
	start := r.pos
	f.groups = r.count("groups of locals", maxLocals)
	var out []byte
	sum := uint64(f.locals)
	for i := uint32(0); i < f.groups && r.err == nil; i++ {
		n := r.u32()
		sum += uint64(n)
		out = append(appendU32(out, n), r.valueType())
	}
	f.rewriter.locals += sum
	if sum > maxLocals || f.rewriter.locals > maxAllLocals {
		r.failf(start, "%d locals, at most %d of a function and %d of all are supported", sum, maxLocals, maxAllLocals)
	}
	f.locals = uint32(sum)
	return out
}

// code rewrites instructions up to the end of the function.
func (f *body) code(dst []byte) []byte {
	r := f.r
	begin := r.pos
	f.control = append(f.control[:0], frame{})
	f.straight = true
	for r.err == nil {
		at := r.pos
		op := r.byte()
		switch kind := operandsOf(op); kind {
		case none:
			if op == opElse || op == opReturn || op == opUnreachable {
				f.straight = false
			}
			dst = append(dst, op)
		case block:
			dst = f.open(at, op, dst)
		case end:
			dst = append(dst, op)
			top := f.control[len(f.control)-1]
			f.control = f.control[:len(f.control)-1]
			if top.loop {
				putPrice(dst[top.price:], price(r.pos-top.start))
				f.loopFirst = f.loopFirst || top.first && (top.start-begin)+(r.end-r.pos) < freeBytes
			}
			if len(f.control) == 0 {
				return dst
			}
		case misc:
			dst = f.misc(at, dst)
		case vector:
			dst = f.vector(at, dst)
		case unknown:
			r.refuse(at, 0, uint32(op))
		default:
			if op == opMemoryGrow {
				dst = f.appendGrowCharge(dst)
			}
			if dst = f.plain(kind, op, dst); op == opMemoryGrow {
				dst = f.appendGrowReport(dst)
			}
		}
	}
	return dst
}

// open rewrites the header of a block, and charges it when it is a loop.
func (f *body) open(at int, op byte, dst []byte) []byte {
	dst = f.blockType(append(dst, op))
	if len(f.control) > maxNesting {
		f.r.failf(at, "more than %d blocks within each other", maxNesting)
		return dst
	}
	next := frame{loop: op == opLoop, first: f.straight, start: at}
	if next.loop {
		f.stats.Loops++
		f.loops++
		dst, next.price = f.appendLoopCharge(dst)
	}
	if op == opIf {
		f.branches++
	}
	f.straight = false
	f.control = append(f.control, next)
	return dst
}

func (f *body) blockType(dst []byte) []byte {
	r := f.r
	start := r.pos
	switch t := r.signed(33); {
	case t >= 0:
		if t >= int64(f.tickType()) {
			r.failf(start, "type %d does not exist, the module has %d", t, f.tickType())
		}
		return appendSigned(dst, t)
	default:
		switch c := byte(t & 0x7f); c {
		case typeEmpty, typeI32, typeI64, typeF32, typeF64, typeV128, typeFuncref, typeExternref:
			if t >= -64 {
				return append(dst, c)
			}
		}
		r.failf(start, "block type %d is not supported", t)
		return dst
	}
}

// plain copies an instruction, with its operands checked.
func (f *body) plain(kind operands, op byte, dst []byte) []byte {
	r := f.r
	dst = append(dst, op)
	switch kind {
	case label:
		f.straight = false
		f.branches++
		return appendU32(dst, r.index("label", uint32(len(f.control))))
	case labels:
		f.straight = false
		n := r.count("branch targets", maxTargets)
		dst = appendU32(dst, n)
		for i := uint32(0); i <= n && r.err == nil; i++ {
			dst = appendU32(dst, r.index("label", uint32(len(f.control))))
		}
		return dst
	case function:
		f.straight = f.straight && op != opCall
		return appendU32(dst, f.remap(r.index("function", f.functions())))
	case indirect:
		f.straight = false
		dst = appendU32(dst, r.index("type", f.tickType()))
		return appendU32(dst, r.index("table", f.tables))
	case types:
		start := r.pos
		if n := r.count("types", maxParams); n != 1 {
			r.failf(start, "select of %d types is not supported", n)
		}
		return append(dst, 1, r.valueType())
	case local:
		return appendU32(dst, r.index("local", f.locals))
	case global:
		return appendU32(dst, r.index("global", f.globals))
	case table:
		return appendU32(dst, r.index("table", f.tables))
	case memarg:
		return f.memarg(dst)
	case memory:
		return f.memoryIndex(dst)
	case i32:
		return appendSigned(dst, r.signed(32))
	case i64:
		return appendSigned(dst, r.signed(64))
	case f32:
		return append(dst, r.bytes(4)...)
	case f64:
		return append(dst, r.bytes(8)...)
	default: // ref
		return append(dst, r.refType())
	}
}

func (f *body) memarg(dst []byte) []byte {
	r := f.r
	start := r.pos
	align := r.u32()
	if align > 4 {
		r.failf(start, "alignment %d is not supported", align)
	}
	if f.memories == 0 {
		r.failf(start, "memory access without a memory")
	}
	return appendU32(appendU32(dst, align), r.u32())
}

func (f *body) memoryIndex(dst []byte) []byte {
	if f.memories == 0 {
		f.r.failf(f.r.pos, "memory access without a memory")
	}
	f.r.zero("memory index")
	return append(dst, 0)
}

// misc rewrites an instruction behind opPrefixMisc: those that work by length are charged for it.
func (f *body) misc(at int, dst []byte) []byte {
	r := f.r
	op := r.u32()
	switch op {
	case miscMemoryInit, miscMemoryCopy, miscMemoryFill:
		dst = f.appendLengthCharge(dst, shiftBytes)
	case miscTableInit, miscTableCopy, miscTableFill, miscTableGrow:
		dst = f.appendLengthCharge(dst, shiftElements)
	}
	dst = append(dst, opPrefixMisc)
	if op > miscTableFill {
		r.refuse(at, opPrefixMisc, op)
		return dst
	}
	dst = append(dst, byte(op))
	switch op {
	case miscMemoryInit:
		return f.memoryIndex(appendU32(dst, r.index("data segment", f.datas)))
	case miscDataDrop:
		return appendU32(dst, r.index("data segment", f.datas))
	case miscMemoryCopy:
		return f.memoryIndex(f.memoryIndex(dst))
	case miscMemoryFill:
		return f.memoryIndex(dst)
	case miscTableInit:
		dst = appendU32(dst, r.index("element segment", f.elements))
		return appendU32(dst, r.index("table", f.tables))
	case miscElemDrop:
		return appendU32(dst, r.index("element segment", f.elements))
	case miscTableCopy:
		dst = appendU32(dst, r.index("table", f.tables))
		return appendU32(dst, r.index("table", f.tables))
	case miscTableGrow, miscTableSize, miscTableFill:
		return appendU32(dst, r.index("table", f.tables))
	default: // saturating conversions
		return dst
	}
}

// vector copies an instruction behind opPrefixVector. Its opcode has one byte, or two of which the
// second is 1: the engine reads one byte and takes that second one for a nop. So a padded opcode
// would be another instruction to the engine than it is to us, and is refused.
func (f *body) vector(at int, dst []byte) []byte {
	r := f.r
	op := r.u32()
	if size := r.pos - at; r.err == nil && size != 2 && (size != 3 || op < 0x80) {
		r.failf(at, "opcode %#x %d is padded", opPrefixVector, op)
	}
	dst = appendU32(append(dst, opPrefixVector), op)
	switch vecOperandsOf(op) {
	case vecNone:
		return dst
	case vecMemarg:
		return f.memarg(dst)
	case vecBytes:
		return append(dst, r.bytes(16)...)
	case vecLane:
		return append(dst, r.byte())
	case vecMemargLane:
		return append(f.memarg(dst), r.byte())
	default:
		r.refuse(at, opPrefixVector, op)
		return dst
	}
}
