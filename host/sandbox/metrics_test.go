package sandbox

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// What servers send in fields of their own is there in percent, and as it came.
func TestMetricsFields(t *testing.T) {
	t.Parallel()
	const sent = `{"cpu_count":4,"cpu_used_pct":12.5,"mem_total_mib":2048,"mem_used_mib":512,"timestamp":1795958569991,"gpu":"idle"}`
	var wire opensandbox.Metrics
	if err := json.Unmarshal([]byte(sent), &wire); err != nil {
		t.Fatal(err)
	}
	m := newMetrics(&wire)
	if m.CPU != 12.5 || m.Memory != 25 || !m.Time.Equal(time.UnixMilli(1795958569991)) || string(m.Wire.Raw) != sent {
		t.Errorf("got %+v", m)
	}
	if m := newMetrics(&opensandbox.Metrics{MemoryUsedMiB: 7}); m.Memory != 0 {
		t.Errorf("without a total: got %+v", m)
	}
}
