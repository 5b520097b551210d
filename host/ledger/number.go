package ledger

import (
	"bytes"
	"errors"
	"strconv"
)

// The decimal exponents of the first digit that a double reaches.
const (
	maxExponent = 308
	minExponent = -324
)

var errRange = errors.New("a number beyond the range of a double")

// number copies an integer and rewrites any other number.
func (c *Canonicalizer) number() error {
	rest := c.src[c.pos:]
	whole := 0
	if rest[0] == '-' {
		whole = 1
	}
	i := whole + digits(rest[whole:])
	if i == whole || rest[whole] == '0' && i > whole+1 {
		c.pos += whole
		return c.fail()
	}
	if i-whole <= 21 && (i == len(rest) || rest[i] != '.' && rest[i]|0x20 != 'e') && (rest[whole] != '0' || whole == 0) {
		c.pos += i
		c.dst = append(c.dst, rest[:i]...)
		return nil
	}
	return c.decimal(rest, whole, i)
}

// decimal rewrites the number that rest starts with; its whole digits are rest[whole:i].
func (c *Canonicalizer) decimal(rest []byte, whole, i int) error {
	c.sorted = append(c.sorted[:0], rest[whole:i]...)
	point := len(c.sorted) // the value is 0.digits × 10^point
	if i < len(rest) && rest[i] == '.' {
		n := digits(rest[i+1:])
		if c.sorted = append(c.sorted, rest[i+1:i+1+n]...); n == 0 {
			c.pos += i + 1
			return c.fail()
		}
		i += 1 + n
	}
	if i < len(rest) && rest[i]|0x20 == 'e' {
		i++
		negative := i < len(rest) && rest[i] == '-'
		if negative || i < len(rest) && rest[i] == '+' {
			i++
		}
		n, exponent := digits(rest[i:]), 0
		if n == 0 {
			c.pos += i
			return c.fail()
		}
		for _, d := range rest[i : i+n] {
			exponent = min(exponent*10+int(d-'0'), 1<<30)
		}
		if i += n; negative {
			exponent = -exponent
		}
		point += exponent
	}
	c.pos += i

	short := bytes.TrimLeft(c.sorted, "0")
	point -= len(c.sorted) - len(short)
	if short = bytes.TrimRight(short, "0"); len(short) == 0 {
		c.dst = append(c.dst, '0')
		return nil
	}
	if point-1 > maxExponent || point-1 < minExponent {
		return errRange
	}
	if point-1 == maxExponent {
		if _, err := strconv.ParseFloat(string(rest[:i]), 64); err != nil {
			return errRange
		}
	}
	if rest[0] == '-' {
		c.dst = append(c.dst, '-')
	}
	c.dst = appendDecimal(c.dst, short, point)
	return nil
}

// appendDecimal lays 0.digits × 10^point out as ECMAScript does (Number::toString).
func appendDecimal(dst, digits []byte, point int) []byte {
	k := len(digits)
	switch {
	case k <= point && point <= 21:
		dst = append(dst, digits...)
		return append(dst, "000000000000000000000"[:point-k]...)
	case 0 < point && point <= 21:
		dst = append(dst, digits[:point]...)
		dst = append(dst, '.')
		return append(dst, digits[point:]...)
	case -6 < point && point <= 0:
		dst = append(dst, "0.00000"[:2-point]...)
		return append(dst, digits...)
	}
	dst = append(dst, digits[0])
	if k > 1 {
		dst = append(dst, '.')
		dst = append(dst, digits[1:]...)
	}
	dst = append(dst, 'e')
	if point > 0 {
		dst = append(dst, '+')
	}
	return strconv.AppendInt(dst, int64(point-1), 10)
}

// digits returns how many digits s starts with.
func digits(s []byte) int {
	for i, ch := range s {
		if ch < '0' || ch > '9' {
			return i
		}
	}
	return len(s)
}
