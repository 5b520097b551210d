//go:build !wasip1

package ledgerkit

import (
	"strings"
	"testing"
)

func TestBehindPrefix(t *testing.T) {
	t.Parallel()
	texts := []string{"", "\x00", "a", "a\x00", "ab", "abé", "ab~", "ab\U0010FFFF", "ac", "az", "b", "é", "é1", "ê", "\uD7FF", "\uD7FFx", "\uE000", "\U0010FFFF", "\U0010FFFFa"}
	for prefix, want := range map[string]string{
		"a": "b", "ab": "ac", "a\x00": "a\x01", "é": "ê", "\u007F": "\u0080", "\uFFFF": "\U00010000",
		"\uD7FF": "\uE000", "a\U0010FFFF": "b", "\U0010FFFF": "", "\U0010FFFF\U0010FFFF": "",
	} {
		got, ok := behindPrefix(prefix)
		if got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v, want %q", prefix, got, ok, want)
		}
		for _, text := range texts {
			if between := text >= prefix && (!ok || text < got); between != strings.HasPrefix(text, prefix) {
				t.Errorf("%q lies between %q and %q: %v", text, prefix, got, between)
			}
		}
	}
}
