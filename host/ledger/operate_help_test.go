package ledger_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/internal/nativeledger"
)

// vault is a real ledger of which the test also has the file.
type vault struct {
	t    testing.TB
	path string
	st   *nativeledger.Ledger
	db   *sql.DB
}

func newVault(t testing.TB) *vault {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	st, err := nativeledger.Open(path, nativeledger.Options{Synchronous: "off"})
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() {
		_ = db.Close()
		if err := st.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &vault{t: t, path: path, st: st, db: db}
}

func (v *vault) sql(statement string, args ...any) {
	v.t.Helper()
	if _, err := v.db.Exec(statement, args...); err != nil {
		v.t.Fatalf("%s: %v", statement, err)
	}
}

// write appends through a writer in batches of the given sizes.
func (v *vault) write(key store.Key, batches ...int) {
	v.t.Helper()
	ctx := v.t.Context()
	w := ledger.NewWriter(v.st, ledger.WriterOptions{})
	s, err := w.Open(ctx, key)
	if err != nil {
		v.t.Fatal(err)
	}
	n := 0
	for _, size := range batches {
		var last *ledger.Ticket
		for range size {
			ev := ledger.Event{Step: int64(n), Name: store.EventExecOutput, Payload: json.RawMessage(fmt.Sprintf(`{"seq":%d,"text":"line \u00e4 %d of %s"}`, n, n%3, key.SandboxID))}
			if n == 0 {
				ev = ledger.Event{Step: -1, Name: store.EventSandboxCreated, Payload: json.RawMessage(`{"runId":"r", "b":[1.50,{"a":null}]}`)}
			}
			if last, err = s.Enqueue(ctx, ev); err != nil {
				v.t.Fatal(err)
			}
			n++
		}
		if err := last.Wait(ctx); err != nil {
			v.t.Fatal(err)
		}
	}
	if err := w.Close(ctx); err != nil {
		v.t.Fatal(err)
	}
}

func (v *vault) foreign(entries ...store.Entry) {
	v.t.Helper()
	if err := v.st.Insert(v.t.Context(), entries); err != nil {
		v.t.Fatal(err)
	}
}

func (v *vault) entries(key store.Key) []store.Entry {
	v.t.Helper()
	var all []store.Entry
	for e, err := range ledger.ReadSandbox(v.t.Context(), v.st, key) {
		if err != nil {
			v.t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

func (v *vault) export() ([]byte, *ledger.ExportReport) {
	v.t.Helper()
	var out bytes.Buffer
	r, err := ledger.Export(v.t.Context(), v.st, &out, ledger.ExportOptions{})
	if err != nil {
		v.t.Fatal(err)
	}
	return out.Bytes(), r
}

func (v *vault) load(export []byte) *ledger.ImportReport {
	v.t.Helper()
	r, err := ledger.Import(v.t.Context(), v.st, bytes.NewReader(export), ledger.ImportOptions{})
	if err != nil {
		v.t.Fatal(err)
	}
	return r
}

// verify returns the reports by key.
func (v *vault) verify(heads *ledger.Heads) (*ledger.VerifyReport, map[store.Key]*ledger.SandboxReport) {
	v.t.Helper()
	reports := map[store.Key]*ledger.SandboxReport{}
	sum, err := ledger.Verify(v.t.Context(), v.st, ledger.VerifyOptions{Heads: heads, Each: func(r *ledger.SandboxReport) error {
		reports[r.Key] = r
		return nil
	}})
	if err != nil {
		v.t.Fatal(err)
	}
	return sum, reports
}

// whole fails the test when something is damaged.
func (v *vault) whole(heads *ledger.Heads) map[store.Key]*ledger.SandboxReport {
	v.t.Helper()
	_, reports := v.verify(heads)
	for key, r := range reports {
		if r.Damage != nil {
			v.t.Errorf("%s: %s", key, r.Damage.Text)
		}
	}
	return reports
}

func (v *vault) heads() *ledger.Heads {
	v.t.Helper()
	heads := &ledger.Heads{}
	for key, r := range v.whole(nil) {
		if !heads.Add(r) && r.Chained > 0 {
			v.t.Errorf("%s has no head", key)
		}
	}
	return heads
}

// random fills a ledger with sandboxes of batches of random sizes.
func (v *vault) random(rnd *rand.Rand, sandboxes int) []store.Key {
	v.t.Helper()
	var keys []store.Key
	for i := range sandboxes {
		key := store.Key{Name: []string{"run", "job", "a\tname \"quoted\""}[rnd.IntN(3)], SandboxID: fmt.Sprintf("s-%02d", i)}
		batches := make([]int, 1+rnd.IntN(4))
		for b := range batches {
			batches[b] = 1 + rnd.IntN(6)
		}
		v.write(key, batches...)
		keys = append(keys, key)
	}
	return keys
}

func newRand(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}
