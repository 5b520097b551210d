//go:build !race

package durable_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/durable"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/internal/pgtest"
)

// hosts is a PostgreSQL database, an engine in a process of its own, and hosts in theirs.
type hosts struct {
	t      testing.TB
	config string
	engine string
}

func newHosts(t testing.TB) *hosts {
	t.Helper()
	_, dsn := pgtest.Server(t).Database(t)
	dir := t.TempDir()
	s := &hosts{t: t, config: filepath.Join(dir, "alineo.toml")}
	write := func(sandbox string) {
		text := fmt.Sprintf("[sandbox]\n%s\n[ledger]\nplugin = \"postgres\"\n[runs]\nlease = \"1s\"\n[engine]\ndata = %q\nallow_reduced = true\n"+
			"[plugins.postgres.config]\nurl = %q\n[plugins.postgres.limits]\ndeadline = \"1m\"\nstart_deadline = \"1m\"\n[log]\nlevel = \"error\"\n",
			sandbox, filepath.Join(dir, "engine"), dsn)
		if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`url = "embedded"`)
	engine := s.child("engine", nil)
	address := engine.line()
	s.engine = "http://" + address
	write(fmt.Sprintf("url = %q", s.engine))
	t.Cleanup(func() {
		wire, err := opensandbox.New(opensandbox.Options{BaseURL: s.engine})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), childTime)
		defer cancel()
		for box, err := range wire.ListSandboxes(ctx, opensandbox.SandboxFilter{}) {
			if err == nil {
				err = wire.DeleteSandbox(ctx, box.ID)
			}
			if err != nil {
				t.Error(err)
			}
		}
		engine.leave()
	})
	return s
}

// process is a child.
type process struct {
	t     testing.TB
	cmd   *exec.Cmd
	out   *bufio.Scanner
	stdin io.Closer
	err   *strings.Builder
	hung  atomic.Bool // its time was over
}

// childTime is after how long a host is thought to hang, and killTime how long it may take to say where.
const (
	childTime = 3 * time.Minute
	killTime  = 10 * time.Second
)

func (s *hosts) child(mode string, env map[string]string) *process {
	s.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childMode+"="+mode, childConfig+"="+s.config)
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	p := &process{t: s.t, cmd: cmd, err: new(strings.Builder)}
	cmd.Stderr = p.err
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	// The engine lives as long as its test: a host whose engine is gone waits for it to come back.
	watchdog := func() bool { return true }
	if mode != "engine" {
		watchdog = p.watch(mode).Stop
	}
	s.t.Cleanup(func() {
		watchdog()
		_ = cmd.Process.Kill() // unless it has ended
		_ = cmd.Wait()         // the same
	})
	p.out = bufio.NewScanner(stdout)
	p.out.Buffer(nil, 4<<20)
	return p
}

// watch ends a child that hangs, and makes it say where.
func (p *process) watch(mode string) *time.Timer {
	return time.AfterFunc(childTime, func() {
		p.hung.Store(true)
		fmt.Fprintf(os.Stderr, "%s: the time of the child %q is over\n", p.t.Name(), mode)
		_ = p.cmd.Process.Signal(unix.SIGQUIT) // unless it has just ended; what it says is in p.err
		time.AfterFunc(killTime, func() { _ = p.cmd.Process.Kill() })
	})
}

// line is the next line, empty when there is none.
func (p *process) line() string {
	if p.out.Scan() {
		return p.out.Text()
	}
	return ""
}

// leave ends a child in good order.
func (p *process) leave() {
	p.t.Helper()
	defer p.watch("leaving").Stop()
	_ = p.stdin.Close() // it may have ended
	for p.out.Scan() {
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("a child ended with %v (it hung: %t): %s", err, p.hung.Load(), p.err)
	}
}

// view is what a viewer has seen of a run, from one host after the other.
type view struct {
	t     testing.TB
	after uint64
	out   strings.Builder
	ends  int
	last  string
}

// read takes what a child says until the run's end, or the child's, and says which it was.
func (v *view) read(p *process, each func()) (ended bool) {
	v.t.Helper()
	for p.out.Scan() {
		text := p.out.Text()
		if text == "eof" {
			return true
		}
		var offset uint64
		var kind, data string
		if _, err := fmt.Sscanf(text, "%d %s %q", &offset, &kind, &data); err != nil {
			v.t.Fatalf("the child says %q: %v", text, err)
		}
		if offset <= v.after {
			v.t.Errorf("event %d after event %d", offset, v.after)
		}
		v.after, v.last = offset, data
		switch kind {
		case durable.EventOutput:
			v.out.WriteString(data)
		case durable.EventEnded:
			v.ends++
		}
		each()
	}
	if p.hung.Load() {
		_ = p.cmd.Wait() // then all of what it said is there
		v.t.Fatalf("a host hung: %s", p.err)
	}
	return false
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

func chaosRounds(few int) (rounds int, all bool) {
	if n, err := strconv.Atoi(os.Getenv("ALINEO_CHAOS_ROUNDS")); err == nil && n > 0 {
		return max(1, n/10), true
	}
	return few, false
}

// TestChaosDrivers kills the hosts that drive a run with SIGKILL at random moments, one after the other, and
// wants the viewer, who goes from one to the next, to have each line once.
func TestChaosDrivers(t *testing.T) {
	t.Parallel()
	rounds, all := chaosRounds(5)
	count, kills := 40, 2 // lines of a run, twenty a second, and its hosts that are killed
	if all {
		count, kills = 600, 5
	}
	s := newHosts(t)
	script := fmt.Sprintf("i=1; while [ $i -le %d ]; do echo line $i; i=$((i+1)); sleep 0.05; done", count)
	for round := range rounds {
		t.Run(strconv.Itoa(round), func(t *testing.T) {
			t.Parallel()
			mine := &hosts{t: t, config: s.config, engine: s.engine}
			mine.round("run-"+strconv.Itoa(round), script, count, kills)
		})
	}
}

// round is one run, whose hosts are killed.
func (s *hosts) round(id, script string, count, kills int) {
	s.t.Helper()
	v := &view{t: s.t}
	mode, killed := "start", 0
	var took time.Duration
	for ended := false; !ended; {
		p := s.child(mode, map[string]string{childRun: id, childScript: script, childAfter: strconv.FormatUint(v.after, 10)})
		began, seen := time.Now(), 0
		var timer *time.Timer
		ended = v.read(p, func() {
			if seen++; seen == 1 {
				took = max(took, time.Since(began))
			}
			if seen == 2 && killed < kills { // the run has begun, or goes on
				timer = time.AfterFunc(rand.N(time.Duration(count)*40*time.Millisecond/time.Duration(kills)), func() { _ = p.cmd.Process.Kill() })
			}
		})
		if timer != nil && timer.Stop() {
			timer = nil
		}
		if ended {
			p.bury(timer != nil)
			break
		}
		if timer == nil {
			s.t.Fatalf("a host ended by itself: %s", p.err)
		}
		killed++
		mode = "attach"
	}
	if want := numbered(count); v.out.String() != want || v.ends != 1 {
		s.t.Fatalf("%d kills: the viewer has %d ends, the last event is %q, and the output %q", killed, v.ends, v.last, v.out.String())
	}
	s.t.Logf("%d kills, the longest wait for a first event was %s", killed, took.Round(time.Millisecond))
}

// bury ends a child that may have been killed in its last moment.
func (p *process) bury(killed bool) {
	p.t.Helper()
	if killed {
		_ = p.cmd.Wait() // it was killed
		return
	}
	p.leave()
}

// TestPausedDriver stops a host for longer than its lease. Another one takes the run over, and when the first
// goes on, it writes nothing.
func TestPausedDriver(t *testing.T) {
	t.Parallel()
	s := newHosts(t)
	const count = 120
	script := fmt.Sprintf("i=1; while [ $i -le %d ]; do echo line $i; i=$((i+1)); sleep 0.05; done", count)
	env := map[string]string{childRun: "run", childScript: script, childAfter: "0"}
	first := s.child("start", env)
	v := &view{t: t}
	enough := errors.New("enough")
	func() {
		defer func() {
			if r := recover(); r != nil && r != enough { //nolint:errorlint // the very one
				panic(r)
			}
		}()
		seen := 0
		v.read(first, func() {
			if seen++; seen == 10 {
				panic(enough)
			}
		})
	}()
	if err := first.cmd.Process.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	second := s.child("attach", map[string]string{childRun: "run", childAfter: strconv.FormatUint(v.after, 10)})
	at, resumed := v.after, false
	if !v.read(second, func() {
		if !resumed && v.after > at+20 { // the second one drives
			resumed = true
			if err := first.cmd.Process.Signal(unix.SIGCONT); err != nil {
				t.Error(err)
			}
		}
	}) {
		t.Fatalf("the second host ended: %s", second.err)
	}
	if !resumed {
		t.Error("the run was over before the first host went on")
	}
	whole := &view{t: t}
	third := s.child("attach", map[string]string{childRun: "run", childAfter: "0"})
	if !whole.read(third, func() {}) {
		t.Fatalf("the third host ended: %s", third.err)
	}
	if err := first.cmd.Process.Signal(unix.SIGCONT); err != nil { // also when it was not told to go on before
		t.Error(err)
	}
	for _, p := range []*process{first, second, third} {
		p.leave()
	}
	for name, v := range map[string]*view{"the viewer": v, "the log": whole} {
		if v.out.String() != numbered(count) || v.ends != 1 {
			t.Errorf("%s has %d ends and %q", name, v.ends, v.out.String())
		}
	}
	runs := openRuns(t, s.config)
	run, err := runs.Get(t.Context(), "run")
	if err != nil || run.Status != store.RunCompleted || run.DriverEpoch == nil || *run.DriverEpoch != 2 {
		t.Errorf("the record is %+v: %v", run, err)
	}
}

// openRuns opens a host of this process, until the test ends.
func openRuns(t *testing.T, config string) *durable.Runs {
	t.Helper()
	cfg, err := host.LoadConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	runs, err := h.Runs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return runs
}
