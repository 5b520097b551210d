package engine_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// computed is the processor time of the process whose command line names s.
func computed(t *testing.T, s string) string {
	t.Helper()
	used, there := computedBy(t, s)
	if !there {
		t.Fatalf("no process %s", s)
	}
	return used
}

// computedBy is computed for a process that may not be there yet.
func computedBy(t *testing.T, s string) (used string, there bool) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		if b, err := os.ReadFile(filepath.Join(d, "cmdline")); err != nil || !strings.HasPrefix(string(b), s) {
			continue
		}
		if b, err := os.ReadFile(filepath.Join(d, "schedstat")); err == nil {
			return strings.Fields(string(b))[0], true
		}
	}
	return "", false
}

func TestDiagnostics(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(map[string]any{
		"entrypoint": []string{"sh", "-c", `for i in $(seq 300); do echo line $i; done; echo "to stderr" >&2; printf 'bad \377'; exec sleep 1000`},
		"env":        map[string]string{"MY_SECRET": "hush"},
		"metadata":   map[string]string{"k": "v"},
	})
	path := "/v1/sandboxes/" + box.ID + "/diagnostics/"
	get := func(what string) (http.Header, string) {
		t.Helper()
		code, h, out := e.do(http.MethodGet, path+what, nil)
		if code != http.StatusOK || h.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Fatalf("%s: %d %v %s", what, code, h, out)
		}
		return h, out
	}
	eventually(t, "its output", func() bool { _, out := get("logs"); return strings.Contains(out, "bad") })
	h, out := get("logs?tail=3")
	if !regexp.MustCompile(`^\S+Z line 300\n\S+Z to stderr\n\S+Z bad \x{FFFD}\n$`).MatchString(out) || h.Get("Deprecation") != "true" {
		t.Errorf("logs: %q %v", out, h)
	}
	if _, out := get("logs"); strings.Count(out, "\n") != 100 {
		t.Errorf("%d lines", strings.Count(out, "\n"))
	}
	if _, out := get("logs?since=1h&tail=10000"); strings.Count(out, "\n") != 302 {
		t.Errorf("of the last hour: %d lines", strings.Count(out, "\n"))
	}
	if _, out := get("events"); !strings.Contains(out, "Status:     running") || !strings.Contains(out, "Created:") || !strings.Contains(out, "Expires:") {
		t.Errorf("events: %s", out)
	}
	h, out = get("inspect")
	for _, want := range []string{"Image:          host", "Running:        true", "CPU:          1.00 cores", "Memory:       512 MiB", "  k=v", "Pause:"} {
		if !strings.Contains(out, want) {
			t.Errorf("inspect has no %q: %s", want, out)
		}
	}
	if strings.Contains(out, "hush") || h.Get("Deprecation") != "" {
		t.Errorf("inspect: %v %s", h, out)
	}
	if _, out := get("summary?tail=1"); !strings.Contains(out, "INSPECT") || !strings.Contains(out, "EVENTS") || !strings.Contains(out, "LOGS (last 1 lines)") || strings.Contains(out, "line 300") {
		t.Errorf("summary: %s", out)
	}
	for _, q := range []string{"logs?scope=container", "events?scope=", "logs?scope=x&tail=0"} {
		e.want(http.MethodGet, path+q, 501, `{"code":"DIAGNOSTICS_NOT_IMPLEMENTED","message":"The stable Diagnostics API is not implemented by this OpenSandbox server."}`)
	}
	for q, name := range map[string]string{"logs?tail=0": "tail", "logs?tail=10001": "tail", "events?limit=501": "limit", "summary?event_limit=x": "event_limit"} {
		e.want(http.MethodGet, path+q, 422, `"loc":["query","`+name+`"]`)
	}
	for _, what := range []string{"logs", "events", "inspect", "summary"} {
		e.want(http.MethodGet, "/sandboxes/nope/diagnostics/"+what, 404, "DOCKER::SANDBOX_NOT_FOUND")
	}
}

// TestExitIsTold ends an entry point, once well and once badly.
func TestExitIsTold(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	for code, want := range map[string]string{"0": "Terminated CONTAINER_EXITED", "3": "Failed CONTAINER_EXITED_ERROR"} {
		box := e.create(map[string]any{"entrypoint": []string{"sh", "-c", "echo last words; exit " + code}})
		eventually(t, "its end", func() bool { return !strings.HasPrefix(box.state(), "Running") })
		if got := box.state(); got != want {
			t.Errorf("exit %s: %s", code, got)
		}
		path := "/sandboxes/" + box.ID
		eventually(t, "its log", func() bool {
			_, _, out := e.do(http.MethodGet, path+"/diagnostics/logs", nil)
			return strings.HasSuffix(out, " last words\n")
		})
		e.want(http.MethodGet, path+"/diagnostics/inspect", 200, "Exit Code:      "+code)
		e.want(http.MethodGet, path+"/diagnostics/events", 200, "Finished:")
		e.want(http.MethodPost, path+"/pause", 409, "DOCKER::SANDBOX_NOT_RUNNING")
		e.want(http.MethodPost, path+"/resume", 409, "DOCKER::SANDBOX_NOT_PAUSED")
		e.want(http.MethodPost, path+"/snapshots", 409, "SNAPSHOT::INVALID_SOURCE_STATE")
		e.want(http.MethodGet, box.execd("/ping"), 502, "GENERAL::UNKNOWN_ERROR")
		box.delete()
	}
}

type metrics struct {
	CPUs      *float64 `json:"cpu_count"`
	CPU       *float64 `json:"cpu_used_pct"`
	Total     *float64 `json:"mem_total_mib"`
	Used      *float64 `json:"mem_used_mib"`
	Timestamp int64    `json:"timestamp"`
}

func (m metrics) check(t *testing.T) {
	t.Helper()
	if m.CPUs == nil || m.CPU == nil || m.Total == nil || m.Used == nil {
		t.Fatalf("a field is missing: %+v", m)
	}
	if *m.CPU < 0 || *m.CPU > 100 || *m.Used <= 0 || *m.Used > *m.Total || time.Since(time.UnixMilli(m.Timestamp)).Abs() > time.Minute {
		t.Errorf("cpu %v, memory %v of %v, at %d", *m.CPU, *m.Used, *m.Total, m.Timestamp)
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(map[string]any{"resourceLimits": map[string]string{"cpu": "500m", "memory": "256Mi"}})
	read := func() (m metrics) {
		t.Helper()
		code, _, out := e.do(http.MethodGet, box.execd("/metrics"), nil)
		if err := json.Unmarshal([]byte(out), &m); code != http.StatusOK || err != nil {
			t.Fatalf("%d %s", code, out)
		}
		m.check(t)
		return m
	}
	idle := read()
	if *idle.CPUs != 0.5 || *idle.Total != 256 {
		t.Errorf("limits: %v processors, %v MiB", *idle.CPUs, *idle.Total)
	}
	// 100 MiB in a variable, and a processor that is busy.
	box.run("x=$(head -c 100M /dev/zero | tr '\\0' x); while :; do :; done", "background", true)
	eventually(t, "the memory and the processor", func() bool {
		m := read()
		return *m.Used > *idle.Used+90 && *m.CPU > 20
	})
}

func TestMetricsWatch(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	resp := e.open(t.Context(), http.MethodGet, box.execd("/metrics/watch"))
	if ct := resp.Header.Get("Content-Type"); ct != "text/event-stream" {
		t.Errorf("Content-Type %q", ct)
	}
	dec := json.NewDecoder(resp.Body)
	last := int64(0)
	for range 2 {
		var m metrics
		if err := dec.Decode(&m); err != nil {
			t.Fatal(err)
		}
		m.check(t)
		if m.Timestamp <= last {
			t.Errorf("timestamp %d after %d", m.Timestamp, last)
		}
		last = m.Timestamp
		if rest, ok := dec.Buffered().(*strings.Reader); ok && rest.Len() > 1 {
			t.Errorf("%d bytes after a message", rest.Len())
		}
	}
	_ = resp.Body.Close()
}

// TestOOMIsTold has a process killed for its memory, where limits are hard.
func TestOOMIsTold(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(map[string]any{"resourceLimits": map[string]string{"memory": "64Mi"}})
	_, _, out := e.do(http.MethodGet, "/sandboxes/"+box.ID+"/diagnostics/inspect", nil)
	if regexp.MustCompile(`Memory: +64 MiB \(soft`).MatchString(out) {
		t.Skip("LEFT OUT: memory limits are soft here, and no process is killed")
	}
	r := box.run("head -c 500M /dev/zero | tail -c 400M | wc -c")
	if strings.TrimSpace(r.Stdout) == strconv.Itoa(400<<20) {
		t.Fatalf("400 MiB in 64: %q", r.Stdout)
	}
	e.want(http.MethodGet, "/sandboxes/"+box.ID+"/diagnostics/inspect", 200, "OOMKilled:      true")
	e.want(http.MethodGet, "/sandboxes/"+box.ID+"/diagnostics/events", 200, "OOMKilled - ")
}
