package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
)

// fill writes a sandbox as a run would, with the plugin that is named: fill PLUGIN NAME ID DAYS BATCH….
// Its last event is so many days old; each batch is that many events in one commit. Unless a batch is
// "running" it is closed at the end.
func fill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 5 {
		ts.Fatalf("usage: fill PLUGIN NAME ID DAYS [from=ID] BATCH…")
	}
	days, err := strconv.Atoi(args[3])
	ts.Check(err)
	cfg, err := host.LoadConfig(ts.MkAbs("alineo.toml"), config.WithLedger(args[0]), config.WithEnv(func(name string) (string, bool) {
		value := ts.Getenv(name)
		return value, value != ""
	}))
	ts.Check(err)
	ctx := context.Background()
	h, err := host.Open(ctx, cfg)
	ts.Check(err)
	defer func() { ts.Check(h.Close(ctx)) }()
	then := time.Now().Add(-time.Duration(days) * 24 * time.Hour)
	w := ledger.NewWriter(h.Store(), ledger.WriterOptions{Now: func() time.Time { return then }})
	s, err := w.Open(ctx, store.Key{Name: args[1], SandboxID: args[2]})
	ts.Check(err)
	created := `{"runId":"` + args[2] + `"}`
	if from, ok := strings.CutPrefix(args[4], "from="); ok {
		created = `{"runId":"` + args[2] + `","resumedFrom":"` + from + `","snapshotId":"taken"}`
		args = append(args[:4:4], args[5:]...)
	}
	ts.Check(s.Append(ctx, ledger.Event{Step: -1, Name: store.EventSandboxCreated, Payload: json.RawMessage(created)}))
	seq, closes := int64(0), true
	for _, batch := range args[4:] {
		if batch == "running" {
			closes = false
			continue
		}
		n, err := strconv.Atoi(batch)
		ts.Check(err)
		var last *ledger.Ticket
		for range n {
			seq++
			payload := fmt.Sprintf(`{"seq":%d,"type":"stdout","text":"line %d, one third is %v\u0000","timestamp":1.50e1}`, seq, seq, 1/3.0)
			last, err = s.Enqueue(ctx, ledger.Event{Step: seq, Name: store.EventExecOutput, Payload: json.RawMessage(payload)})
			ts.Check(err)
		}
		ts.Check(last.Wait(ctx))
	}
	if closes {
		ts.Check(s.Append(ctx, ledger.Event{Step: -1, Name: store.EventSandboxClosed}))
	}
	ts.Check(w.Close(ctx))
}

// tamper changes a SQLite file behind the ledger's back: tamper FILE STATEMENT.
func tamper(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: tamper FILE STATEMENT")
	}
	db, err := sql.Open("sqlite", "file:"+ts.MkAbs(args[0]))
	ts.Check(err)
	result, err := db.Exec(args[1]) //nolint:noctx // a story has no context
	ts.Check(err)
	n, err := result.RowsAffected()
	ts.Check(err)
	if n == 0 {
		ts.Fatalf("it changed no row: %s", args[1])
	}
	ts.Check(db.Close())
}

// cut makes a copy of the beginning of a file: cut FILE BYTES COPY; negative bytes leave so many out.
func cut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: cut FILE BYTES COPY")
	}
	data := ts.ReadFile(args[0])
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	if n < 0 {
		n += len(data)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(data[:n]), 0o600))
}

// replaceText replaces the first of a text in a file: replace FILE OLD NEW COPY.
func replaceText(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: replace FILE OLD NEW COPY")
	}
	data := ts.ReadFile(args[0])
	if !strings.Contains(data, args[1]) {
		ts.Fatalf("%s has no %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[3]), []byte(strings.Replace(data, args[1], args[2], 1)), 0o600))
}

func TestAgesAndSizes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"30d": 30 * 24 * time.Hour, "2w": 14 * 24 * time.Hour, "12h": 12 * time.Hour, "1h30m": 90 * time.Minute,
		"": 0, "d": 0, "-1d": 0, "0d": 0, "30": 0, "1.5d": 0, "99999999999999d": 0, "soon": 0, "0s": 0,
	} {
		if got, err := parseAge(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]int64{
		"2GB": 2e9, "1.5MiB": 3 << 19, "10": 10, "0": 0, "7kB": 7000, "1TiB": 1 << 40, "3 MB": 3e6,
		"": -1, "GB": -1, "-1": -1, "1XB": -1, "NaN": -1, "1e30": -1, "1Bk": -1,
	} {
		if got, err := parseSize(text); (err == nil) != (want >= 0) || err == nil && got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestBarLine(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]ledger.Progress{
		"x  3 sandboxes": {Sandboxes: 3},
		"x  [############............]  50%  5 events, 1 sandbox": {Sandboxes: 1, Entries: 5, Done: 5, Total: 10},
		"x  [########################] 100%  50 events, 0 sandboxes": {
			Entries: 50, Done: 50, Total: 10,
		},
		"x  [######..................]  25%  0 sandboxes": {Done: 25, Total: 100},
	} {
		if got := barLine("x", p); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// TestPipedExportEnds gives up an import whose standard input does not end.
func TestPipedExportEnds(t *testing.T) {
	t.Parallel()
	from, to := io.Pipe()
	t.Cleanup(func() { _ = to.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		file, err := spool(ctx, from)
		if err == nil {
			err = file.Close()
		}
		done <- err
	}()
	if _, err := io.WriteString(to, "half a line"); err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("it is waited for")
	}
}

func TestWriteWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	write := func(text string, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			_, _ = io.WriteString(w, text)
			return err
		}
	}
	if err := writeWhole(file, false, write("half", io.ErrUnexpectedEOF)); err == nil {
		t.Error("a failure is not told")
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := writeWhole(file, false, write("one", nil)); err != nil {
		t.Error(err)
	}
	if err := writeWhole(file, false, write("two", nil)); err == nil || !strings.Contains(err.Error(), "--force") {
		t.Errorf("got %v", err)
	}
	if err := writeWhole(file, true, write("three", nil)); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(file); string(text) != "three" {
		t.Errorf("got %q, %v", text, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}
