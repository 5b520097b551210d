package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The original's older diagnostics: plain text, for people. What its newer
// specification describes (a scope, JSON) it does not have, nor do we.

func unscoped(q url.Values) error {
	if q.Has("scope") {
		return problem(http.StatusNotImplemented, codeNoDiagnostics, "The stable Diagnostics API is not implemented by this OpenSandbox server.")
	}
	return nil
}

func writeText(w http.ResponseWriter, deprecated bool, text string) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if deprecated {
		w.Header().Set("Deprecation", "true")
	}
	_, _ = io.WriteString(w, text) //nolint:gosec // plain text; and if it can't be written the client has gone
	return nil
}

func (s *Server) diagnoseLogs(w http.ResponseWriter, r *http.Request, id string) error {
	q := r.URL.Query()
	if err := unscoped(q); err != nil {
		return err
	}
	var faults details
	tail := number(q, &faults, "tail", 100, 10_000)
	if faults != nil {
		return faults
	}
	box, err := s.m.sandbox(id)
	if err != nil {
		return err
	}
	text, err := box.logs(r.Context(), tail, since(q.Get("since"), time.Now()))
	if err != nil {
		return err
	}
	return writeText(w, true, text)
}

func (s *Server) diagnoseEvents(w http.ResponseWriter, r *http.Request, id string) error {
	q := r.URL.Query()
	if err := unscoped(q); err != nil {
		return err
	}
	var faults details
	limit := number(q, &faults, "limit", 50, 500)
	if faults != nil {
		return faults
	}
	box, err := s.m.sandbox(id)
	if err != nil {
		return err
	}
	return writeText(w, true, box.eventsAndAttempts(r.Context(), limit))
}

func (s *Server) diagnoseInspect(w http.ResponseWriter, _ *http.Request, id string) error {
	box, err := s.m.sandbox(id)
	if err != nil {
		return err
	}
	return writeText(w, false, box.inspect(s.m))
}

func (s *Server) diagnoseSummary(w http.ResponseWriter, r *http.Request, id string) error {
	q := r.URL.Query()
	var faults details
	tail := number(q, &faults, "tail", 50, 10_000)
	limit := number(q, &faults, "event_limit", 20, 500)
	if faults != nil {
		return faults
	}
	box, err := s.m.sandbox(id)
	if err != nil {
		return err
	}
	logs, err := box.logs(r.Context(), tail, time.Time{})
	if err != nil {
		logs = "[error] Failed to collect log diagnostics: " + err.Error()
	}
	var out strings.Builder
	section := func(title, text string) {
		rule := strings.Repeat("-", 40)
		_, _ = fmt.Fprintf(&out, "\n%s\n%s\n%s\n%s\n", rule, title, rule, text) // a builder takes everything
	}
	rule := strings.Repeat("=", 72)
	_, _ = fmt.Fprintf(&out, "%s\nSANDBOX DIAGNOSTICS SUMMARY\nSandbox ID: %s\n%s\n", rule, id, rule)
	section("INSPECT", box.inspect(s.m))
	section("EVENTS", box.eventsAndAttempts(r.Context(), limit))
	section("LOGS (last "+strconv.Itoa(tail)+" lines)", logs)
	return writeText(w, false, out.String())
}

var sinceForm = regexp.MustCompile(`^(\d{1,9})\s*([smhd])$`)

// since reads "10m" as a time before now; nonsense is ten minutes, as the
// original has it.
func since(v string, now time.Time) time.Time {
	if v == "" {
		return time.Time{}
	}
	ago := 10 * time.Minute
	if m := sinceForm.FindStringSubmatch(strings.ToLower(strings.TrimSpace(v))); m != nil {
		n, _ := strconv.ParseInt(m[1], 10, 64) // at most nine digits
		unit := map[string]int64{"s": 1, "m": 60, "h": 3600, "d": 86400}[m[2]]
		ago = time.Duration(min(n*unit, int64(maxLife/time.Second))) * time.Second
	}
	return now.Add(-ago)
}

// logs is what the entry point wrote, with the time of each line.
func (s *sandbox) logs(ctx context.Context, tail int, from time.Time) (string, error) {
	text, err := s.shim.Logs(ctx, tail, from)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF) {
		return "", problem(http.StatusNotFound, codeSandboxNotFound, "Sandbox %s not found.", s.record().ID) // it ends just now
	}
	if err != nil {
		return "", fmt.Errorf("reading the log of sandbox %s: %w", s.record().ID, err)
	}
	if text == "" {
		return "(no logs)", nil
	}
	return text, nil
}

// events are the times that matter in a sandbox's life.
func (s *sandbox) events() string {
	rec, st := s.record(), s.status()
	s.mu.Lock()
	state := s.state
	s.mu.Unlock()
	var out []string
	add := func(name, format string, args ...any) {
		out = append(out, fmt.Sprintf("%-12s", name+":")+fmt.Sprintf(format, args...))
	}
	at := func(name string, t time.Time) {
		if !t.IsZero() {
			add(name, "%s", t.UTC().Format(time.RFC3339Nano))
		}
	}
	add("Container", "%s (sandbox-%s)", rec.ID[:min(12, len(rec.ID))], rec.ID)
	add("Status", "%s", strings.ToLower(st.State))
	at("Created", rec.CreatedAt)
	at("Started", rec.CreatedAt)
	at("Paused", rec.PausedAt)
	at("Expires", rec.ExpiresAt)
	if state.Exited {
		at("Finished", state.ExitedAt)
	}
	if n := rec.Group.OOMKills(); n > 0 {
		add("Event", "OOMKilled - %d processes were killed because the sandbox had reached its memory limit", n)
	}
	if state.Evicted != "" {
		add("Event", "Evicted - %s", state.Evicted)
	}
	if state.Exited && state.ExitCode != 0 {
		add("Event", "Exited with code %d", state.ExitCode)
	}
	return strings.Join(out, "\n")
}

// inspect is what there is to know of a sandbox. Its environment is nowhere
// but in itself.
func (s *sandbox) inspect(m *Manager) string {
	rec, st := s.record(), s.status()
	s.mu.Lock()
	state := s.state
	s.mu.Unlock()
	var out []string
	add := func(name, format string, args ...any) {
		out = append(out, fmt.Sprintf("%-16s", name+":")+fmt.Sprintf(format, args...))
	}
	add("Container ID", "%s", rec.ID[:min(12, len(rec.ID))])
	add("Name", "sandbox-%s", rec.ID)
	if rec.SnapshotID != "" {
		add("Snapshot", "%s", rec.SnapshotID)
	} else {
		add("Image", "%s", rec.Image)
	}
	add("Status", "%s", strings.ToLower(st.State))
	add("Running", "%t", !state.Exited)
	add("Paused", "%t", !state.Exited && rec.Paused)
	add("OOMKilled", "%t", rec.Group.OOMKills() > 0)
	add("Exit Code", "%d", state.ExitCode)
	add("Started At", "%s", rec.CreatedAt.Format(time.RFC3339Nano))
	if state.Exited {
		add("Finished At", "%s", state.ExitedAt.UTC().Format(time.RFC3339Nano))
	}
	if rec.Root != nil && rec.Root.User != "" {
		ignored := ""
		if !m.manyUsers() {
			ignored = " (ignored: an ordinary user's sandboxes have no user but root)"
		}
		add("User", "%s%s", rec.Root.User, ignored)
	}
	add("Isolation", "%s", rec.Level)
	add("Pause", "%s", pauseKind(rec.Group.CanFreeze()))
	add("Credentials", "%s", credentialsKind(rec.Credentials))
	out = append(out, "", "Resources:")
	limit := func(name, value string, has bool) {
		if !has {
			value += " (soft: this engine may not use that control group)"
		}
		out = append(out, fmt.Sprintf("  %-14s%s", name+":", value))
	}
	if rec.Limits.CPU > 0 {
		limit("CPU", fmt.Sprintf("%.2f cores", float64(rec.Limits.CPU)/1000), m.opts.Groups.Has("cpu"))
	}
	if rec.Limits.Memory > 0 {
		limit("Memory", fmt.Sprintf("%d MiB", rec.Limits.Memory>>20), m.opts.Groups.Has("memory"))
	}
	if rec.Limits.Processes > 0 {
		limit("PIDs Limit", strconv.FormatInt(rec.Limits.Processes, 10), m.opts.Groups.Has("pids"))
	}
	const soft = " (soft: files are measured, at the latest every half minute, and the sandbox ends when they are over it)"
	if rec.Disk.Bytes > 0 {
		out = append(out, fmt.Sprintf("  %-14s%d MiB%s", "Disk:", rec.Disk.Bytes>>20, soft))
	}
	if rec.Disk.Files > 0 {
		out = append(out, fmt.Sprintf("  %-14s%d%s", "Files:", rec.Disk.Files, soft))
	}
	if len(rec.Metadata) > 0 {
		out = append(out, "", "Labels:")
		for _, k := range slices.Sorted(maps.Keys(rec.Metadata)) {
			out = append(out, "  "+k+"="+rec.Metadata[k])
		}
	}
	return strings.Join(out, "\n")
}

func pauseKind(freezer bool) string {
	if freezer {
		return "by the freezer; processes don't notice"
	}
	return "by SIGSTOP, since no freezer may be used here; parents and debuggers can notice"
}

func credentialsKind(proxy bool) string {
	if proxy {
		return "injected by a proxy outside; see the events for what it refused"
	}
	return "none"
}
