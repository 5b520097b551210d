package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/alineo-labs/alineo-host/host/store"
)

func logCases() []Case {
	level := []Feature{FeatureLog}
	return []Case{
		{Name: "log/offsets", Rule: "events get the offsets 1, 2, 3 and so on, over all appends, and each log its own", Needs: level, run: logOffsets},
		{Name: "log/verbatim", Rule: "events come back byte for byte, whatever is in them", Needs: level, run: logVerbatim},
		{Name: "log/after", Rule: "reading is strictly behind an offset, and goes on page after page", Needs: level, run: logAfter},
		{Name: "log/snapshot", Rule: "reading never waits: a log without events, or that nobody made, is an empty page of an open log", Needs: level, run: logSnapshot},
		{Name: "log/bytes", Rule: "a page ends with the event that passes its bytes, and has one at least", Needs: level, run: logBytes},
		{Name: "log/epoch", Rule: "an append of a lower epoch than any before is refused and writes nothing", Needs: level, run: logEpoch},
		{Name: "log/shut-out", Rule: "an append without events shuts lower epochs out", Needs: level, run: logShutOut},
		{Name: "log/expected", Rule: "an append that expects another end is refused, and so a retry is recognised", Needs: level, run: logExpected},
		{Name: "log/closed", Rule: "a closed log refuses appends and keeps its events; closing is idempotent, and not fenced", Needs: level, run: logClosed},
		{Name: "log/no-end", Rule: "no event ends a log, whatever its kind", Needs: level, run: logNoEnd},
		{Name: "log/many", Rule: "an append of many events stores all of them, in order", Needs: level, run: logMany},
		{Name: "log/race", Rule: "of appends at once, through several handles, each lies in one piece and no offset is there twice", Needs: level, run: logRace},
		{Name: "log/superseded", Rule: "a driver that was superseded through another handle can't append", Needs: level, run: logSuperseded},
		{Name: "log/truncate", Rule: "truncating removes what is stored; offsets, epoch and end of the log stay", Needs: []Feature{FeatureLog, FeatureLogTruncate}, run: logTruncated},
	}
}

// entries makes events of kind "k".
func logEvents(data ...string) []store.LogEvent {
	events := make([]store.LogEvent, len(data))
	for i := range data {
		events[i] = store.LogEvent{Kind: "k", Data: []byte(data[i])}
	}
	return events
}

// log appends under an epoch and checks the offset that the log ends with.
func (e *env) log(s Stores, run string, epoch, tail uint64, data ...string) {
	e.Helper()
	got, err := s.Log.Append(e.ctx, store.LogAppend{RunID: run, Epoch: epoch, Events: logEvents(data...)})
	e.must("appending to the log of "+run, err)
	if got != tail {
		e.Errorf("appending %d events to the log of %s ends with offset %d, want %d", len(data), run, got, tail)
	}
}

// logRefused checks how an append is refused.
func (e *env) logRefused(s Stores, batch store.LogAppend, want store.LogError) {
	e.Helper()
	_, err := s.Log.Append(e.ctx, batch)
	e.wantErr("an append that must be refused", err, store.ErrConflict)
	got, ok := errors.AsType[*store.LogError](err)
	if !ok {
		e.Errorf("the error of a refused append is %v, which has no *store.LogError", err)
		return
	}
	e.same("how a refused append says that the log stands", got, want)
}

// logged reads a log to its end, page after page.
func (e *env) logged(s Stores, run string, opts store.LogReadOptions) (data string, last store.LogPage) {
	e.Helper()
	var all []string
	for {
		page, err := s.Log.Read(e.ctx, run, opts)
		e.must("reading the log of "+run, err)
		for i := range page.Events {
			ev := &page.Events[i]
			if ev.Offset <= opts.After {
				e.Errorf("an event behind offset %d has the offset %d", opts.After, ev.Offset)
				return strings.Join(all, " "), page
			}
			e.recent("the time of an event", ev.TS)
			opts.After = ev.Offset
			all = append(all, string(ev.Data))
		}
		if !page.More {
			return strings.Join(all, " "), page
		}
		if len(page.Events) == 0 {
			e.Errorf("an empty page says that there is more")
			return strings.Join(all, " "), page
		}
	}
}

func (e *env) wantLog(run, data string, want store.LogPage) {
	e.Helper()
	got, page := e.logged(e.stores, run, store.LogReadOptions{})
	e.equal("events of "+run, got, data)
	page.Events = nil
	e.same("how the log of "+run+" stands", page, want)
}

func logOffsets(e *env) {
	e.log(e.stores, "run-1", 1, 1, "a")
	e.log(e.stores, "run-1", 1, 3, "b", "c")
	e.log(e.stores, "run-2", 7, 1, "x")
	e.log(e.stores, "run-1", 1, 3)
	e.log(e.stores, "run-1", 1, 4, "d")
	page, err := e.stores.Log.Read(e.ctx, "run-1", store.LogReadOptions{})
	e.must("reading", err)
	for i := range page.Events {
		if page.Events[i].Offset != uint64(i)+1 {
			e.Errorf("event %d has the offset %d", i, page.Events[i].Offset)
		}
	}
	e.wantLog("run-1", "a b c d", store.LogPage{Tail: 4, Epoch: 1})
	e.wantLog("run-2", "x", store.LogPage{Tail: 1, Epoch: 7})
}

func logVerbatim(e *env) {
	var all strings.Builder
	for i := range 256 {
		all.WriteByte(byte(i))
	}
	want := []store.LogEvent{
		{Kind: "", Data: []byte{}},
		{Kind: "stdout é", Data: []byte(all.String())},
		{Kind: "json", Data: []byte(` {"a": 1.0, "b":"\u0000"} `)},
		{Kind: "large", Data: []byte(strings.Repeat("0123456789abcdef", 64<<10))},
	}
	_, err := e.stores.Log.Append(e.ctx, store.LogAppend{RunID: "run-1", Epoch: 1, Events: want})
	e.must("appending", err)
	page, err := e.stores.Log.Read(e.ctx, "run-1", store.LogReadOptions{})
	e.must("reading", err)
	if len(page.Events) != len(want) {
		e.Errorf("the log has %d events, want %d", len(page.Events), len(want))
		return
	}
	for i := range want {
		got := &page.Events[i]
		if got.Kind != want[i].Kind || !bytes.Equal(got.Data, want[i].Data) {
			e.Errorf("event %d is %q with %d bytes (%.60q), want %q with %d bytes", i, got.Kind, len(got.Data), got.Data, want[i].Kind, len(want[i].Data))
		}
	}
	for name, batch := range map[string]store.LogAppend{
		"no run": {Epoch: 1}, "a kind with a NUL": {RunID: "run-1", Epoch: 1, Events: []store.LogEvent{{Kind: "\x00"}}}, "too high an epoch": {RunID: "run-1", Epoch: 1 << 63},
	} {
		_, err := e.stores.Log.Append(e.ctx, batch)
		e.wantErr("appending with "+name, err, store.ErrInvalid)
	}
}

func logAfter(e *env) {
	e.log(e.stores, "run-1", 1, 5, "a", "b", "c", "d", "e")
	for _, c := range []struct {
		after uint64
		want  string
	}{{0, "a b c d e"}, {1, "b c d e"}, {4, "e"}, {5, ""}, {9, ""}} {
		for _, limit := range []int{0, 1, 2} {
			got, page := e.logged(e.stores, "run-1", store.LogReadOptions{After: c.after, Limit: limit})
			e.equal(fmt.Sprintf("behind %d by %d", c.after, limit), got, c.want)
			e.equal("tail", page.Tail, uint64(5))
		}
	}
	page, err := e.stores.Log.Read(e.ctx, "run-1", store.LogReadOptions{Limit: 2})
	e.must("reading", err)
	if len(page.Events) != 2 || !page.More {
		e.Errorf("a page of 2 of 5 has %d and says that there are more: %v", len(page.Events), page.More)
	}
	page, err = e.stores.Log.Read(e.ctx, "run-1", store.LogReadOptions{After: 3, Limit: 2})
	e.must("reading", err)
	if len(page.Events) != 2 || page.More {
		e.Errorf("the last page has %d and says that there are more: %v", len(page.Events), page.More)
	}
}

func logSnapshot(e *env) {
	e.wantLog("nobody", "", store.LogPage{})
	e.log(e.stores, "run-1", 3, 0)
	e.wantLog("run-1", "", store.LogPage{Epoch: 3})
	for i := range 3 {
		e.log(e.stores, "run-1", 3, uint64(i)+1, "x")
		e.wantLog("run-1", strings.TrimSpace(strings.Repeat("x ", i+1)), store.LogPage{Epoch: 3, Tail: uint64(i) + 1})
	}
}

func logBytes(e *env) {
	long := strings.Repeat("x", 1000)
	e.log(e.stores, "run-1", 1, 4, long, long, long, "y")
	for _, c := range []struct {
		size int64
		want int
	}{{1, 1}, {900, 1}, {2500, 3}} {
		page, err := e.stores.Log.Read(e.ctx, "run-1", store.LogReadOptions{MaxBytes: c.size})
		e.must("reading", err)
		if len(page.Events) != c.want || !page.More {
			e.Errorf("a page of %d bytes has %d events and says that there are more: %v; want %d and true", c.size, len(page.Events), page.More, c.want)
		}
	}
	got, _ := e.logged(e.stores, "run-1", store.LogReadOptions{MaxBytes: 1500})
	e.equal("events by bytes", len(got), 3*len(long)+4)
}

func logEpoch(e *env) {
	e.log(e.stores, "run-1", 5, 1, "a")
	e.log(e.stores, "run-1", 5, 2, "b")
	e.log(e.stores, "run-1", 7, 3, "c")
	for _, epoch := range []uint64{0, 5, 6} {
		e.logRefused(e.stores, store.LogAppend{RunID: "run-1", Epoch: epoch, Events: logEvents("late")}, store.LogError{Epoch: 7, Tail: 3})
		e.logRefused(e.stores, store.LogAppend{RunID: "run-1", Epoch: epoch}, store.LogError{Epoch: 7, Tail: 3})
	}
	e.log(e.stores, "run-2", 1, 1, "other")
	e.log(e.stores, "run-1", 7, 4, "d")
	e.wantLog("run-1", "a b c d", store.LogPage{Tail: 4, Epoch: 7})
}

func logShutOut(e *env) {
	e.log(e.stores, "run-1", 1, 1, "a")
	e.log(e.stores, "run-1", 2, 1)
	e.logRefused(e.stores, store.LogAppend{RunID: "run-1", Epoch: 1, Events: logEvents("late")}, store.LogError{Epoch: 2, Tail: 1})
	e.log(e.stores, "run-1", 2, 2, "b")
	e.wantLog("run-1", "a b", store.LogPage{Tail: 2, Epoch: 2})
	e.log(e.stores, "run-2", 2, 0)
	e.logRefused(e.stores, store.LogAppend{RunID: "run-2", Epoch: 1, Events: logEvents("late")}, store.LogError{Epoch: 2})
}

func logExpected(e *env) {
	at := func(n uint64, data ...string) store.LogAppend {
		return store.LogAppend{RunID: "run-1", Epoch: 1, After: &n, Events: logEvents(data...)}
	}
	e.logRefused(e.stores, at(1, "x"), store.LogError{})
	e.wantLog("run-1", "", store.LogPage{})
	for i, batch := range []store.LogAppend{at(0, "a", "b"), at(2, "c")} {
		tail, err := e.stores.Log.Append(e.ctx, batch)
		e.must("appending behind what is expected", err)
		e.equal("tail", tail, uint64(2+i))
	}
	e.logRefused(e.stores, at(2, "c"), store.LogError{Epoch: 1, Tail: 3}) // a retry
	e.logRefused(e.stores, at(0, "x"), store.LogError{Epoch: 1, Tail: 3})
	e.logRefused(e.stores, at(9, "x"), store.LogError{Epoch: 1, Tail: 3})
	e.wantLog("run-1", "a b c", store.LogPage{Tail: 3, Epoch: 1})
}

func logClosed(e *env) {
	e.log(e.stores, "run-1", 5, 2, "a", "b")
	for range 2 {
		e.must("closing", e.stores.Log.Close(e.ctx, "run-1"))
		e.wantLog("run-1", "a b", store.LogPage{Tail: 2, Epoch: 5, Closed: true})
	}
	for _, batch := range []store.LogAppend{{Epoch: 5}, {Epoch: 9, Events: logEvents("late")}, {Epoch: 5, After: new(uint64(2)), Events: logEvents("late")}} {
		batch.RunID = "run-1"
		e.logRefused(e.stores, batch, store.LogError{Closed: true, Epoch: 5, Tail: 2})
	}
	e.must("closing a log that nobody made", e.stores.Log.Close(e.ctx, "run-2"))
	e.logRefused(e.stores, store.LogAppend{RunID: "run-2", Epoch: 1, Events: logEvents("late")}, store.LogError{Closed: true})
	e.wantLog("run-2", "", store.LogPage{Closed: true})
	e.log(e.stores, "run-3", 1, 1, "open")
}

func logNoEnd(e *env) {
	for i, kind := range []string{"RUN_FINISHED", "RUN_ERROR", "close", "closed", "end"} {
		tail, err := e.stores.Log.Append(e.ctx, store.LogAppend{RunID: "run-1", Epoch: 1, Events: []store.LogEvent{{Kind: kind, Data: []byte(kind)}}})
		e.must("appending "+kind, err)
		e.equal("tail", tail, uint64(i)+1)
		_, page := e.logged(e.stores, "run-1", store.LogReadOptions{})
		if page.Closed {
			e.Errorf("the log is closed by an event of kind %s", kind)
		}
	}
}

func logMany(e *env) {
	const n = 1500
	data := make([]string, n)
	for i := range data {
		data[i] = strconv.Itoa(i)
	}
	e.log(e.stores, "run-1", 1, n, data...)
	e.log(e.stores, "run-1", 1, 2*n, data...)
	got, page := e.logged(e.stores, "run-1", store.LogReadOptions{})
	all := strings.Join(data, " ")
	if got != all+" "+all || page.Tail != 2*n {
		e.Errorf("a log of %d events has others, or in another order (it ends with %d)", 2*n, page.Tail)
	}
}

func logRace(e *env) {
	handles := e.two()
	const n, each = 8, 5
	ends := make([]uint64, n)
	e.atOnce("appending at once", n, func(i int) error {
		for range each {
			tail, err := handles[i%2].Log.Append(e.ctx, store.LogAppend{RunID: "run-1", Epoch: 1, Events: logEvents(fmt.Sprint(i, "a"), fmt.Sprint(i, "b"), fmt.Sprint(i, "c"))})
			if err != nil {
				return err
			}
			if tail <= ends[i] || tail%3 != 0 {
				return fmt.Errorf("an append ends with offset %d after one that ended with %d", tail, ends[i])
			}
			ends[i] = tail
		}
		return nil
	})
	got, page := e.logged(e.stores, "run-1", store.LogReadOptions{})
	words := strings.Split(got, " ")
	if len(words) != 3*n*each || page.Tail != 3*n*each {
		e.Errorf("the log has %d events and ends with %d, want %d", len(words), page.Tail, 3*n*each)
		return
	}
	for i := 0; i < len(words); i += 3 {
		who := strings.TrimSuffix(words[i], "a")
		if words[i] != who+"a" || words[i+1] != who+"b" || words[i+2] != who+"c" {
			e.Errorf("events %d to %d are %v: an append is torn", i+1, i+3, words[i:i+3])
			return
		}
	}
}

func logSuperseded(e *env) {
	handles := e.two()
	e.log(handles[0], "run-1", 1, 1, "a")
	e.log(handles[1], "run-1", 2, 1) // takes over
	e.logRefused(handles[0], store.LogAppend{RunID: "run-1", Epoch: 1, Events: logEvents("late")}, store.LogError{Epoch: 2, Tail: 1})
	e.log(handles[1], "run-1", 2, 2, "b")
	e.logRefused(handles[0], store.LogAppend{RunID: "run-1", Epoch: 1, After: new(uint64(2)), Events: logEvents("late")}, store.LogError{Epoch: 2, Tail: 2})
	e.wantLog("run-1", "a b", store.LogPage{Tail: 2, Epoch: 2})
}

func logTruncated(e *env) {
	l := e.stores.Log
	e.must("truncating a log that nobody made", l.Truncate(e.ctx, "nobody"))
	e.wantLog("nobody", "", store.LogPage{})
	data := make([]string, 300)
	for i := range data {
		data[i] = "x"
	}
	e.log(e.stores, "run-1", 3, 300, data...)
	e.log(e.stores, "run-2", 1, 1, "other")
	e.must("truncating", l.Truncate(e.ctx, "run-1"))
	e.wantLog("run-1", "", store.LogPage{Tail: 300, Dropped: 300, Epoch: 3})
	e.wantLog("run-2", "other", store.LogPage{Tail: 1, Epoch: 1})
	e.logRefused(e.stores, store.LogAppend{RunID: "run-1", Epoch: 2, Events: logEvents("late")}, store.LogError{Epoch: 3, Tail: 300})
	e.log(e.stores, "run-1", 3, 301, "y")
	e.wantLog("run-1", "y", store.LogPage{Tail: 301, Dropped: 300, Epoch: 3})
	e.must("closing", l.Close(e.ctx, "run-1"))
	e.must("truncating", l.Truncate(e.ctx, "run-1"))
	e.must("truncating again", l.Truncate(e.ctx, "run-1"))
	e.wantLog("run-1", "", store.LogPage{Tail: 301, Dropped: 301, Epoch: 3, Closed: true})
}
