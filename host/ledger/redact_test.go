package ledger_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
)

const canary = "cnry-77f0e3b1c9d24f5a"

// TestNothingKnownIsWritten appends a value through every way into the ledger and looks for it in
// the store's file.
func TestNothingKnownIsWritten(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, ledger.WriterOptions{})
	s := r.open("a")
	r.w.Redactor().Add(credential.NewSecret(canary))
	for _, ev := range []ledger.Event{
		{Step: -1, Name: "sandbox.created", Payload: json.RawMessage(`{"sandboxId":"a","runId":"` + canary + `"}`)},
		{Step: 1, Name: "exec.started", Payload: json.RawMessage(`{"cmd":"echo ` + canary + `","seq":1}`)},
		{Step: 1, Name: "exec.output", Payload: json.RawMessage(`{"seq":1,"type":"stdout","text":"` + base64.StdEncoding.EncodeToString([]byte(canary)) + `"}`)},
		{Step: -1, Name: "agent." + canary, Payload: json.RawMessage(`{"` + canary + `":["` + canary + `"]}`)},
	} {
		if err := s.Append(t.Context(), ev); err != nil {
			t.Fatal(err)
		}
		ticket, err := s.Enqueue(t.Context(), ev)
		if err != nil {
			t.Fatal(err)
		}
		if err := ticket.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	entries := r.entries("a")
	if len(entries) != 8 {
		t.Fatalf("%d entries", len(entries))
	}
	for _, e := range entries {
		if !strings.Contains(string(e.Payload), credential.Redacted) {
			t.Errorf("%s: %s", e.Event, e.Payload)
		}
	}
	if e := entries[7].Event; e != "agent."+credential.Redacted {
		t.Errorf("the event's name is %q", e)
	}
	if _, err := r.w.Open(t.Context(), store.Key{Name: "with " + canary, SandboxID: "b"}); !errors.Is(err, store.ErrInvalid) || strings.Contains(err.Error(), canary) {
		t.Errorf("a name with the value: %v", err)
	}
	files, err := filepath.Glob(r.path + "*")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), canary) || strings.Contains(string(data), base64.RawStdEncoding.EncodeToString([]byte(canary))[:20]) {
			t.Errorf("the value is in %s", file)
		}
	}
	// What is written is a ledger like any.
	r.verifyChain()
}

func TestKeepSecrets(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, ledger.WriterOptions{KeepSecrets: true})
	r.w.Redactor().Add(credential.NewSecret(canary))
	s := r.open("a")
	if err := s.Append(t.Context(), ledger.Event{Step: -1, Name: "x", Payload: json.RawMessage(`"` + canary + `"`)}); err != nil {
		t.Fatal(err)
	}
	if got := string(r.entries("a")[0].Payload); got != `"`+canary+`"` {
		t.Errorf("%s", got)
	}
}
