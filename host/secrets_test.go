package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/internal/nativeledger"
)

// TestSecretsOfTheFile: what alineo.toml holds is in no log line, and in no ledger unless it is told
// otherwise.
func TestSecretsOfTheFile(t *testing.T) {
	t.Parallel()
	for _, redact := range []bool{true, false} {
		text := fmt.Sprintf("[ledger]\nredact = %v\n[sandbox]\napi_key = \"api-key-3f1d\"\n[secrets]\ntoken = \"token-9a27\"\n", redact)
		cfg, err := config.Parse("alineo.toml", []byte(text), config.WithEnv(func(string) (string, bool) { return "", false }))
		if err != nil {
			t.Fatal(err)
		}
		st, err := nativeledger.Open(filepath.Join(t.TempDir(), "ledger.db"), nativeledger.Options{Synchronous: "off"})
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		h, err := host.Open(t.Context(), cfg, host.WithStore(st), host.WithLogger(hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Trace})))
		if err != nil {
			t.Fatal(err)
		}
		s, err := h.Writer().Open(t.Context(), sandboxKey(0))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Append(t.Context(), ledger.Event{Step: -1, Name: "note", Payload: json.RawMessage(`["api-key-3f1d","token-9a27"]`)}); err != nil {
			t.Fatal(err)
		}
		want := `["[redacted]","[redacted]"]`
		if !redact {
			want = `["api-key-3f1d","token-9a27"]`
		}
		for e, err := range ledger.ReadSandbox(t.Context(), h.Store(), sandboxKey(0)) {
			if err != nil || string(e.Payload) != want {
				t.Errorf("redact = %v: %s, %v", redact, e.Payload, err)
			}
		}
		h.Writer().Redactor().Logger(hclog.New(&hclog.LoggerOptions{Output: &log})).Error("failed", "err", "with token-9a27")
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if strings.Contains(log.String(), "token-9a27") || !strings.Contains(log.String(), "[redacted]") {
			t.Errorf("the log has %s", log.String())
		}
	}
}
