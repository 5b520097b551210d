package drivers

import (
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzMessages: whatever a socket tells is an error or something that can be sent on.
func FuzzMessages(f *testing.F) {
	for _, text := range []string{
		`{"addRules":[{"action":"allow","target":"a"}]}`, `{"removeRules":["a"]}`,
		`{"credential":{"name":"n","set":true,"value":"v","binding":{"host":"a","injection":{"type":"bearer"}},"source":{"type":"env","varName":"X"}}}`,
		`{"credential":{"name":"n","try":"https://a"}}`, `{"failed":true,"error":"no","is":["gone","of tomorrow"]}`, `{"status":{"mode":"enforcing"}}`, `{}`, `null`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var r request
		if json.Unmarshal(text, &r) == nil {
			change := r.change()
			sent := requestOf(change)
			if again := sent.change(); !reflect.DeepEqual(again, change) {
				t.Errorf("%+v came of %+v", again, change)
			}
		}
		var a answer
		if json.Unmarshal(text, &a) == nil && (a.failure() != nil) != a.Failed {
			t.Errorf("%+v: %v", a, a.failure())
		}
	})
}
