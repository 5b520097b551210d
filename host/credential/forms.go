package credential

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

const (
	// minValue is the length in bytes of the shortest value that is looked for. A shorter one would be
	// found everywhere.
	minValue = 4
	// minForm is the same for what a value is encoded to, and minLine for a single line of a value that
	// has several.
	minForm = 6
	minLine = 12
)

// forms are all texts in which a value is looked for, without line ends: whoever looks leaves them out
// of the text, too, so that a value is found across lines.
func forms(value string) []string {
	if len(value) < minValue {
		return nil
	}
	found := make(map[string]struct{})
	add := func(form string, least int) {
		if form = withoutLineEnds(form); len(form) >= least {
			found[form] = struct{}{}
		}
	}
	add(value, minValue)
	add(strings.TrimSpace(value), minValue)
	if strings.Contains(value, "\n") {
		for line := range strings.Lines(value) {
			add(strings.TrimSpace(line), minLine)
		}
	}
	for _, form := range slices.Concat(base64Forms(value), urlForms(value), jsonForms(value), hexForms(value)) {
		add(form, minForm)
	}
	all := make([]string, 0, len(found))
	for form := range found {
		all = append(all, form)
	}
	return all
}

func withoutLineEnds(s string) string {
	if !strings.ContainsAny(s, "\r\n") {
		return s
	}
	return strings.NewReplacer("\r", "", "\n", "").Replace(s)
}

// base64Forms are what a value becomes in base64, alone or in the middle of other bytes: those
// characters that are made of nothing else, for each of the three places at which it can begin.
func base64Forms(value string) []string {
	var all []string
	for _, alphabet := range [...]*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			text := alphabet.EncodeToString(append(make([]byte, before), value...))
			const bitsOfByte, bitsOfChar = 8, 6
			first := (before*bitsOfByte + bitsOfChar - 1) / bitsOfChar
			end := (before + len(value)) * bitsOfByte / bitsOfChar
			all = append(all, text[min(first, end):end])
		}
		for _, alone := range [...]string{value, value + "\n"} {
			all = append(all, alphabet.EncodeToString([]byte(alone)),
				alphabet.WithPadding(base64.StdPadding).EncodeToString([]byte(alone)))
		}
	}
	return all
}

func urlForms(value string) []string {
	var percent strings.Builder
	for i := range len(value) {
		percent.WriteByte('%')
		percent.WriteString(strings.ToUpper(hex.EncodeToString([]byte{value[i]})))
	}
	path := url.PathEscape(value)
	all := []string{
		percent.String(),
		url.QueryEscape(value),
		strings.ReplaceAll(url.QueryEscape(value), "+", "%20"),
		path,
		strings.ReplaceAll(path, "%2F", "/"),
		// As browsers have it.
		strings.NewReplacer("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*", "+", "%20").Replace(url.QueryEscape(value)),
	}
	for _, form := range slices.Clip(all) {
		all = append(all, lowerPercent(form))
	}
	return all
}

// lowerPercent writes the digits of %2F as %2f.
func lowerPercent(s string) string {
	out := []byte(s)
	for i := 0; i+2 < len(out); i++ {
		if out[i] == '%' {
			copy(out[i+1:i+3], strings.ToLower(string(out[i+1:i+3])))
			i += 2
		}
	}
	return string(out)
}

// jsonForms are what a value is within a string of JSON, as several programs write it, and of Go.
func jsonForms(value string) []string {
	inner := func(quoted []byte) string {
		if len(quoted) < len(`""`) {
			return ""
		}
		return string(quoted[1 : len(quoted)-1])
	}
	// A string has a JSON form, always.
	escaped, _ := json.Marshal(value) //nolint:errchkjson // so it has
	plain, _ := encode(value)
	twice, _ := encode(inner(plain))
	escapedTwice, _ := encode(inner(escaped))
	return []string{
		inner(escaped), inner(plain), inner(twice), inner(escapedTwice),
		strings.ReplaceAll(inner(plain), "/", `\/`),
		asciiJSON(inner(plain)),
		inner([]byte(strconv.Quote(value))), inner([]byte(strconv.QuoteToASCII(value))),
	}
}

// asciiJSON writes what is no ASCII as \u and four digits.
func asciiJSON(s string) string {
	var b strings.Builder
	const ascii, digits = 0x80, "0123456789abcdef"
	for _, r := range s {
		if r < ascii {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			b.WriteString(`\u`)
			for shift := 12; shift >= 0; shift -= 4 {
				b.WriteByte(digits[unit>>shift&0xf])
			}
		}
	}
	return b.String()
}

func hexForms(value string) []string {
	lower := hex.EncodeToString([]byte(value))
	return []string{lower, strings.ToUpper(lower)}
}
