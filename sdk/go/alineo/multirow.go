package alineo

import "strings"

// MultiRow turns the single-row form of an INSERT into the form for that many rows:
//
//	INSERT INTO t(a, b) VALUES (?, ?)           -> INSERT INTO t(a, b) VALUES (?, ?), (?, ?)
//	INSERT INTO t(a) VALUES (?) ON CONFLICT …   -> INSERT INTO t(a) VALUES (?), (?) ON CONFLICT …
//
// It returns false for what can't be repeated so: no VALUES with one row, fewer than two rows,
// parameters other than plain ?, or parameters outside of the row.
func MultiRow(sql string, rows int) (string, bool) {
	first, last, ok := valuesRow(sql)
	if !ok || rows < 2 {
		return "", false
	}
	row := sql[first:last]
	var b strings.Builder
	b.Grow(len(sql) + (rows-1)*(len(row)+2))
	b.WriteString(sql[:last])
	for range rows - 1 {
		b.WriteString(", ")
		b.WriteString(row)
	}
	b.WriteString(sql[last:])
	return b.String(), true
}

// valuesRow finds the parenthesised row behind VALUES: sql[first:last].
func valuesRow(sql string) (first, last int, ok bool) {
	depth, afterValues := 0, false
	for i := 0; i < len(sql); {
		next, kind := token(sql, i)
		text := sql[i:next]
		i = next
		switch kind {
		case tokenOther:
			if last > 0 && text == "," && depth == 0 && strings.TrimSpace(sql[last:next-1]) == "" {
				return 0, 0, false // it has several rows already
			}
			switch text {
			case "(":
				if depth == 0 && afterValues && last == 0 {
					first = next - 1
				}
				depth++
			case ")":
				depth--
				if depth == 0 && first > 0 && last == 0 {
					last = next
				}
			}
		case tokenWord:
			afterValues = afterValues || depth == 0 && strings.EqualFold(text, "values")
		case tokenParameter:
			if text != "?" || first == 0 || last != 0 {
				return 0, 0, false
			}
		case tokenSkip:
		}
	}
	return first, last, last > 0 && depth == 0
}

type tokenKind int

const (
	tokenOther     tokenKind = iota // one byte of punctuation
	tokenWord                       // a keyword, name or number
	tokenParameter                  // ?, ?1, :name, @name or $name
	tokenSkip                       // blanks, comments and everything in quotes
)

// token returns where the token at sql[i:] ends and what it is. Quotes and comments without an end
// reach to the end of sql.
func token(sql string, i int) (end int, kind tokenKind) {
	rest := sql[i:]
	switch c := rest[0]; {
	case strings.HasPrefix(rest, "--"):
		return until(sql, i+2, "\n"), tokenSkip
	case strings.HasPrefix(rest, "/*"):
		return until(sql, i+2, "*/"), tokenSkip
	case c == '\'' || c == '"' || c == '`':
		return until(sql, i+1, rest[:1]), tokenSkip // a doubled quote is two strings, which is as good
	case c == '[':
		return until(sql, i+1, "]"), tokenSkip
	case strings.HasPrefix(rest, "::"):
		return i + 2, tokenSkip // a cast
	case c == '?' || c == ':' || c == '@' || c == '$':
		return wordEnd(sql, i+1), tokenParameter
	case isWord(c):
		return wordEnd(sql, i), tokenWord
	case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		return i + 1, tokenSkip
	default:
		return i + 1, tokenOther
	}
}

func until(sql string, from int, mark string) int {
	if n := strings.Index(sql[from:], mark); n >= 0 {
		return from + n + len(mark)
	}
	return len(sql)
}

func wordEnd(sql string, i int) int {
	for i < len(sql) && isWord(sql[i]) {
		i++
	}
	return i
}

func isWord(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
