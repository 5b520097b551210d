package config

import (
	"fmt"
	"strings"
)

// didYouMean names the candidate that is likely meant by a misspelt word, as the end of a message;
// empty when none is near.
func didYouMean(word string, candidates []string) string {
	best, most := "", max(1, len(word)/3)
	for _, candidate := range candidates {
		if d := distance(strings.ToLower(word), candidate); d <= most {
			best, most = candidate, d-1
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// distance is the number of edits between two words: letters added, dropped, replaced, or two
// neighbours swapped.
func distance(a, b string) int {
	const far = 100
	if len(a) > far || len(b) > far {
		return far
	}
	before, last, now := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		now[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			now[j] = min(last[j]+1, now[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
		before, last, now = last, now, before
	}
	return last[len(b)]
}

// orList joins words for a sentence: "a", "b" or "c".
func orList(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = fmt.Sprintf("%q", word)
	}
	if len(quoted) < 2 {
		return strings.Join(quoted, "")
	}
	return strings.Join(quoted[:len(quoted)-1], ", ") + " or " + quoted[len(quoted)-1]
}
