package config_test

import (
	"math"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/config"
)

func TestParseSize(t *testing.T) {
	t.Parallel()
	good := map[string]config.Size{
		"0B": 0, "1B": 1, "64MiB": 64 << 20, "1.5GiB": 3 << 29, "1536KiB": 3 << 19, "2TiB": 2 << 40,
		"8388607TiB": 8388607 << 40,
	}
	for text, want := range good {
		got, err := config.ParseSize(text)
		if err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
		if again, err := config.ParseSize(got.String()); err != nil || again != got {
			t.Errorf("%q: writes as %q, which is %d, %v", text, got, again, err)
		}
	}
	bad := map[string]string{
		"":            `"" is not a size (try "64MiB")`,
		"64MB":        `"64MB" is not a size (try "64MiB")`,
		"64 mib":      `"64 mib" is not a size (try "64MiB")`,
		"64m":         `"64m" is not a size (try "64MiB")`,
		"2 gigabytes": `"2 gigabytes" is not a size (try "2GiB")`,
		"67108864":    `"67108864" is not a size (try "64MiB")`,
		"-1MiB":       `"-1MiB" is not a size (try "64MiB")`,
		"0.3B":        `"0.3B" is not a size (try "64MiB")`,
		"8388608TiB":  `"8388608TiB" is not a size (try "64MiB")`,
		"1.2.3MiB":    `"1.2.3MiB" is not a size (try "64MiB")`,
		"lots":        `"lots" is not a size (try "64MiB")`,
	}
	for text, want := range bad {
		if got, err := config.ParseSize(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, %v; want %s", text, got, err, want)
		}
	}
}

func TestParseDuration(t *testing.T) {
	t.Parallel()
	good := map[string]string{
		"0": "0s", "5s": "5s", "90s": "1m30s", "30m": "30m", "1h": "1h", "1h0m5s": "1h0m5s", "250ms": "250ms", "100h": "100h",
	}
	for text, want := range good {
		if got, err := config.ParseDuration(text); err != nil || got.String() != want {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
	bad := map[string]string{
		"":         `"" is not a duration (try "5s")`,
		"5":        `"5" is not a duration (try "5s")`,
		"5 s":      `"5 s" is not a duration (try "5s")`,
		"2 days":   `"2 days" is not a duration (try "48h")`,
		"10 min":   `"10 min" is not a duration (try "10m")`,
		"-5s":      `"-5s" is not a duration (try "5s")`,
		"100 msec": `"100 msec" is not a duration (try "100ms")`,
		"for ever": `"for ever" is not a duration (try "5s")`,
	}
	for text, want := range bad {
		if got, err := config.ParseDuration(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, %v; want %s", text, got, err, want)
		}
	}
	if got := config.Duration(math.MaxInt64).Std(); got != time.Duration(math.MaxInt64) {
		t.Errorf("Std changed the duration to %v", got)
	}
}
