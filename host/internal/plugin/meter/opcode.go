package meter

// Opcodes that are treated in a way of their own, or emitted.
const (
	opUnreachable  = 0x00
	opBlock        = 0x02
	opLoop         = 0x03
	opIf           = 0x04
	opElse         = 0x05
	opEnd          = 0x0b
	opBr           = 0x0c
	opBrTable      = 0x0e
	opReturn       = 0x0f
	opCall         = 0x10
	opCallIndirect = 0x11
	opSelectTyped  = 0x1c
	opLocalGet     = 0x20
	opLocalTee     = 0x22
	opGlobalGet    = 0x23
	opGlobalSet    = 0x24
	opMemorySize   = 0x3f
	opMemoryGrow   = 0x40
	opI32Const     = 0x41
	opI64Const     = 0x42
	opF32Const     = 0x43
	opF64Const     = 0x44
	opI32Eq        = 0x46
	opI32LtS       = 0x48
	opI32Sub       = 0x6b
	opI32And       = 0x71
	opI32Shl       = 0x74
	opI32ShrU      = 0x76
	opRefNull      = 0xd0
	opRefFunc      = 0xd2
	opPrefixMisc   = 0xfc
	opPrefixVector = 0xfd
)

// Opcodes behind opPrefixMisc.
const (
	miscMemoryInit = 8
	miscDataDrop   = 9
	miscMemoryCopy = 10
	miscMemoryFill = 11
	miscTableInit  = 12
	miscElemDrop   = 13
	miscTableCopy  = 14
	miscTableGrow  = 15
	miscTableSize  = 16
	miscTableFill  = 17
)

// vecConst is v128.const, behind opPrefixVector.
const vecConst = 12

// operands says what follows an opcode.
type operands uint8

const (
	unknown operands = iota
	none
	block  // a block type; opens a block
	end    // closes one
	label  // a label
	labels // a vector of labels and one more
	function
	indirect // a type and a table
	types    // a vector with one type
	local
	global
	table
	memarg // alignment and offset
	memory // a memory index, which is 0
	i32
	i64
	f32
	f64
	ref  // a reference type
	misc // an opcode of that prefix
	vector
)

// operandsOf returns what follows an opcode of WebAssembly 2.0, and unknown for any other byte.
func operandsOf(op byte) operands {
	switch {
	case op >= 0x45 && op <= 0xc4: // comparison, arithmetic, conversion, sign extension
		return none
	case op >= 0x28 && op <= 0x3e: // loads and stores
		return memarg
	}
	switch op {
	case opUnreachable, 0x01, opElse, opReturn, 0x1a, 0x1b, 0xd1: // nop, drop, select, ref.is_null
		return none
	case opBlock, opLoop, opIf:
		return block
	case opEnd:
		return end
	case opBr, 0x0d: // br_if
		return label
	case opBrTable:
		return labels
	case opCall, opRefFunc:
		return function
	case opCallIndirect:
		return indirect
	case opSelectTyped:
		return types
	case opLocalGet, 0x21, opLocalTee: // local.set
		return local
	case opGlobalGet, opGlobalSet:
		return global
	case 0x25, 0x26: // table.get, table.set
		return table
	case opMemorySize, opMemoryGrow:
		return memory
	case opI32Const:
		return i32
	case opI64Const:
		return i64
	case opF32Const:
		return f32
	case opF64Const:
		return f64
	case opRefNull:
		return ref
	case opPrefixMisc:
		return misc
	case opPrefixVector:
		return vector
	default:
		return unknown
	}
}

// vecOperands says what follows an opcode behind opPrefixVector.
type vecOperands uint8

const (
	vecUnknown vecOperands = iota
	vecNone
	vecMemarg
	vecBytes      // 16 bytes
	vecLane       // a lane
	vecMemargLane // alignment, offset and lane
)

func vecOperandsOf(op uint32) vecOperands {
	switch {
	case op <= 11 || op == 92 || op == 93:
		return vecMemarg
	case op == vecConst || op == 13:
		return vecBytes
	case op >= 21 && op <= 34:
		return vecLane
	case op >= 84 && op <= 91:
		return vecMemargLane
	case op > 255:
		return vecUnknown
	}
	switch op {
	case 0x9a, 0xa2, 0xa5, 0xa6, 0xaf, 0xb0, 0xb2, 0xb3, 0xb4, 0xbb, 0xc2, 0xc5, 0xc6, 0xcf, 0xd0, 0xd2, 0xd3, 0xd4,
		0xe2, 0xee:
		return vecUnknown // gaps in the numbering
	default:
		return vecNone
	}
}

// featureOf names what an opcode that is not supported belongs to.
func featureOf(op byte) string {
	switch op {
	case 0x06, 0x07, 0x08, 0x09, 0x0a, 0x18, 0x19, 0x1f:
		return " (exception handling)"
	case 0x12, 0x13, 0x15:
		return " (tail calls)"
	case 0x14, 0xd3, 0xd4, 0xd5, 0xd6:
		return " (typed function references)"
	case 0xfb:
		return " (garbage collection)"
	case 0xfe:
		return " (threads)"
	default:
		return ""
	}
}

// refuse fails with the name of an opcode.
func (r *reader) refuse(at int, prefix byte, op uint32) {
	switch {
	case prefix == 0:
		r.failf(at, "opcode %#02x is not supported%s", op, featureOf(byte(op)))
	case prefix == opPrefixVector && op > 255:
		r.failf(at, "opcode %#x %d is not supported (relaxed vectors)", prefix, op)
	default:
		r.failf(at, "opcode %#x %d is not supported", prefix, op)
	}
}
