package execd

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestMeterSources reads files as each version of control groups has them.
func TestMeterSources(t *testing.T) {
	t.Parallel()
	put := func(text string) string {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct {
		from Sources
		cpu  time.Duration
		mem  int64
	}{
		"version 1":      {Sources{put("1500000000\n"), put("1000\n"), put("cache 1\ninactive_file 1\ntotal_inactive_file 300\n")}, 1500 * time.Millisecond, 700},
		"version 2":      {Sources{put("usage_usec 2500000\nuser_usec 1\n"), put("1000\n"), put("anon 1\ninactive_file 400\n")}, 2500 * time.Millisecond, 600},
		"more than all":  {Sources{put("0\n"), put("5\n"), put("inactive_file 400\n")}, 0, 0},
		"without caches": {Sources{CPU: put("0\n"), Memory: put("5\n")}, 0, 5},
	} {
		u, err := OpenMeter(c.from, 0, 0).look()
		if err != nil || u.cpu != c.cpu || u.memory != c.mem {
			t.Errorf("%s: %+v %v", name, u, err)
		}
	}
	if _, err := OpenMeter(Sources{CPU: put("x"), Memory: put("1")}, 0, 0).look(); err == nil {
		t.Error("nonsense is taken for a number")
	}
	u, err := OpenMeter(Sources{}, 0, 0).look() // adds processes up
	if err != nil || u.memory <= 0 {
		t.Errorf("this process: %+v %v", u, err)
	}
	m := &Meter{cpus: 0.5, total: 1 << 20}
	at := time.Unix(100, 0)
	if got := m.between(usage{at: at}, usage{at: at.Add(time.Second), cpu: 100 * time.Millisecond}); got.CPUPct != 20 {
		t.Errorf("a tenth of a second in one, of half a processor: %v %%", got.CPUPct)
	}
	if got := m.between(usage{at: at, cpu: time.Second}, usage{at: at}); got.CPUPct != 0 {
		t.Errorf("backwards: %v %%", got.CPUPct)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("1 (a b) c) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 1")
	f.Fuzz(func(_ *testing.T, line string) { parseStat(line) })
}
