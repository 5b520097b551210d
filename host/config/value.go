package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Size is a number of bytes, written with a binary unit: "64MiB".
type Size int64

// units of a Size, largest first.
var units = [...]struct {
	name  string
	bytes int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// ParseSize reads a size such as "64MiB" or "1.5GiB". The error names a spelling that works when
// one is likely meant.
func ParseSize(text string) (Size, error) {
	number, unit := splitNumber(text)
	for _, u := range units {
		if unit == u.name {
			if size, ok := scale(number, u.bytes); ok {
				return size, nil
			}
		}
	}
	return 0, &wrongValue{text: text, want: "a size", try: likelySize(text)}
}

func scale(number string, unit int64) (Size, bool) {
	if whole, err := strconv.ParseInt(number, 10, 64); err == nil {
		return Size(whole * unit), whole >= 0 && whole <= math.MaxInt64/unit
	}
	f, err := strconv.ParseFloat(number, 64)
	bytes := f * float64(unit)
	exact := bytes == math.Trunc(bytes) && bytes >= 0 && bytes < 1<<62
	return Size(bytes), err == nil && exact
}

// likelySize guesses what somebody meant who wrote 64MB, 64 mib, 64m or 67108864.
func likelySize(text string) string {
	number, unit := splitNumber(strings.ReplaceAll(text, " ", ""))
	guess := Size(64 << 20).String()
	first := strings.ToUpper(unit)
	if first != "" {
		first = first[:1]
	}
	for _, u := range units {
		if !strings.HasPrefix(u.name, first) {
			continue
		}
		if first == "" {
			u.name, u.bytes = "B", 1
		}
		if size, ok := scale(number, u.bytes); ok && size > 0 {
			guess = size.String()
		}
		break
	}
	return guess
}

// String writes the size in the largest unit that it is a whole number of.
func (s Size) String() string {
	for _, u := range units {
		if s != 0 && int64(s)%u.bytes == 0 {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.name
		}
	}
	return "0B"
}

// MarshalText is String.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Duration is a length of time, written "5s", "1m30s" or "250ms".
type Duration time.Duration

// ParseDuration reads a duration that is not negative. The error names a spelling that works when
// one is likely meant.
func ParseDuration(text string) (Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil && d >= 0 {
		return Duration(d), nil
	}
	return 0, &wrongValue{text: text, want: "a duration", try: likelyDuration(text)}
}

// likelyDuration guesses what somebody meant who wrote 5, 5 s, 5sec, 2 days or -5s.
func likelyDuration(text string) string {
	const day = 24 * time.Hour
	number, unit := splitNumber(strings.TrimLeft(strings.ReplaceAll(text, " ", ""), "-"))
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return "5s"
	}
	each := time.Second
	switch unit = strings.ToLower(unit); {
	case strings.HasPrefix(unit, "ms"), strings.HasPrefix(unit, "milli"):
		each = time.Millisecond
	case strings.HasPrefix(unit, "m"):
		each = time.Minute
	case strings.HasPrefix(unit, "h"):
		each = time.Hour
	case strings.HasPrefix(unit, "d"):
		each = day
	}
	if total := f * float64(each); total > 0 && total < 1<<62 {
		return Duration(total).String()
	}
	return "5s"
}

// Std is the duration as the standard library has it.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String writes the duration without the zero parts that time.Duration adds: 30m, not 30m0s.
func (d Duration) String() string {
	text := time.Duration(d).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// MarshalText is String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// splitNumber cuts a leading decimal number off.
func splitNumber(text string) (number, rest string) {
	end := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		end = len(text)
	}
	return text[:end], text[end:]
}

// wrongValue is a value that is not what its key takes.
type wrongValue struct {
	text string // as it was written
	want string
	try  string // a spelling that works, or empty
}

func (e *wrongValue) Error() string { return e.about(quote(e.text)) }

// about says what is wrong with a value that is called name.
func (e *wrongValue) about(name string) string {
	message := fmt.Sprintf("%s is not %s", name, e.want)
	if e.try != "" {
		message += fmt.Sprintf(" (try %q)", e.try)
	}
	return message
}

// quote shows a value of the file, cut where it would flood the message.
func quote(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		return strconv.Quote(string(runes[:most])) + "…"
	}
	return strconv.Quote(text)
}
