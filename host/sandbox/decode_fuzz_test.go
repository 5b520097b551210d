package sandbox

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/alineo-labs/alineo-host/host/store"
)

// However a terminal's output is cut into frames, the text is the same.
func FuzzWholeRunes(f *testing.F) {
	f.Add([]byte("héllo 你好 😀"), 3)
	f.Add([]byte("\xff\xc3\xa9\xe4\xbd"), 1)
	f.Add([]byte("\xf0\x9f\x98"), 2)
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		if size < 1 {
			return
		}
		var whole wholeRunes
		var got strings.Builder
		for rest := data; len(rest) > 0; {
			n := min(size, len(rest))
			text := whole.add(rest[:n])
			if rest = rest[n:]; !utf8.ValidString(text) {
				t.Fatalf("%q is not UTF-8", text)
			}
			got.WriteString(text)
		}
		got.WriteString(whole.rest())
		// A run of bytes that are no characters may be told as one or as several.
		single := func(s string) string {
			for strings.Contains(s, "\ufffd\ufffd") {
				s = strings.ReplaceAll(s, "\ufffd\ufffd", "\ufffd")
			}
			return s
		}
		if want := single(strings.ToValidUTF8(string(data), "\ufffd")); single(got.String()) != want {
			t.Fatalf("got %q, want %q", got.String(), want)
		}
	})
}

// A sandbox says what it likes about its sockets.
func FuzzListening(f *testing.F) {
	f.Add("   0: 0100007F:1F90 00000000:0000 0A 0", 8080)
	f.Add("0 : 0 0A", 0)
	f.Fuzz(func(t *testing.T, lines string, port int) {
		if listening(lines, port) && (port < 0 || port > 65535) {
			t.Fatalf("%q: something listens on %d", lines, port)
		}
	})
}

// Network rules in a ledger may have been written by anyone; none may turn up that is not there.
func FuzzEgressFold(f *testing.F) {
	f.Add([]byte(`{"rules":[{"action":"allow","target":"a.com"}]}`), []byte(`{"targets":["A.com"]}`))
	f.Add([]byte(`7`), []byte(`null`))
	f.Fuzz(func(t *testing.T, added, removed []byte) {
		var all controls
		if all.take(&store.Entry{Event: store.EventEgressRuleAdded, Payload: json.RawMessage(added)}) != nil {
			return
		}
		if all.take(&store.Entry{Event: store.EventEgressRuleRemoved, Payload: json.RawMessage(removed)}) != nil {
			return
		}
		for _, rule := range all.egress.rules {
			if _, gone := all.egress.removed[sameTarget(rule.Target)]; gone {
				t.Fatalf("%q is removed, and there", rule.Target)
			}
		}
	})
}
