package meter_test

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/plugin/meter"
)

var arguments = []uint32{0, 1, 2, 3, 7, 15, 64, 100, 255, 1000, 4095, 1 << 20, 1<<31 - 1, 1 << 31, 1<<32 - 1}

// A metered module computes what the plain one does, whatever the interval.
func TestSameResults(t *testing.T) {
	t.Parallel()
	for name, wasm := range corpus(t) {
		for _, interval := range []int32{1, 7, meter.DefaultInterval} {
			metered, stats, err := meter.Rewrite(wasm, meter.Options{MaxMemoryPages: 16, Interval: interval})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			w := newWorld(t, plainConfig())
			args := arguments
			if name == "control" {
				args = args[:12] // its loops run as often as the argument says
			}
			plain := w.observe(t, wasm, args)
			if got := w.observe(t, metered, args); !slices.Equal(got, plain) {
				t.Errorf("%s, interval %d:\nmetered %s\nplain   %s", name, interval, got, plain)
			}
			if stats.SizeBefore != len(wasm) || stats.SizeAfter != len(metered) {
				t.Errorf("%s: sizes %+v, want %d and %d", name, stats, len(wasm), len(metered))
			}
			if err := w.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestSameResultsOfGoGuest(t *testing.T) {
	t.Parallel()
	wasm := goGuest(t)
	metered, stats, err := meter.Rewrite(wasm, meter.Options{MaxMemoryPages: 1024})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", stats)
	w := newWorld(t, plainConfig())
	ticks := 0
	w.onTick = func(context.Context, int32) { ticks++ }
	args := []uint32{0, 1, 5, 100, 3000, 1 << 16}
	plain := w.observe(t, wasm, args)
	if ticks != 0 {
		t.Errorf("the plain guest ticked %d times", ticks)
	}
	if got := w.observe(t, metered, args); !slices.Equal(got, plain) {
		t.Errorf("metered %s\nplain   %s", got, plain)
	}
	if ticks == 0 {
		t.Error("the metered guest never ticked")
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	guests := corpus(t)
	for _, c := range []struct {
		name string
		want meter.Stats
	}{
		// "count" begins with its loop and is charged there, all others at their entry too.
		{"control", meter.Stats{Loops: 4, Entries: 7}},
		{"memory", meter.Stats{Entries: 9, Bulk: 8, MemoryPages: 1}},
		{"tables", meter.Stats{Entries: 13, Bulk: 5}},
		{"numbers", meter.Stats{Entries: 4, MemoryPages: 1}},
	} {
		_, got, err := meter.Rewrite(guests[c.name], meter.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got.SizeBefore, got.SizeAfter = 0, 0
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

var errStop = errors.New("stopped by the test")

// A panic of tick ends any loop, and its error comes out of the call with a trace of names.
func TestTickStopsLoops(t *testing.T) {
	t.Parallel()
	metered, _, err := meter.Rewrite(goGuest(t), meter.Options{MaxMemoryPages: 1024})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, plainConfig())
	module, err := w.instantiate(metered)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	w.onTick = func(ctx context.Context, _ int32) {
		if ctx.Err() != nil {
			panic(errStop)
		}
	}
	_, err = module.ExportedFunction("spin").Call(ctx, 1<<31-1)
	if !errors.Is(err, errStop) {
		t.Fatalf("spinning guest: %v, want %v", err, errStop)
	}
	for _, name := range []string{"alineo_rt.tick", "main.spin"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("the trace does not name %s:\n%v", name, err)
		}
	}
}

// Fuel is charged for the length of bulk operations and for the size of code.
func TestCharges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, export string
		arg          uint64
		low, high    int64
	}{
		{"memory", "fill", 0xfff, 0xfff / 16, 0xfff/16 + 50},
		{"memory", "grow", 1, 1 << 12, 1<<12 + 50},
		{"control", "count", 10_000, 9_990, 10_010},
		{"control", "nested", 63, 63 * 51, 63*51 + 50},
	} {
		// With an interval of 1 every charge ends in a tick that tells what was charged.
		metered, _, err := meter.Rewrite(corpus(t)[c.name], meter.Options{MaxMemoryPages: 16, Interval: 1})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, plainConfig())
		module, err := w.instantiate(metered)
		if err != nil {
			t.Fatal(err)
		}
		fuel := int64(0)
		w.onTick = func(_ context.Context, left int32) { fuel += 1 - int64(left) }
		if _, err := module.ExportedFunction(c.export).Call(context.Background(), c.arg); err != nil {
			t.Fatal(err)
		}
		if fuel < c.low || fuel > c.high {
			t.Errorf("%s.%s(%d) took %d fuel, want %d to %d", c.name, c.export, c.arg, fuel, c.low, c.high)
		}
	}
}

func TestMemoryAndTableMaxima(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	metered, _, err := meter.Rewrite(corpus(t)["memory"], meter.Options{MaxMemoryPages: 2})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, plainConfig())
	compiled, err := w.CompileModule(ctx, metered)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := compiled.ExportedMemories()["memory"].Max(); !ok || got != 2 {
		t.Errorf("memory grows to %d pages, want 2", got)
	}
	metered, _, err = meter.Rewrite(corpus(t)["tables"], meter.Options{MaxTableEntries: 14})
	if err != nil {
		t.Fatal(err)
	}
	module, err := w.instantiate(metered)
	if err != nil {
		t.Fatal(err)
	}
	// Two tables of 8 and 4 elements leave 2, one each.
	grow := module.ExportedFunction("grow")
	for _, c := range []struct{ by, want int64 }{{2, 800 - 1}, {1, 900 + 8}, {1, 900 - 1}} {
		got, err := grow.Call(ctx, uint64(c.by))
		if err != nil || int64(got[0]) != c.want {
			t.Errorf("grow(%d) = %d, %v, want %d", c.by, int64(got[0]), err, c.want)
		}
	}
	_, _, err = meter.Rewrite(corpus(t)["tables"], meter.Options{MaxTableEntries: 11})
	if err == nil || !strings.Contains(err.Error(), "tables of 12 elements, at most 11 are allowed") {
		t.Errorf("too small a limit: %v", err)
	}
}

func TestGrowRefused(t *testing.T) {
	t.Parallel()
	metered, _, err := meter.Rewrite(corpus(t)["memory"], meter.Options{MaxMemoryPages: 2})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, plainConfig())
	module, err := w.instantiate(metered)
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	w.onTick = func(_ context.Context, fuel int32) {
		if fuel == meter.GrowRefused {
			refused++
		}
	}
	grow := module.ExportedFunction("grow")
	for i, want := range []int64{201, 199} {
		got, err := grow.Call(context.Background(), 1)
		if err != nil || int64(got[0]) != want || refused != i {
			t.Errorf("grow %d: %d, %v with %d refusals, want %d with %d", i, int64(got[0]), err, refused, want, i)
		}
	}
}

func TestMemoryError(t *testing.T) {
	t.Parallel()
	_, _, err := meter.Rewrite(goGuest(t), meter.Options{MaxMemoryPages: 1})
	var memory *meter.MemoryError
	if !errors.As(err, &memory) || memory.Pages < 2 || memory.Allowed != 1 {
		t.Fatalf("error %v, want a MemoryError with 1 page allowed", err)
	}
}

// The .wasm beside each .wat is what wat2wasm makes of it.
func TestBuiltGuests(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("wat2wasm")
	if err != nil {
		t.Skip("NOT CHECKED: wat2wasm is not installed, so the built guests were not compared with their sources")
	}
	for name, want := range corpus(t) {
		out := filepath.Join(t.TempDir(), "out.wasm")
		text, err := exec.Command(tool, "--debug-names", filepath.Join("testdata", name+".wat"), "-o", out).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
			continue
		}
		if got := mustRead(t, out); !slices.Equal(got, want) {
			t.Errorf("%s.wasm is not what wat2wasm makes of %s.wat: run testdata/build.sh", name, name)
		}
	}
}
