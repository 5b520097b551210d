package ledger

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/alineo-labs/alineo-host/host/store"
)

// FuzzForm writes any entry as an export does and reads it back: nothing is lost but the id, and how the
// JSON of a payload was spelt.
func FuzzForm(f *testing.F) {
	f.Add("run", "s", "exec.output", []byte(`{"b":1.0,"a":"\u0000"}`), "", int64(3), int64(-1), uint8(1))
	f.Add("", "\xff", "a\x00b", []byte(`not json`), "err\xfe", int64(-3), int64(1<<62), uint8(7))
	f.Add("n", "s", "e", []byte{}, "", int64(0), int64(0), uint8(1))
	f.Fuzz(func(t *testing.T, name, id, event string, payload []byte, failure string, ts, step int64, has uint8) {
		e := store.Entry{TS: ts, Name: name, SandboxID: id, StepIndex: step, Event: event}
		if has&1 != 0 {
			e.Payload = append(json.RawMessage{}, payload...)
		}
		if has&2 != 0 {
			e.Error = &failure
		}
		if has&4 != 0 {
			e.Branch = &step
		}
		var c Canonicalizer
		form := c.appendForm(nil, &e)
		if !json.Valid(form) || bytes.ContainsRune(form, '\n') {
			t.Fatalf("%q is no line of JSON", form)
		}
		got, _, err := c.parseForm(form, nil)
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		if e.Payload != nil {
			if canonical, err := c.AppendJSON(nil, e.Payload); err == nil {
				e.Payload = canonical
			}
		}
		if !reflect.DeepEqual(got, e) {
			t.Errorf("got %#v, want %#v", got, e)
		}
	})
}

// FuzzParseForm reads any bytes as an entry of an export: what is accepted is written the same again.
func FuzzParseForm(f *testing.F) {
	f.Add([]byte(`{"event":"e","name":"n","payload":{"a":1},"sandboxId":"s","stepIndex":-1,"ts":1,"v":1}`))
	f.Add([]byte(`{"event":"e","nameBase64":"/w==","payloadText":"}","sandboxId":"s","stepIndex":-1,"ts":1,"v":1}`))
	f.Add([]byte(`{"branch":1,"error":"x","event":"e","name":"n","sandboxId":"s","stepIndex":-1,"ts":1,"v":1}`))
	f.Fuzz(func(t *testing.T, form []byte) {
		var c Canonicalizer
		e, _, err := c.parseForm(form, nil)
		if err != nil {
			return
		}
		if again := c.appendForm(nil, &e); !bytes.Equal(again, form) {
			t.Errorf("got %s, want %s", again, form)
		}
	})
}
