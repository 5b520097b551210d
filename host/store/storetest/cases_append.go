package storetest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/alineo-labs/alineo-host/host/store"
)

func appendCases() []Case {
	return []Case{
		{"append/round-trip", "every field of an entry comes back as it was appended, absent ones absent", nil, appendRoundTrip},
		{"append/null", "no payload (SQL NULL) and the payload null are two things", nil, appendNull},
		{"append/unicode", "text of every plane, escapes and lone combining marks come back", nil, appendUnicode},
		{"append/nul", "an escaped NUL in a payload comes back", nil, appendNUL},
		{"append/big", "a payload of 1 MiB comes back whole", nil, appendBig},
		{"append/verbatim", "payloads come back byte for byte: key order, blanks and numbers", []Feature{FeatureVerbatim}, appendVerbatim},
		{"append/numbers", "integers of 64 bits in a payload keep every digit", nil, appendNumbers},
		{"append/names", "any event name that isn't the host's own is kept", nil, appendNames},
		{"append/empty", "a batch with nothing in it is accepted and writes nothing", nil, appendEmpty},
		{"append/many", "a batch of 1,500 entries keeps their order", nil, appendMany},
		{"append/several-sandboxes", "one batch carries segments of several sandboxes, each read on its own", nil, appendSeveral},
		{"append/atomic", "when one segment is refused nothing of the batch is written", nil, appendAtomic},
		{"append/ids", "ids grow in the order of a sandbox's entries and are not given twice", nil, appendIDs},
	}
}

func appendRoundTrip(e *env) {
	branch, failure := int64(2), "it \"broke\"\n"
	d := e.drive("run", "id-1")
	want := []store.Entry{
		event(1000, "sandbox.created", `{"sandboxId":"id-1","runId":"r"}`),
		step(1001, 1, "exec.started", `{"cmd":"true","seq":1}`),
		{TS: 1002, StepIndex: 7, Branch: &branch, Event: "step.failed", Payload: json.RawMessage(`[1,true,"x"]`), Error: &failure},
	}
	d.append(want...)
	got := e.read(e.Ledger, d.key)
	if len(got) != len(want) {
		e.Errorf("%d entries came back, want %d", len(got), len(want))
		e.FailNow()
	}
	for i := range want {
		if !sameEntry(got[i], want[i]) {
			e.Errorf("entry %d:\n got %+v\nwant %+v", i, got[i], want[i])
		}
		if got[i].ID == 0 {
			e.Errorf("entry %d came back without an id", i)
		}
	}
}

func appendNull(e *env) {
	d := e.drive("run", "id-1")
	d.append(event(1, "sandbox.paused", ""), event(2, "mine", `null`))
	got := e.read(e.Ledger, d.key)
	e.equal("entries", len(got), 2)
	if got[0].Payload != nil {
		e.Errorf("SQL NULL came back as %q", got[0].Payload)
	}
	if string(got[1].Payload) != "null" {
		e.Errorf("the payload null came back as %q (nil: %v)", got[1].Payload, got[1].Payload == nil)
	}
}

// payloads appends each payload and checks what comes back.
func payloads(e *env, same func(a, b json.RawMessage) bool, list ...string) {
	d := e.drive("run", "id-1")
	for i, p := range list {
		d.append(event(int64(i+1), "exec.output", p))
	}
	got := e.read(e.Ledger, d.key)
	e.equal("entries", len(got), len(list))
	for i := range min(len(got), len(list)) {
		if !same(got[i].Payload, json.RawMessage(list[i])) {
			e.Errorf("payload %d:\n got %.200q\nwant %.200q", i, got[i].Payload, list[i])
		}
	}
}

func appendUnicode(e *env) {
	payloads(e, samePayload,
		`{"text":"héllo ✓ 漢字 👩‍👩‍👧 \u2028\u00e9"}`, `{"text":"\ud83d\ude00 and 😀"}`, `{"text":"a\\u0000 is six letters"}`,
		`{"text":"'; DROP TABLE alineo_events; --"}`, `{"ключ":"значение","":"empty key"}`, `"\u0301"`)
	d := e.drive("имя 名前", "id-ü")
	d.append(event(1, "sandbox.created", `{}`))
	e.equal("entries under a name that isn't ASCII", len(e.read(e.Ledger, d.key)), 1)
}

func appendNUL(e *env) {
	payloads(e, samePayload, `{"text":"a\u0000b"}`, `{"text":"\u0000"}`, `{"\u0000":1}`)
}

func appendBig(e *env) {
	payloads(e, samePayload, `{"seq":1,"type":"stdout","text":"`+strings.Repeat("0123456789abcdef", 1<<16)+`"}`, `{"after":1}`)
}

func appendVerbatim(e *env) {
	payloads(e, func(a, b json.RawMessage) bool { return string(a) == string(b) },
		`{"z":1,"a":2,"m":{"b":1,"a":2}}`, `{ "a" :  [ 1 , 2 ] }`, `{"n":1.50,"e":1e3,"m":-0}`, `{"text":"\u0041\/"}`)
}

func appendNumbers(e *env) {
	payloads(e, samePayload, `{"ns":1795964634657123457,"min":-9223372036854775808,"max":9223372036854775807}`)
}

func appendNames(e *env) {
	d := e.drive("run", "id-1")
	names := []string{"workflow.started", "x", "with space", "ünïcode", strings.Repeat("long.", 40)}
	for i, name := range names {
		d.append(event(int64(i), name, `{}`))
	}
	e.equal("events", events(e.read(e.Ledger, d.key)), strings.Join(names, " "))
}

func appendEmpty(e *env) {
	e.must("appending nothing", e.Append(e.ctx, &store.Batch{}))
	page, err := e.Read(e.ctx, store.Key{Name: "run", SandboxID: "id-1"}, store.ReadOptions{})
	e.must("reading", err)
	e.equal("entries", len(page.Entries), 0)
}

func appendMany(e *env) {
	d := e.drive("run", "id-1")
	entries := make([]store.Entry, 1500)
	for i := range entries {
		entries[i] = step(int64(10+i/7), int64(i), "exec.output", fmt.Sprintf(`{"n":%d}`, i))
	}
	d.append(entries...)
	got := e.read(e.Ledger, d.key)
	e.equal("entries", len(got), len(entries))
	for i := range got {
		if got[i].StepIndex != int64(i) {
			e.Errorf("entry %d of the ledger is number %d of the batch", i, got[i].StepIndex)
			return
		}
	}
}

func appendSeveral(e *env) {
	a, b, c := e.drive("run", "id-1"), e.drive("run", "id-2"), e.drive("other", "id-1")
	batch := &store.Batch{Segments: []store.Segment{
		a.segment(event(1, "a1", `{}`), event(2, "a2", `{}`)),
		b.segment(event(1, "b1", `{}`)),
		c.segment(event(1, "c1", `{}`)),
	}}
	e.must("appending three segments", e.Append(e.ctx, batch))
	for i, d := range []*driver{a, b, c} {
		d.applied(batch.Segments[i])
		d.append(event(9, "last", `{}`))
	}
	e.equal("events of a", events(e.read(e.Ledger, a.key)), "a1 a2 last")
	e.equal("events of b", events(e.read(e.Ledger, b.key)), "b1 last")
	e.equal("events of c", events(e.read(e.Ledger, c.key)), "c1 last")
}

func appendAtomic(e *env) {
	for _, bad := range [...]int{0, 1, 2} {
		name := fmt.Sprintf("run-%d", bad)
		drivers := []*driver{e.drive(name, "id-1"), e.drive(name, "id-2"), e.drive(name, "id-3")}
		batch := &store.Batch{}
		for _, d := range drivers {
			batch.Segments = append(batch.Segments, d.segment(event(1, "first", `{}`), event(2, "second", `{}`)))
		}
		good := batch.Segments[bad]
		batch.Segments[bad].Previous = []byte("this is not the hash of its head")
		err := e.Append(e.ctx, batch)
		e.wantErr(fmt.Sprintf("appending with segment %d refused", bad), err, store.ErrConflict)
		for _, d := range drivers {
			e.equal("entries of "+d.key.String()+" after the refusal", len(e.read(e.Ledger, d.key)), 0)
		}
		batch.Segments[bad] = good
		e.must("appending what is right", e.Append(e.ctx, batch))
		for _, d := range drivers {
			e.equal("events of "+d.key.String(), events(e.read(e.Ledger, d.key)), "first second")
		}
	}
}

func appendIDs(e *env) {
	a, b := e.drive("run", "id-1"), e.drive("run", "id-2")
	for i := range int64(5) {
		a.append(event(i, "a", `{}`), event(i, "a", `{}`))
		b.append(event(i, "b", `{}`))
	}
	seen := map[int64]bool{}
	for _, d := range []*driver{a, b} {
		last := int64(0)
		for _, entry := range e.read(e.Ledger, d.key) {
			if entry.ID <= last || seen[entry.ID] {
				e.Errorf("id %d follows %d (given before: %v)", entry.ID, last, seen[entry.ID])
			}
			last, seen[entry.ID] = entry.ID, true
		}
	}
}
