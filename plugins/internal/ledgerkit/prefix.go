package ledgerkit

import (
	"strconv"
	"unicode/utf8"

	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// fewIDs is how many sandboxes with one beginning of their ids are few: no more than a page has.
const fewIDs = DefaultPage

// CountFew makes a query of the sandboxes that a listing is about count no more than it takes to tell whether
// they are few.
func CountFew(query string) string {
	return `SELECT count(*) FROM (` + query + ` LIMIT ` + strconv.Itoa(fewIDs+1) + `) few`
}

// Few says whether few sandboxes have ids that begin with prefix, and returns the text that those are before.
// Few are best found by their ids, and sorted; the pages of many by time, passing over the others. The
// statement is one of CountFew, from prefix on and before that text.
func Few(db Database, sql, prefix string) (few bool, behind string, err error) {
	behind, ok := behindPrefix(prefix)
	if !ok {
		return false, "", nil
	}
	count, err := One(db, sql, alineo.Text(prefix), alineo.Text(behind))
	return count.Int <= fewIDs, behind, err
}

// behindPrefix is the first text behind all that begin with prefix, in the order of bytes, which is that of
// characters. There is none behind the highest character.
func behindPrefix(prefix string) (string, bool) {
	for prefix != "" {
		last, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		if last == 0xD7FF {
			return prefix + "\uE000", true // what lies between is no character
		}
		if last < utf8.MaxRune {
			return prefix + string(last+1), true
		}
	}
	return "", false
}
