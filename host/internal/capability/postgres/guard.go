package postgres

import (
	"fmt"
	"strings"

	"github.com/alineo-labs/alineo-host/abi"
)

// granted are the words that a guest's statement may begin with. What else PostgreSQL knows controls
// the transaction, which is the host's, changes the session, which the next program would inherit,
// or moves data past the program (COPY). What a statement may do to which table is the role's business.
func granted(word string) bool {
	switch word {
	case "select", "insert", "update", "delete", "merge", "with", "values", "table",
		"create", "alter", "drop", "truncate", "comment", "analyze", "lock", "explain":
		return true
	default:
		return false
	}
}

// guard refuses a statement that the grant does not cover.
func guard(sql string) *abi.Error {
	if len(sql) > MaxSQL {
		return newError(abi.CodeInvalid, "the statement is too long")
	}
	if strings.IndexByte(sql, 0) >= 0 {
		return newError(abi.CodeInvalid, "the statement contains a NUL")
	}
	switch word := firstWord(sql); {
	case word == "":
		return newError(abi.CodeInvalid, "the statement is empty, or begins with no word")
	case !granted(word):
		return newError(abi.CodeDenied, fmt.Sprintf("statements that begin with %.40s are not granted", strings.ToUpper(word)))
	}
	return nil
}

// firstWord returns the first word of a statement in small letters, behind blanks, comments and
// parentheses.
func firstWord(sql string) string {
	for sql != "" {
		switch {
		case strings.HasPrefix(sql, "--"):
			_, sql, _ = strings.Cut(sql, "\n")
		case strings.HasPrefix(sql, "/*"):
			sql = afterComment(sql)
		case strings.IndexByte(" \t\r\n\f\v(", sql[0]) >= 0:
			sql = sql[1:]
		default:
			end := 0
			for end < len(sql) && (sql[end]|0x20 >= 'a' && sql[end]|0x20 <= 'z') {
				end++
			}
			return strings.ToLower(sql[:end])
		}
	}
	return ""
}

// afterComment returns what follows a comment, which may hold others.
func afterComment(sql string) string {
	depth := 0
	for len(sql) >= 2 {
		switch sql[:2] {
		case "/*":
			depth++
			sql = sql[2:]
		case "*/":
			depth--
			sql = sql[2:]
			if depth == 0 {
				return sql
			}
		default:
			sql = sql[1:]
		}
	}
	return ""
}
