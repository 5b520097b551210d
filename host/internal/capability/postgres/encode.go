package postgres

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"

	"github.com/alineo-labs/alineo-host/abi"
)

// Formats of values on the wire.
const (
	textForm   int16 = 0
	binaryForm int16 = 1
)

// Numbers of the types that are bound and read in their binary form.
const (
	oidBool    = 16
	oidBytea   = 17
	oidName    = 19
	oidInt8    = 20
	oidInt2    = 21
	oidInt4    = 23
	oidText    = 25
	oidOID     = 26
	oidJSON    = 114
	oidFloat4  = 700
	oidFloat8  = 701
	oidBPChar  = 1042
	oidVarchar = 1043
	oidJSONB   = 3802
)

// elementOf returns the type of an array's elements.
func elementOf(array uint32) (element uint32, ok bool) {
	switch array {
	case 1000:
		return oidBool, true
	case 1001:
		return oidBytea, true
	case 1003:
		return oidName, true
	case 1016:
		return oidInt8, true
	case 1005:
		return oidInt2, true
	case 1007:
		return oidInt4, true
	case 1009:
		return oidText, true
	case 199:
		return oidJSON, true
	case 1021:
		return oidFloat4, true
	case 1022:
		return oidFloat8, true
	case 1014:
		return oidBPChar, true
	case 1015:
		return oidVarchar, true
	case 3807:
		return oidJSONB, true
	default:
		return 0, false
	}
}

// scalar returns a value as it is sent for a parameter of a type: views of the value, or of the
// connection's arena. Whatever has no binary form here goes as text, which the server reads as it
// reads a literal.
func (c *conn) scalar(oid uint32, v abi.Value) (value []byte, format int16) {
	if v.Kind == abi.KindNull {
		return nil, textForm
	}
	start := len(c.arena)
	switch {
	case oid == oidInt8 && v.Kind == abi.KindInt:
		c.arena = binary.BigEndian.AppendUint64(c.arena, uint64(v.Int))
		return c.arena[start:], binaryForm
	case (oid == oidJSON || oid == oidJSONB) && (v.Kind == abi.KindJSON || v.Kind == abi.KindText):
		return notNil(escapeNUL(v.Bytes)), textForm
	case v.Kind == abi.KindText || v.Kind == abi.KindJSON:
		if oid == oidBytea {
			return notNil(v.Bytes), binaryForm
		}
		return notNil(v.Bytes), textForm
	case v.Kind == abi.KindBlob:
		if oid == oidBytea {
			return notNil(v.Bytes), binaryForm
		}
	}
	c.arena = appendText(c.arena, v)
	return c.arena[start:], textForm
}

// notNil tells an empty value from NULL.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// appendText writes a value as a literal without its quotes.
func appendText(dst []byte, v abi.Value) []byte {
	switch v.Kind {
	case abi.KindInt:
		return strconv.AppendInt(dst, v.Int, 10)
	case abi.KindBool:
		return strconv.AppendBool(dst, v.Int != 0)
	case abi.KindReal:
		switch {
		case math.IsNaN(v.Real):
			return append(dst, "NaN"...)
		case math.IsInf(v.Real, 1):
			return append(dst, "Infinity"...)
		case math.IsInf(v.Real, -1):
			return append(dst, "-Infinity"...)
		}
		return strconv.AppendFloat(dst, v.Real, 'g', -1, 64)
	case abi.KindBlob:
		return hex.AppendEncode(append(dst, `\x`...), v.Bytes)
	default:
		return append(dst, v.Bytes...)
	}
}

// array is a column of a batch as an array of one dimension in its binary form.
type array struct {
	element uint32
	bytes   []byte
	null    bool
}

// newArray begins an array of n elements in the memory of an earlier one.
func newArray(memory []byte, element uint32, n int) array {
	b := binary.BigEndian.AppendUint32(memory[:0], 1) // dimensions
	b = binary.BigEndian.AppendUint32(b, 0)           // 1 when there are NULLs
	b = binary.BigEndian.AppendUint32(b, element)
	b = binary.BigEndian.AppendUint32(b, uint32(n))
	b = binary.BigEndian.AppendUint32(b, 1) // the first index
	return array{element: element, bytes: b}
}

// end returns the array.
func (a *array) end() []byte {
	if a.null {
		binary.BigEndian.PutUint32(a.bytes[4:], 1)
	}
	return a.bytes
}

// add appends an element.
func (a *array) add(v abi.Value) error {
	if v.Kind == abi.KindNull {
		a.null = true
		a.bytes = binary.BigEndian.AppendUint32(a.bytes, math.MaxUint32)
		return nil
	}
	switch a.element {
	case oidInt8, oidInt4, oidInt2:
		return a.addInt(v)
	case oidBool:
		n, err := integer(v)
		a.size(1)
		a.bytes = append(a.bytes, byte(n&1))
		return err
	case oidFloat8, oidFloat4:
		return a.addReal(v)
	case oidJSON:
		a.addBytes(escapeNUL(v.Bytes), v)
	case oidJSONB:
		escaped := escapeNUL(v.Bytes)
		if v.Kind != abi.KindText && v.Kind != abi.KindJSON {
			escaped = appendText(nil, v)
		}
		a.size(len(escaped) + 1)
		a.bytes = append(append(a.bytes, 1), escaped...) // 1 is the version of the form
	default:
		a.addBytes(v.Bytes, v)
	}
	return nil
}

func (a *array) size(n int) { a.bytes = binary.BigEndian.AppendUint32(a.bytes, uint32(n)) }

// addBytes appends text, or the text of what is none.
func (a *array) addBytes(text []byte, v abi.Value) {
	if v.Kind < abi.KindText || v.Kind == abi.KindBlob && a.element != oidBytea {
		text = appendText(nil, v)
	}
	a.size(len(text))
	a.bytes = append(a.bytes, text...)
}

func (a *array) addInt(v abi.Value) error {
	n, err := integer(v)
	if err != nil {
		return err
	}
	switch a.element {
	case oidInt8:
		a.size(8)
		a.bytes = binary.BigEndian.AppendUint64(a.bytes, uint64(n))
	case oidInt4:
		if n != int64(int32(n)) {
			return fmt.Errorf("%d is too large for an integer", n)
		}
		a.size(4)
		a.bytes = binary.BigEndian.AppendUint32(a.bytes, uint32(n))
	default:
		if n != int64(int16(n)) {
			return fmt.Errorf("%d is too large for a smallint", n)
		}
		a.size(2)
		a.bytes = binary.BigEndian.AppendUint16(a.bytes, uint16(n))
	}
	return nil
}

func (a *array) addReal(v abi.Value) error {
	x := v.Real
	if v.Kind != abi.KindReal {
		n, err := integer(v)
		if err != nil {
			return err
		}
		x = float64(n)
	}
	if a.element == oidFloat8 {
		a.size(8)
		a.bytes = binary.BigEndian.AppendUint64(a.bytes, math.Float64bits(x))
		return nil
	}
	a.size(4)
	a.bytes = binary.BigEndian.AppendUint32(a.bytes, math.Float32bits(float32(x)))
	return nil
}

// integer is a value as a whole number.
func integer(v abi.Value) (int64, error) {
	switch v.Kind {
	case abi.KindInt, abi.KindBool:
		return v.Int, nil
	case abi.KindText:
		if n, err := strconv.ParseInt(string(v.Bytes), 10, 64); err == nil {
			return n, nil
		}
	default:
	}
	return 0, fmt.Errorf("a value of kind %s is no number", v.Kind)
}
