package serve

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/alineo-labs/alineo-host/host/store"
)

// FuzzPatch: what is accepted is valid, and says the same when it is written down and read again.
func FuzzPatch(f *testing.F) {
	for _, seed := range []string{
		`{"set":{"status":"failed","error":{"message":"m","code":"c"}},"clear":["detachedSince"]}`, `{"set":{"usage":{}}}`,
		`{"now":["finishedAt"]}`, `{"set":null}`, `{"clear":["status"]}`, `{"set":{"usage":1}}`, `null`, `{}{}`, `{"set":{"usage":null}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		patch, err := decodePatch(data)
		if err != nil {
			if answerOf(err) == nil {
				t.Fatalf("an error that is told as ours: %v", err)
			}
			return
		}
		if err := patch.Validate(); err != nil {
			t.Fatalf("accepted %q: %v", data, err)
		}
		again, err := json.Marshal(patch)
		if err != nil {
			t.Fatal(err)
		}
		var second store.RunPatch
		if second, err = decodePatch(again); err != nil {
			t.Fatalf("refused %s: %v", again, err)
		}
		if third, err := json.Marshal(second); err != nil || !bytes.Equal(third, again) {
			t.Fatalf("%s became %s, %v", again, third, err)
		}
	})
}

// FuzzBodies: the other decoders answer everything with a value or with an error that is the client's.
func FuzzBodies(f *testing.F) {
	for _, seed := range []string{
		`{"runId":"r","threadId":"t","command":"true","sandbox":{"networkPolicy":{"egress":[]},"lifetimeMs":5},"reuse":"none"}`,
		`{"key":"k","provider":"p","providerSandboxId":"s","threadId":"t","updatedAt":1}`, `{"runId":null}`, `[]`, `{"maxIdleMs":-1}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		opts, err := decodeStart(data)
		if err == nil && (opts.Spec.MaxIdle < 0 || opts.Spec.Sandbox.Lifetime < 0) {
			t.Fatalf("accepted a negative time: %q", data)
		}
		if err != nil && answerOf(err) == nil {
			t.Fatalf("an error that is told as ours: %v", err)
		}
		record, err := decodeInstance(data, "k")
		if err == nil && (record.Key != "k" || record.ThreadID == "" || record.UpdatedAt < 0) {
			t.Fatalf("accepted %q as %+v", data, record)
		}
		if err != nil && answerOf(err) == nil {
			t.Fatalf("an error that is told as ours: %v", err)
		}
	})
}
