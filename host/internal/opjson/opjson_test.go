package opjson_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/opjson"
)

// abiFile reads a file of the ABI.
func abiFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "abi", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestOperations holds the operations and their messages against the table of the manual.
func TestOperations(t *testing.T) {
	t.Parallel()
	row := regexp.MustCompile("(?m)^\\| `0x0*([0-9a-f]+)` \\| `([a-z_.]+)` \\| ([A-Za-z ]+) \\| ([A-Za-z ]+) \\|$")
	var want, got []string
	for _, cells := range row.FindAllStringSubmatch(abiFile(t, "ABI.md"), -1) {
		if len(cells[1]) < 4 { // those from 0x1000 on are the host's
			want = append(want, cells[2]+" "+cells[3]+" "+strings.Replace(cells[4], "the same bytes", "any bytes", 1))
		}
	}
	for _, op := range opjson.Operations() {
		request, reply := op.MessageNames()
		got = append(got, op.Name()+" "+request+" "+reply)
		if found, ok := opjson.Find(op.Name()); !ok || found.Op != op.Op {
			t.Errorf("%s is not found", op.Name())
		}
	}
	if len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestMembers holds the members of all requests and replies against the fields of the schema.
func TestMembers(t *testing.T) {
	t.Parallel()
	fields := map[string][]string{} // by message
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "abi", "alineo", "v1", "*.proto"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	message := regexp.MustCompile(`(?s)\nmessage (\w+) \{\n(.*?)\n\}`)
	field := regexp.MustCompile(`(?m)^  (?:optional |repeated )?[\w<>, .]+ (\w+) = \d+;`)
	for _, file := range files {
		for _, m := range message.FindAllStringSubmatch(abiFile(t, "alineo/v1/"+filepath.Base(file)), -1) {
			for _, f := range field.FindAllStringSubmatch(m[2], -1) {
				words := strings.Split(f[1], "_")
				for i := range words[1:] {
					words[i+1] = strings.ToUpper(words[i+1][:1]) + words[i+1][1:]
				}
				fields[m[1]] = append(fields[m[1]], strings.Join(words, ""))
			}
		}
	}
	checked := 0
	for _, op := range opjson.Operations() {
		name, _ := op.MessageNames()
		if name == "Empty" || name == "any bytes" {
			continue
		}
		var got []string
		for _, f := range op.Fields() {
			top, _, _ := strings.Cut(f.Name, ".")
			if top = strings.TrimSuffix(top, "[]"); !slices.Contains(got, top) {
				got = append(got, top)
			}
		}
		want := slices.Clone(fields[name])
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, want)
		}
		checked++
	}
	if checked < 30 {
		t.Errorf("%d messages were checked", checked)
	}
}

// vectors are golden messages by the name of their type.
func vectors(t *testing.T) map[string][][]byte {
	t.Helper()
	var list []struct{ Message, Hex string }
	if err := json.Unmarshal([]byte(abiFile(t, "testdata/vectors/messages.json")), &list); err != nil {
		t.Fatal(err)
	}
	all := map[string][][]byte{}
	for _, v := range list {
		wire, err := hex.DecodeString(v.Hex)
		if err != nil {
			t.Fatal(err)
		}
		all[v.Message] = append(all[v.Message], wire)
	}
	return all
}

// TestVectors writes each golden request as JSON and reads that again: it is the same message. Those with
// handles are left to the other tests.
func TestVectors(t *testing.T) {
	t.Parallel()
	golden := vectors(t)
	checked := map[string]bool{}
	for _, op := range opjson.Operations() {
		name, _ := op.MessageNames()
		if op.Op == abi.OpLedgerAppend || op.Op == abi.OpLogAppend || name == "Empty" || strings.HasPrefix(op.Name(), "broker.") && op.Op != abi.OpBrokerResolve {
			continue
		}
		for _, wire := range golden[name] {
			first, err := op.Request(nil, new(capability.Call), nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := first.Unmarshal(wire); err != nil {
				t.Fatal(err)
			}
			text, err := op.Sent(first, new(capability.Call))
			if err != nil || !json.Valid(text) {
				t.Errorf("%s: %v: %s", name, err, text)
				continue
			}
			again, err := op.Request(text, new(capability.Call), nil)
			if err != nil {
				t.Errorf("%s: %v: %s", name, err, text)
				continue
			}
			if got := again.AppendTo(nil); !bytes.Equal(got, wire) {
				t.Errorf("%s: %s is %x, not %x", name, text, got, wire)
			}
			checked[name] = true
		}
	}
	if len(checked) < 25 {
		t.Errorf("only %d messages were checked: %v", len(checked), checked)
	}
}

// TestReplies writes each golden reply.
func TestReplies(t *testing.T) {
	t.Parallel()
	golden := vectors(t)
	for _, op := range opjson.Operations() {
		_, name := op.MessageNames()
		for _, wire := range golden[name] {
			reply := op.NewReply()
			if reply == nil {
				continue
			}
			if err := reply.Unmarshal(wire); err != nil {
				t.Fatal(err)
			}
			if text, err := op.Reply(reply, new(capability.Call)); err == nil && !json.Valid(text) {
				t.Errorf("%s: %s", op.Name(), text)
			}
		}
	}
}

func find(t *testing.T, name string) opjson.Operation {
	t.Helper()
	op, ok := opjson.Find(name)
	if !ok {
		t.Fatal(name)
	}
	return op
}

// TestPage writes pages of rows, from a table and from behind a handle.
func TestPage(t *testing.T) {
	t.Parallel()
	op := find(t, "instances.get")
	page := capability.NewPage(int(abi.InstanceColumns))
	for _, v := range []abi.Value{abi.Text("k\n<\xff>"), abi.Text("p"), abi.JSON([]byte(`{"a":1}`)), abi.Null, abi.Blob([]byte{1, 2}), abi.Real(1.5), abi.Int(-7)} {
		page.AppendValue(v)
	}
	const want = `{"rows":[{"key":"k\n<\ufffd>","provider":"p","sandboxId":{"json":{"a":1}},"snapshot":null,"thread":{"blob":"0102"},"run":1.5,"updated":-7}],` +
		`"cursor":"","more":false,"now":0}`
	var call capability.Call
	for name, reply := range map[string]abi.RowsReply{"a table": {Table: page.AppendTable(nil)}, "a handle": {Rows: call.Put(page)}} {
		text, err := op.Reply(&reply, &call)
		if err != nil || string(text) != want {
			t.Errorf("%s: %v\n got %s\nwant %s", name, err, text, want)
		}
	}
	for name, reply := range map[string]abi.RowsReply{
		"it does not hold": {Rows: 9}, "can't be read": {Table: []byte{1}}, "columns, not 7": {Table: capability.NewPage(2).AppendTable(nil)},
	} {
		if name == "columns, not 7" {
			two := capability.NewPage(2)
			two.AppendNull()
			two.AppendNull()
			reply.Table = two.AppendTable(nil)
		}
		if _, err := op.Reply(&reply, &call); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if text, err := op.Reply(&abi.RowsReply{}, &call); err != nil || !strings.HasPrefix(string(text), `{"rows":[],`) {
		t.Errorf("no rows: %s, %v", text, err)
	}
}

// TestAppend reads a batch, and fills in what it does not say.
func TestAppend(t *testing.T) {
	t.Parallel()
	var call capability.Call
	op := find(t, "ledger.append")
	message, err := op.Request([]byte(`{"segments": [{"name": "a", "sandboxId": "1", "epoch": 3, "previous": "0a"}, {"name": "b", "sandboxId": "2", "epoch": 1, "id": "00"}],
		"entries": [{"event": "x", "ts": 5, "payload": {"k": "v"}}, {"event": "yy", "ts": 9, "payload": {"json": 1}, "branch": 2},
		{"segment": 1, "event": "z", "name": "other", "error": "bad"}]}`), &call, nil)
	if err != nil {
		t.Fatal(err)
	}
	req, ok := message.(*abi.LedgerAppendRequest)
	if !ok || req.EntryCount != 3 || req.SegmentCount != 2 || req.Size != uint64(len("x"+"yy"+"z"+`{"k":"v"}`+"1")) {
		t.Errorf("%+v", message)
	}
	entries, _ := call.Get(req.Entries)
	segments, _ := call.Get(req.Segments)
	for _, cell := range []struct {
		rows        capability.Rows
		row, column uint32
		want        abi.Value
	}{
		{entries, 0, abi.EntryPayload, abi.JSON([]byte(`{"k":"v"}`))},
		{entries, 1, abi.EntryPayload, abi.JSON([]byte("1"))},
		{entries, 1, abi.EntryBranch, abi.Int(2)},
		{entries, 1, abi.EntrySandboxID, abi.Text("1")},
		{entries, 2, abi.EntryName, abi.Text("other")},
		{entries, 2, abi.EntryPayload, abi.Null},
		{segments, 0, abi.SegmentCount, abi.Int(2)},
		{segments, 0, abi.SegmentAfter, abi.Int(1)},
		{segments, 0, abi.SegmentMaxTS, abi.Int(9)},
		{segments, 0, abi.SegmentPrevious, abi.Blob([]byte{10})},
		{segments, 1, abi.SegmentID, abi.Blob([]byte{0})},
		{segments, 1, abi.SegmentAfter, abi.Int(0)},
	} {
		if got := cell.rows.Value(int(cell.row), int(cell.column)); !reflect.DeepEqual(got, cell.want) {
			t.Errorf("row %d, column %d: %v %q, not %v", cell.row, cell.column, got, got.Bytes, cell.want)
		}
	}
	if leaves := segments.Value(0, int(abi.SegmentLeaves)); len(leaves.Bytes) != 64 {
		t.Errorf("%d bytes of leaves", len(leaves.Bytes))
	}
	message, err = find(t, "log.append").Request([]byte(`{"runId": "r", "epoch": 1, "events": [{"kind": "k", "data": {"text": "ab"}}, {"kind": "l", "data": "00"}]}`), &call, nil)
	log, ok := message.(*abi.LogAppendRequest)
	if err != nil || !ok || log.Count != 2 || log.Size != 3 {
		t.Errorf("%+v, %v", message, err)
	}
}

type somewhere struct{ capability.Endpoint }

// TestHandles lends secrets and endpoints, and shows neither.
func TestHandles(t *testing.T) {
	t.Parallel()
	var call capability.Call
	asked := "nothing"
	lend := func(base string) (capability.Endpoint, error) {
		if asked = base; base == "bad" {
			return nil, errors.New("it leads nowhere")
		}
		return somewhere{}, nil
	}
	op := find(t, "broker.set")
	message, err := op.Request([]byte(`{"sandboxId": "s", "name": "n", "value": "hunter2", "egress": "http://x", "binding": {"hosts": ["h"], "ports": [443]}}`), &call, lend)
	req, ok := message.(*abi.BrokerSetRequest)
	if err != nil || !ok || asked != "http://x" || req.Egress == 0 || req.Binding.Ports[0] != 443 {
		t.Fatalf("%+v, %v", message, err)
	}
	if secret, ok := call.Secret(req.Value); !ok || secret.Reveal() != "hunter2" {
		t.Error("the secret is not the one that was given")
	}
	text, err := op.Sent(req, &call)
	if err != nil || bytes.Contains(text, []byte("hunter2")) || !bytes.Contains(text, []byte("a secret of 7 bytes")) {
		t.Errorf("%s, %v", text, err)
	}
	if _, err := op.Request([]byte(`{}`), &call, lend); err != nil || asked != "" {
		t.Errorf("without an endpoint %q is asked for, %v", asked, err)
	}
	if _, err := op.Request([]byte(`{"egress": "bad"}`), &call, lend); err == nil || !strings.Contains(err.Error(), "egress: it leads nowhere") {
		t.Error(err)
	}
	resolved := find(t, "broker.resolve")
	text, err = resolved.Reply(&abi.BrokerResolveReply{Value: req.Value}, &call)
	if err != nil || !bytes.Contains(text, []byte("not shown")) {
		t.Errorf("%s, %v", text, err)
	}
	if _, err := resolved.Reply(&abi.BrokerResolveReply{Value: 99}, &call); err == nil {
		t.Error("a secret that is none is shown")
	}
}

// TestRefused: what is wrong with a request is said with the member's name.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"ledger.open", `[]`, "not a JSON object"},
		{"ledger.open", `{`, "not JSON"},
		{"ledger.open", `{} {}`, "something follows"},
		{"ledger.open", `{"key": 1}`, "key: it is not an object"},
		{"ledger.open", `{"key": {"nam": "x"}}`, "key.nam: there is no such member (there are: name, sandboxId)"},
		{"ledger.open", `{"key": {"name": 1}}`, "key.name: it is not a text"},
		{"ledger.read", `{"limit": -1}`, "limit: it is not a whole number that is not negative"},
		{"ledger.read", `{"limit": 1.5}`, "limit: it is not a whole number"},
		{"ledger.read", `{"cursor": "xyz"}`, "cursor: it is not hex"},
		{"ledger.read", `{"cursor": 1}`, "cursor: it is neither hex nor"},
		{"instances.list", `{"updatedBefore": "x"}`, "updatedBefore: it is not a whole number"},
		{"runs.patch", `{"cancelRequested": 1}`, "cancelRequested: it is not true or false"},
		{"runs.patch", `{"clear": "x"}`, "clear: it is not a list"},
		{"runs.patch", `{"clear": [1]}`, "clear[0]: it is not a text"},
		{"ledger.append", `{"entries": 1}`, "arrays of objects"},
		{"ledger.append", `{"entries": [{"segment": 1}], "segments": [{}]}`, "row 0 is of segment 1, and there are 1"},
		{"ledger.append", `{"entries": [{"evnt": 1}], "segments": [{}]}`, "entries: row 0, evnt: there is no such column"},
		{"ledger.append", `{"entries": [], "segments": [{"previous": "q"}]}`, "segments: row 0, previous: it is not hex"},
		{"log.append", `{"events": [1]}`, "events: row 0 is not an object"},
		{"log.append", `{"events": [{"data": {"bytes": 1}}]}`, `events: row 0, data: it is none of {"text"`},
		{"broker.patch", `{"value": 1, "egress": 1}`, "egress: it is not a text"},
		{"ledger.stats", `{"x": 1}`, "has no members, and x is there"},
	} {
		_, err := find(t, c[0]).Request([]byte(c[1]), new(capability.Call), nil)
		if err == nil || !strings.Contains(err.Error(), c[2]) || !strings.Contains(err.Error(), c[0]) {
			t.Errorf("%s of %s: %v, want %q", c[1], c[0], err, c[2])
		}
	}
}

// FuzzRequest reads anything; what it takes can be written, and means the same again.
func FuzzRequest(f *testing.F) {
	f.Add(uint16(abi.OpLedgerAppend), []byte(`{"entries": [{"payload": {"json": {}}}], "segments": [{}]}`))
	f.Add(uint16(abi.OpRunsPatch), []byte(`{"usage": {"json": {"a": 1}}, "clear": ["x"], "epoch": 1}`))
	f.Add(uint16(abi.OpBrokerSet), []byte(`{"value": "x", "binding": {"substitutions": [{"in": ["path"]}]}}`))
	f.Fuzz(func(t *testing.T, number uint16, text []byte) {
		var call capability.Call
		lend := func(string) (capability.Endpoint, error) { return somewhere{}, nil }
		for _, op := range opjson.Operations() {
			if op.Op != abi.Op(number) {
				continue
			}
			message, err := op.Request(text, &call, lend)
			if err != nil {
				return
			}
			if sent, err := op.Sent(message, &call); err != nil || !json.Valid(sent) {
				t.Errorf("%s, %v", sent, err)
			}
		}
	})
}

// FuzzReply writes whatever a guest may answer.
func FuzzReply(f *testing.F) {
	f.Add(uint16(abi.OpLedgerRead), (&abi.RowsReply{Table: capability.NewPage(9).AppendTable(nil)}).AppendTo(nil))
	f.Add(uint16(abi.OpDescribe), (&abi.Manifest{Name: "x", State: 7}).AppendTo(nil))
	f.Fuzz(func(t *testing.T, number uint16, wire []byte) {
		for _, op := range opjson.Operations() {
			reply := op.NewReply()
			if op.Op != abi.Op(number) || reply == nil || reply.Unmarshal(wire) != nil {
				continue
			}
			if text, err := op.Reply(reply, new(capability.Call)); err == nil && !json.Valid(text) {
				t.Errorf("%s", text)
			}
		}
	})
}
