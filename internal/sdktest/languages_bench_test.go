//go:build !race

package sdktest_test

import (
	"slices"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/config"
)

// BenchmarkLanguages measures the same broker in each language: the size of its module, how long it takes to
// load with and without machine code in the cache, and what a call costs, also in relation to Go's. The
// languages take turns, and of each thing the median is reported.
func BenchmarkLanguages(b *testing.B) {
	const rounds = 5
	brokers := map[string]string{
		"go": "examples/broker-static-go/main.go", "rust": "internal/sdktest/testdata/brokers/rust/lib.rs",
		"c": "internal/sdktest/testdata/brokers/c/main.c", "assemblyscript": "internal/sdktest/testdata/brokers/assemblyscript/plugin.ts",
		"zig": "examples/broker-static-zig/broker.zig",
	}
	files := map[string]string{}
	for _, l := range languages() {
		files[l.name] = l.module(b, brokers[l.name])
	}
	measures := map[string][]host.PluginMeasures{}
	for range rounds {
		for _, l := range languages() {
			m, err := host.BenchPlugin(b.Context(), config.Default(), files[l.name], host.PluginTest{Dir: b.TempDir()}, 200*time.Millisecond)
			if err != nil {
				b.Fatal(err)
			}
			measures[l.name] = append(measures[l.name], m)
		}
	}
	median := func(name string, of func(host.PluginMeasures) float64) float64 {
		var all []float64
		for _, m := range measures[name] {
			all = append(all, of(m))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	for _, l := range languages() {
		b.Run(l.name, func(b *testing.B) {
			for range b.N {
			}
			b.ReportMetric(0, "ns/op")
			report := func(unit string, of func(host.PluginMeasures) float64) {
				value := median(l.name, of)
				b.ReportMetric(value, unit)
				b.ReportMetric(value/median("go", of), "of-go-"+unit)
			}
			report("KiB", func(m host.PluginMeasures) float64 { return float64(m.Bytes) / 1024 })
			report("cold-ms", func(m host.PluginMeasures) float64 { return float64(m.Cold) / 1e6 })
			report("warm-ms", func(m host.PluginMeasures) float64 { return float64(m.Warm) / 1e6 })
			report("call-ns", func(m host.PluginMeasures) float64 { return float64(m.Call.P50) })
			report("memory-KiB", func(m host.PluginMeasures) float64 { return float64(m.Memory) / 1024 })
		})
	}
}
