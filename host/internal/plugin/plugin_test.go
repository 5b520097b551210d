package plugin_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
)

// scratch is a directory for all tests, where compiled Go guests are kept.
var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "plugin-test"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(scratch)
		os.Exit(code)
	}))
}

// guest reads a module of testdata, by its path without .wasm.
func guest(tb testing.TB, name string) []byte {
	tb.Helper()
	return read(tb, filepath.Join("testdata", name+".wasm"))
}

func digest(wasm []byte) string {
	sum := sha256.Sum256(wasm)
	return hex.EncodeToString(sum[:])
}

// spec pins a guest under the name "guest".
func spec(tb testing.TB, name string) plugin.Spec {
	tb.Helper()
	wasm := guest(tb, name)
	return plugin.Spec{Name: "guest", Wasm: wasm, SHA256: digest(wasm), HostVersion: "1.0.0"}
}

func newRuntime(tb testing.TB, opts plugin.RuntimeOptions) *plugin.Runtime {
	tb.Helper()
	rt, err := plugin.NewRuntime(tb.Context(), opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := rt.Close(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return rt
}

func load(tb testing.TB, s plugin.Spec) *plugin.Plugin {
	tb.Helper()
	p, err := newRuntime(tb, plugin.RuntimeOptions{}).Load(tb.Context(), s)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// text is a message of any bytes, for operations without a type of their own.
type text []byte

func (t *text) AppendTo(dst []byte) []byte { return append(dst, *t...) }

func (t *text) Unmarshal(src []byte) error {
	*t = src
	return nil
}

func TestEcho(t *testing.T) {
	t.Parallel()
	p := load(t, spec(t, "guest/echo"))
	if m := p.Manifest(); m.Name != "echo" || m.Version != "1.0.0" {
		t.Errorf("manifest %+v", m)
	}
	for _, size := range []int{0, 1, 127, 128, 256, 1 << 15, 1 << 20} {
		body := bytes.Repeat([]byte("x"), size)
		var reply text
		if err := p.Call(t.Context(), abi.OpEcho, (*text)(&body), nil, &reply); err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if !bytes.Equal(reply, body) {
			t.Errorf("%d bytes came back as %d", size, len(reply))
		}
	}
	if err := p.Call(t.Context(), abi.OpEcho, nil, nil, nil); err != nil {
		t.Error(err)
	}
	info := p.Info()
	if info.Calls != 8 || info.Failures != 0 || info.Instances != 1 || info.HighPages != 17 || info.Pages != 17 {
		t.Errorf("info %+v", info)
	}
}

func TestGuestError(t *testing.T) {
	t.Parallel()
	p := load(t, spec(t, "guest/echo"))
	err := p.Call(t.Context(), abi.OpHealth+100, nil, nil, nil)
	var guest *abi.Error
	if !errors.As(err, &guest) || guest.Code != abi.CodeUnsupported {
		t.Fatalf("error %v, want the guest's own", err)
	}
	if want := `plugin "guest": 0x68: unsupported: unknown operatio`; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
	if !plugin.IsKind(err, plugin.KindGuest) || p.Info().Instances != 1 {
		t.Errorf("the instance was not kept: %+v", p.Info())
	}
}

func TestGuestLog(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	logger := hclog.New(&hclog.LoggerOptions{Output: &out, Level: hclog.Info, DisableTime: true})
	rt := newRuntime(t, plugin.RuntimeOptions{Logger: logger})
	if _, err := rt.Load(t.Context(), spec(t, "guest/echo")); err != nil {
		t.Fatal(err)
	}
	if want := "[INFO]  hello from the guest: plugin=guest\n"; out.String() != want {
		t.Errorf("log %q, want %q", out.String(), want)
	}
}

func read(tb testing.TB, path string) []byte {
	tb.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}
