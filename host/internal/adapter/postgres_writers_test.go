package adapter_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/internal/pgtest"
	"github.com/alineo-labs/alineo-host/internal/testcache"
)

const (
	processes = 4
	sandboxes = 8 // of each
	rounds    = 30
	// 1 to 7 entries, over and over, and then 1 and 2.
	perSandbox = rounds/7*28 + 3

	sandboxesEnv = "ALINEO_TEST_SANDBOXES"
)

// newWriter is this test as a process that drives so many sandboxes.
func newWriter(tb testing.TB, dsn, name string, sandboxes int) *exec.Cmd {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), os.Args[0], name) //nolint:gosec // this test
	cmd.Env = append(os.Environ(), childEnv+"="+dsn, sandboxesEnv+"="+strconv.Itoa(sandboxes))
	return cmd
}

// writerProcess claims sandboxes, says so, and drives them once its standard input ends. It returns
// the exit code.
func writerProcess(dsn, name string) int {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	err := func() error {
		sandboxes, err := strconv.Atoi(os.Getenv(sandboxesEnv))
		if err != nil {
			return err
		}
		rt, err := plugin.NewRuntime(ctx, plugin.RuntimeOptions{CacheDir: testcache.Plugins()})
		if err != nil {
			return err
		}
		l, err := openPostgres(ctx, rt, dsn, "public")
		if err != nil {
			return err
		}
		drivers := make([]*numbered, sandboxes)
		for i := range drivers {
			if drivers[i], err = claim(ctx, l, name, fmt.Sprint(i)); err != nil {
				return err
			}
		}
		if _, err := os.Stdout.WriteString("ready\n"); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
			return err
		}
		failures := make(chan error, sandboxes)
		for _, n := range drivers {
			go func() {
				var err error
				for round := 0; err == nil && round < rounds; round++ {
					err = n.append(ctx, 1+round%7)
				}
				failures <- err
			}()
		}
		for range sandboxes {
			err = errors.Join(err, <-failures)
		}
		return errors.Join(err, l.Close(ctx), rt.Close(ctx))
	}()
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	return 0
}

// TestPostgresManyProcesses lets processes write to one database while all of it is followed: order
// holds for each sandbox, and who follows misses nothing.
func TestPostgresManyProcesses(t *testing.T) {
	t.Parallel()
	_, dsn := pgtest.Server(t).Database(t)
	l := openLedger(t, newRuntime(t), dsn)
	finished := make(chan error, processes)
	for i := range processes {
		cmd := newWriter(t, dsn, fmt.Sprintf("process-%d", i), sandboxes)
		go func() {
			out, err := cmd.CombinedOutput()
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			finished <- err
		}()
	}
	const total = processes * sandboxes * perSandbox
	seen := make(map[int64]bool)
	next := make(map[string]int64)
	var cursor []byte
	running := processes
	for running > 0 || len(seen) < total {
		select {
		case err := <-finished:
			if running--; err != nil {
				t.Fatal(err)
			}
		default:
		}
		done := running == 0
		page, err := l.ReadAll(t.Context(), store.ReadOptions{Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for i := range page.Entries {
			e := &page.Entries[i]
			key := e.Name + "/" + e.SandboxID
			if seen[e.ID] || e.StepIndex != next[key] {
				t.Fatalf("%s: entry %d follows %d", key, e.StepIndex, next[key]-1)
			}
			seen[e.ID] = true
			next[key]++
		}
		cursor = page.Cursor
		if done && len(page.Entries) == 0 {
			break
		}
	}
	if len(seen) != total || len(next) != processes*sandboxes {
		t.Errorf("%d entries of %d sandboxes were followed, want %d of %d", len(seen), len(next), total, processes*sandboxes)
	}
}

// BenchmarkPostgresProcesses lets one process, and then four, drive the same number of sandboxes on
// one server, in turns. of-one is the time of one process divided by that of four; it fails when four
// are no faster, or, where chance has it because it was looked at once or twice, take twice as long.
func BenchmarkPostgresProcesses(b *testing.B) {
	server := pgtest.Server(b)
	drive := func(processes int) time.Duration {
		name, dsn := server.Database(b)
		each := sandboxes * 4 / processes
		cmds := make([]*exec.Cmd, processes)
		inputs := make([]io.Closer, processes)
		for i := range cmds {
			cmds[i] = newWriter(b, dsn, fmt.Sprintf("process-%d", i), each)
			input, err := cmds[i].StdinPipe()
			if err != nil {
				b.Fatal(err)
			}
			cmds[i].Stderr = os.Stderr
			output, err := cmds[i].StdoutPipe()
			if err != nil {
				b.Fatal(err)
			}
			if err := cmds[i].Start(); err != nil {
				b.Fatal(err)
			}
			if _, err := bufio.NewReader(output).ReadString('\n'); err != nil {
				b.Fatal(err)
			}
			inputs[i] = input
		}
		began := time.Now()
		for _, input := range inputs {
			if err := input.Close(); err != nil {
				b.Fatal(err)
			}
		}
		for _, cmd := range cmds {
			if err := cmd.Wait(); err != nil {
				b.Fatal(err)
			}
		}
		spent := time.Since(began)
		var ordered bool
		var total int
		err := server.Conn(b, name).QueryRow(b.Context(), `SELECT count(*), bool_and(step_idx = place - 1) FROM (
			SELECT step_idx, row_number() OVER (PARTITION BY name, sandbox_id ORDER BY ts, id) AS place FROM alineo_events) e`).Scan(&total, &ordered)
		if err != nil || !ordered || total != perSandbox*each*processes {
			b.Fatalf("%d entries, in order: %t, %v", total, ordered, err)
		}
		return spent
	}
	var ratios, rates []float64
	for b.Loop() {
		one, four := drive(1), drive(processes)
		ratios = append(ratios, one.Seconds()/four.Seconds())
		rates = append(rates, float64(perSandbox*sandboxes*processes)/four.Seconds())
	}
	ratio := median(ratios)
	b.ReportMetric(ratio, "of-one")
	b.ReportMetric(median(rates), "events/s")
	if ratio < 0.5 || ratio < 1 && len(ratios) > 2 {
		b.Errorf("four processes are %.2f times as fast as one", ratio)
	}
}
