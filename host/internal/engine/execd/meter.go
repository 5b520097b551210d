package execd

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Sources are files that the kernel keeps a control group's use in; package
// cgroup says how they look. An empty path is none.
type Sources struct{ CPU, Memory, Cache string }

// Meter measures what a sandbox uses: what its control group says, where
// there is one to read, else what its processes add up to. It is safe for
// concurrent use.
type Meter struct {
	cpu, memory, cache *os.File
	cpus               float64 // that the sandbox may use
	total              int64   // bytes that it may use
}

// OpenMeter opens the sources, which can't be named any more once the process
// has entered its sandbox. cpu (thousandths of a processor) and memory (bytes)
// are the sandbox's limits; 0 is no limit.
func OpenMeter(from Sources, cpu, memory int64) *Meter {
	open := func(path string) *os.File {
		f, err := os.Open(path)
		if err != nil {
			return nil // processes are added up then
		}
		return f
	}
	m := &Meter{cpu: open(from.CPU), memory: open(from.Memory), cache: open(from.Cache), cpus: float64(runtime.NumCPU()), total: machineMemory()}
	if limit := float64(cpu) / 1000; limit > 0 && limit < m.cpus {
		m.cpus = limit
	}
	if memory > 0 && (memory < m.total || m.total == 0) {
		m.total = memory
	}
	return m
}

// usage is one look at a sandbox.
type usage struct {
	at     time.Time
	cpu    time.Duration // computed since it began
	memory int64         // bytes
}

func (m *Meter) look() (u usage, err error) {
	if m.cpu == nil || m.memory == nil {
		if u, err = addUp(); err != nil {
			return u, err
		}
	}
	u.at = time.Now()
	if m.cpu != nil {
		if u.cpu, err = readCPU(m.cpu); err != nil {
			return u, err
		}
	}
	if m.memory != nil {
		u.memory, err = readMemory(m.memory, m.cache)
	}
	return u, err
}

// readFrom reads a kernel file from its beginning.
func readFrom(f *os.File) (string, error) {
	buf := make([]byte, 16<<10)
	n, err := f.ReadAt(buf, 0)
	if n == 0 && err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

func readCPU(f *os.File) (time.Duration, error) {
	text, err := readFrom(f)
	if err != nil {
		return 0, err
	}
	if v, ok := field(text, "usage_usec"); ok {
		return time.Duration(v) * time.Microsecond, nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return time.Duration(n), err
}

// readMemory is what the group has, less the files that the kernel would drop
// before it ran out.
func readMemory(f, cache *os.File) (int64, error) {
	text, err := readFrom(f)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || cache == nil {
		return n, err
	}
	if text, err = readFrom(cache); err != nil {
		return n, err
	}
	idle, ok := field(text, "total_inactive_file")
	if !ok {
		idle, _ = field(text, "inactive_file")
	}
	return max(0, n-idle), nil
}

// field finds "name N" in a text of such lines.
func field(text, name string) (int64, bool) {
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(line, name+" "); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
