package config_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/config"
)

func TestSecretIsNeverPrinted(t *testing.T) {
	t.Parallel()
	const canary = "canary-7d1f"
	type hidden struct {
		Shown config.Secret
		inner config.Secret // fmt prints unexported fields without asking them
	}
	secret := config.NewSecret(canary)
	values := []any{secret, &secret, hidden{secret, secret}, &hidden{secret, secret}, []config.Secret{secret}}
	var out bytes.Buffer
	for _, verb := range "vsqxXdTtbcoOUeEfFgGpw" {
		for _, flags := range []string{"", "+", "#", " ", "0", "20", "-20.3"} {
			for _, v := range values {
				fmt.Fprintf(&out, "%"+flags+string(verb)+"\n", v)
			}
		}
	}
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(handler).Info("x", "secret", secret, "in", hidden{secret, secret}, "at", &secret)
	}
	for _, v := range values {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(text)
	}
	text, err := xml.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	out.Write(text)
	if strings.Contains(out.String(), canary) || strings.Contains(out.String(), fmt.Sprintf("%x", canary)) {
		t.Error("the secret was printed")
	}
	if got := fmt.Sprintf("%v %d %+v %#v", secret, secret, secret, secret); got != strings.Repeat("[redacted] ", 3)+"[redacted]" {
		t.Errorf("printed as %s", got)
	}
	if secret.Reveal() != canary || !secret.IsSet() {
		t.Error("the secret was lost")
	}
	if none := config.NewSecret(""); none.IsSet() || none.Reveal() != "" {
		t.Error("no secret is set")
	}
}
