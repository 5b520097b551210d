package lifecycle

import (
	"math"
	"strconv"
	"strings"

	"github.com/alineo-labs/alineo-host/host/internal/engine/cgroup"
	"github.com/alineo-labs/alineo-host/host/internal/engine/layer"
)

// defaultProcesses stops a fork bomb; nothing honest comes near it.
const defaultProcesses = 4096

// parseLimits reads resourceLimits. Values that can't be read are ignored, as
// the original does.
func parseLimits(m map[string]string) cgroup.Limits {
	l := cgroup.Limits{Processes: defaultProcesses}
	if v, ok := parseCPU(m["cpu"]); ok {
		l.CPU = v
	}
	if v, ok := parseBytes(m["memory"]); ok {
		l.Memory = v
	}
	return l
}

// disk is what a sandbox's files may take: what was asked for, but never more than the engine allows.
func (m *Manager) disk(asked int64) layer.Usage {
	u := m.opts.Disk
	if asked > 0 && (u.Bytes == 0 || asked < u.Bytes) {
		u.Bytes = asked
	}
	return u
}

// parseCPU reads "500m", "1" or "0.5" as thousandths of a processor.
func parseCPU(s string) (int64, bool) {
	if digits, ok := strings.CutSuffix(s, "m"); ok {
		n, err := strconv.ParseInt(digits, 10, 64)
		return n, err == nil && n > 0
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f > 0) || f > 1<<20 {
		return 0, false
	}
	return int64(math.Ceil(f * 1000)), true
}

// parseBytes reads "512Mi", "2G", "512m" or "100b".
func parseBytes(s string) (int64, bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	digits := strings.TrimRight(s, "bkmgti")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 {
		return 0, false
	}
	unit := int64(1)
	switch suffix := strings.TrimSuffix(s[len(digits):], "b"); suffix {
	case "":
	case "k", "m", "g", "t", "ki", "mi", "gi", "ti":
		base := int64(1000)
		if strings.HasSuffix(suffix, "i") {
			base = 1024
		}
		for range strings.IndexByte("kmgt", suffix[0]) + 1 {
			unit *= base
		}
	default:
		return 0, false
	}
	if n > math.MaxInt64/unit {
		return 0, false
	}
	return n * unit, true
}
