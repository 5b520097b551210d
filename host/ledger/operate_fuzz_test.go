package ledger_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
)

// FuzzImport reads any bytes as an export. What is accepted goes into a real ledger, and comes out of it
// with the same entries.
func FuzzImport(f *testing.F) {
	v := newVault(f)
	v.write(store.Key{Name: "run", SandboxID: "a"}, 1, 2)
	v.foreign(
		store.Entry{TS: 5, Name: "run", SandboxID: "c", Event: "x", Payload: json.RawMessage("}")},
		store.Entry{TS: 6, Name: "run", SandboxID: "c", Event: "\xff", Payload: json.RawMessage("\xfe")},
	)
	if err := v.st.SaveEnvironment(f.Context(), store.Environment{Name: "e"}); err != nil {
		f.Fatal(err)
	}
	export, _ := v.export()
	f.Add(export)
	v.sql(`DELETE FROM alineo_events WHERE id = 2`)
	export, _ = v.export()
	f.Add(export)
	f.Add([]byte(`{"format":"alineo.ledger","v":1}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ledger.CheckExport(bytes.NewReader(data))
		if err != nil {
			return
		}
		to := newVault(t)
		in, err := ledger.Import(t.Context(), to.st, bytes.NewReader(data), ledger.ImportOptions{})
		if err != nil {
			return // the ledger need not hold everything that can be written down
		}
		if _, out := to.export(); out.Content != r.Content || in.Written != r.Entries {
			t.Errorf("imported %+v of %+v, and exported %+v", in, r, out)
		}
	})
}

// FuzzReadHeads reads any bytes as a file of heads; what is accepted is written as it is read again.
func FuzzReadHeads(f *testing.F) {
	v := newVault(f)
	v.write(store.Key{Name: "run", SandboxID: "a"}, 1, 2)
	var file bytes.Buffer
	if _, err := v.heads().WriteTo(&file); err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes())
	f.Add([]byte(`{"format":"alineo.heads","v":1,"heads":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		heads, err := ledger.ReadHeads(bytes.NewReader(data))
		if err != nil {
			return
		}
		var first, second bytes.Buffer
		if _, err := heads.WriteTo(&first); err != nil {
			t.Fatal(err)
		}
		again, err := ledger.ReadHeads(bytes.NewReader(first.Bytes()))
		if err != nil {
			t.Fatalf("%v: %s", err, &first)
		}
		if _, err := again.WriteTo(&second); err != nil || first.String() != second.String() {
			t.Errorf("%v: %s\n%s", err, &first, &second)
		}
	})
}
