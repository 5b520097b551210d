package engine_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"testing"
)

// BenchmarkProxied compares requests through the credential proxy with requests that go past it to the
// same server, from one process in one sandbox and in turns: over connections that stay, over new ones,
// and downloads. Times are in µs, and ratios are the proxied one's share of the direct one's, or of its
// time: 1 is as good.
func BenchmarkProxied(b *testing.B) {
	w := requireWorld(b)
	e := w.engine()
	const proxied, direct = "api.bound.test", "direct.bound.test"
	w.name(proxied, w.ip)
	w.name(direct, w.ip)
	block := make([]byte, 1<<20)
	w.serve("443", func(rw http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("mib")) // none: a small answer
		for range n {
			_, _ = rw.Write(block)
		}
		_, _ = rw.Write([]byte("ok"))
	}, proxied, direct)
	box := w.locked(e, proxied, direct)
	requirePrograms(b, box.testBox, "python3")
	box.bind(canary, proxied, "")
	var out struct{ Kept, Fresh, Down map[string][]float64 }
	for b.Loop() {
		text := box.must(fmt.Sprintf(`python3 - <<'EOF'
import http.client, json, ssl, time
ctx = ssl.create_default_context(); ctx.check_hostname = False; ctx.verify_mode = ssl.CERT_NONE
names = {"proxied": %q, "direct": %q}
def get(c, path):
    t = time.perf_counter(); c.request("GET", path); r = c.getresponse()
    while r.read(1 << 20): pass
    return (time.perf_counter() - t) * 1e6
def fresh(name):
    t = time.perf_counter(); c = http.client.HTTPSConnection(name, context=ctx); get(c, "/"); d = (time.perf_counter() - t) * 1e6; c.close(); return d
kept = {k: http.client.HTTPSConnection(n, context=ctx) for k, n in names.items()}
out = {"Kept": {k: [] for k in names}, "Fresh": {k: [] for k in names}, "Down": {k: [] for k in names}}
for k in names: get(kept[k], "/")
for i in range(300):
    for k in names: out["Kept"][k].append(get(kept[k], "/"))
for i in range(40):
    for k in names: out["Fresh"][k].append(fresh(names[k]))
for i in range(3):
    for k in names: out["Down"][k].append(get(kept[k], "/?mib=32"))
for part in out.values():
    for v in part.values(): v.sort()
print(json.dumps(out))
EOF`, proxied, direct))
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			b.Fatal(err)
		}
	}
	report := func(name string, times map[string][]float64, share int) {
		at := func(kind string) float64 { return times[kind][len(times[kind])*share/100] }
		b.ReportMetric(at("proxied"), "µs-proxied-"+name)
		b.ReportMetric(at("direct"), "µs-direct-"+name)
		b.ReportMetric(at("direct")/at("proxied"), "of-direct-"+name)
	}
	report("p50", out.Kept, 50)
	report("p99", out.Kept, 99)
	report("new-p50", out.Fresh, 50)
	report("new-p99", out.Fresh, 99)
	report("32MiB", out.Down, 50)
	b.ReportMetric(0, "ns/op")
}
