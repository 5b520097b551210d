package meter

// Encodings of types.
const (
	typeI32       = 0x7f
	typeI64       = 0x7e
	typeF32       = 0x7d
	typeF64       = 0x7c
	typeV128      = 0x7b
	typeFuncref   = 0x70
	typeExternref = 0x6f
	typeFunc      = 0x60
	typeEmpty     = 0x40 // block type
)

// Kinds of imports and exports.
const (
	externFunc   = 0
	externTable  = 1
	externMemory = 2
	externGlobal = 3
)

func (r *reader) valueType() byte {
	start := r.pos
	switch t := r.byte(); t {
	case typeI32, typeI64, typeF32, typeF64, typeV128, typeFuncref, typeExternref:
		return t
	default:
		r.failf(start, "type %#x is not supported", t)
		return typeI32
	}
}

func (r *reader) refType() byte {
	start := r.pos
	switch t := r.byte(); t {
	case typeFuncref, typeExternref:
		return t
	default:
		r.failf(start, "reference type %#x is not supported", t)
		return typeFuncref
	}
}

func (w *rewriter) typeSection(r *reader, dst []byte) []byte {
	n := r.count("types", maxTypes)
	dst = appendU32(dst, n+1)
	w.params = make([]uint32, 0, n)
	for i := uint32(0); i < n && r.err == nil; i++ {
		start := r.pos
		if form := r.byte(); form != typeFunc {
			r.failf(start, "type form %#x is not supported, only functions are", form)
		}
		dst = append(dst, typeFunc)
		params := r.count("parameters", maxParams)
		dst = r.valueTypes(dst, params)
		dst = r.valueTypes(dst, r.count("results", maxParams))
		w.params = append(w.params, params)
	}
	return append(dst, typeFunc, 1, typeI32, 0) // tick
}

func (r *reader) valueTypes(dst []byte, n uint32) []byte {
	dst = appendU32(dst, n)
	for i := uint32(0); i < n && r.err == nil; i++ {
		dst = append(dst, r.valueType())
	}
	return dst
}

func (w *rewriter) importSection(r *reader, dst []byte) []byte {
	n := r.count("imports", maxImports)
	dst = appendU32(dst, n+1)
	for i := uint32(0); i < n && r.err == nil; i++ {
		start := r.pos
		module, name := r.name(), r.name()
		if string(module) == ModuleName {
			r.failf(start, "import of %s.%s, which is the host's own", module, name)
		}
		if kind := r.byte(); kind != externFunc {
			r.failf(start, "import of %s %.100q.%.100q is not supported, only functions can be imported",
				externName(kind), module, name)
		}
		typ := r.index("type", w.tickType())
		dst = appendName(appendName(dst, module), name)
		dst = appendU32(append(dst, externFunc), typ)
		w.funcs = append(w.funcs, typ)
	}
	w.imports = uint32(len(w.funcs))
	dst = appendName(appendName(dst, []byte(ModuleName)), []byte(TickName))
	return appendU32(append(dst, externFunc), w.tickType())
}

func externName(kind byte) string {
	switch kind {
	case externFunc:
		return "function"
	case externTable:
		return "table"
	case externMemory:
		return "memory"
	case externGlobal:
		return "global"
	default:
		return "unknown kind"
	}
}

func (w *rewriter) functionSection(r *reader, dst []byte) []byte {
	n := r.count("functions", maxFunctions)
	dst = appendU32(dst, n)
	for i := uint32(0); i < n && r.err == nil; i++ {
		typ := r.index("type", w.tickType())
		dst = appendU32(dst, typ)
		w.funcs = append(w.funcs, typ)
	}
	return dst
}

func (w *rewriter) globalSection(r *reader, dst []byte) []byte {
	n := r.count("globals", maxGlobals)
	w.globals = n
	dst = appendU32(dst, n+1)
	for i := uint32(0); i < n && r.err == nil; i++ {
		dst = append(dst, r.valueType())
		start := r.pos
		mutable := r.byte()
		if mutable > 1 {
			r.failf(start, "mutability %#x is not supported", mutable)
		}
		dst = w.constant(r, append(dst, mutable))
	}
	dst = append(dst, typeI32, 1, opI32Const)
	return append(appendSigned(dst, int64(w.opts.Interval)), opEnd)
}

func (w *rewriter) exportSection(r *reader, dst []byte) []byte {
	n := r.count("exports", maxExports)
	dst = appendU32(dst, n)
	for i := uint32(0); i < n && r.err == nil; i++ {
		dst = appendName(dst, r.name())
		start := r.pos
		kind := r.byte()
		dst = append(dst, kind)
		switch kind {
		case externFunc:
			dst = appendU32(dst, w.remap(r.index("function", w.functions())))
		case externTable:
			dst = appendU32(dst, r.index("table", w.tables))
		case externMemory:
			dst = appendU32(dst, r.index("memory", w.memories))
		case externGlobal:
			dst = appendU32(dst, r.index("global", w.globals))
		default:
			r.failf(start, "export of kind %#x is not supported", kind)
		}
	}
	return dst
}

func (w *rewriter) startSection(r *reader, dst []byte) []byte {
	return appendU32(dst, w.remap(r.index("function", w.functions())))
}

func (w *rewriter) elementSection(r *reader, dst []byte) []byte {
	n := r.count("element segments", maxSegments)
	w.elements = n
	dst = appendU32(dst, n)
	for i := uint32(0); i < n && r.err == nil; i++ {
		dst = w.elementSegment(r, dst)
	}
	return dst
}

// elementSegment rewrites one segment. Bit 0 of its flags says that it is not active; bit 1 that it
// names its table, or that it is declarative; bit 2 that its elements are expressions.
func (w *rewriter) elementSegment(r *reader, dst []byte) []byte {
	start := r.pos
	flags := r.u32()
	if flags > 7 {
		r.failf(start, "element segment of kind %d is not supported", flags)
	}
	active, explicit, exprs := flags&1 == 0, flags&2 != 0, flags&4 != 0
	dst = appendU32(dst, flags)
	if active {
		if explicit {
			dst = appendU32(dst, r.index("table", w.tables))
		} else if w.tables == 0 {
			r.failf(start, "element segment without a table")
		}
		dst = w.constant(r, dst)
	}
	if !active || explicit {
		if exprs {
			dst = append(dst, r.refType())
		} else {
			r.zero("element kind")
			dst = append(dst, 0)
		}
	}
	n := r.count("elements", maxElements)
	dst = appendU32(dst, n)
	for i := uint32(0); i < n && r.err == nil; i++ {
		if exprs {
			dst = w.constant(r, dst)
		} else {
			dst = appendU32(dst, w.remap(r.index("function", w.functions())))
		}
	}
	return dst
}

func (w *rewriter) dataCountSection(r *reader, dst []byte) []byte {
	start := r.pos
	w.datas, w.counted = r.u32(), true
	if w.datas > maxSegments {
		r.failf(start, "%d data segments, at most %d are supported", w.datas, maxSegments)
	}
	return appendU32(dst, w.datas)
}

func (w *rewriter) dataSection(r *reader, dst []byte) []byte {
	start := r.pos
	n := r.count("data segments", maxSegments)
	if w.counted && n != w.datas {
		r.failf(start, "%d data segments, %d were announced", n, w.datas)
	}
	dst = appendU32(dst, n)
	for i := uint32(0); i < n && r.err == nil; i++ {
		at := r.pos
		flags := r.u32()
		dst = appendU32(dst, flags)
		switch flags {
		case 0:
			dst = w.constant(r, dst)
		case 1: // passive
		case 2:
			dst = appendU32(dst, r.index("memory", w.memories))
			dst = w.constant(r, dst)
		default:
			r.failf(at, "data segment of kind %d is not supported", flags)
		}
		dst = appendName(dst, r.bytes(int(r.u32())))
	}
	return dst
}

// constant rewrites a constant expression up to its end.
func (w *rewriter) constant(r *reader, dst []byte) []byte {
	for r.err == nil {
		at := r.pos
		op := r.byte()
		dst = append(dst, op)
		switch op {
		case opEnd:
			return dst
		case opI32Const:
			dst = appendSigned(dst, r.signed(32))
		case opI64Const:
			dst = appendSigned(dst, r.signed(64))
		case opF32Const:
			dst = append(dst, r.bytes(4)...)
		case opF64Const:
			dst = append(dst, r.bytes(8)...)
		case opGlobalGet:
			dst = appendU32(dst, r.index("global", w.globals))
		case opRefNull:
			dst = append(dst, r.refType())
		case opRefFunc:
			dst = appendU32(dst, w.remap(r.index("function", w.functions())))
		case opPrefixVector:
			if sub := r.u32(); sub != vecConst {
				r.failf(at, "vector opcode %d is not supported in a constant expression", sub)
			}
			dst = append(append(dst, vecConst), r.bytes(16)...)
		default:
			r.failf(at, "opcode %#x is not supported in a constant expression", op)
		}
	}
	return dst
}
