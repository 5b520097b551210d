//go:build !race

package durabletest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/durable"
	"github.com/alineo-labs/alineo-host/host/internal/capability/sqlite"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// benchLines is how many lines a command prints.
const benchLines = 5000

// BenchmarkLines is what a line costs in a durable run, journal, log and viewer included, beside one of a plain
// command over the wire. The start of the run's sandbox is not measured.
func BenchmarkLines(b *testing.B) {
	command := fmt.Sprintf("seq 1 %d", benchLines)
	b.Run("durable", func(b *testing.B) {
		runs := benchRuns(b, durable.DefaultLease)
		warm(b, runs)
		for n := 0; b.Loop(); n++ {
			id := fmt.Sprint("run-", n)
			if _, err := runs.Start(b.Context(), durable.StartOptions{RunID: id, ThreadID: "thread", Command: command}); err != nil {
				b.Fatal(err)
			}
			if got := view(b, runs, id, nil); got != benchLines {
				b.Fatalf("%d lines", got)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchLines), "ns/line")
	})
	b.Run("plain", func(b *testing.B) {
		runs := benchRuns(b, durable.DefaultLease)
		ensured := warm(b, runs)
		execd := wire().Execd(ensured.Machine.ID())
		for b.Loop() {
			stream, err := execd.Run(b.Context(), opensandbox.RunRequest{Command: command})
			if err != nil {
				b.Fatal(err)
			}
			n := 0
			for {
				frame, err := stream.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					b.Fatal(err)
				}
				if frame.Type == opensandbox.TypeStdout {
					n++
				}
			}
			if err := stream.Close(); err != nil || n != benchLines {
				b.Fatalf("%d lines: %v", n, err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchLines), "ns/line")
	})
}

// BenchmarkTakeOver is how long a run whose host is gone takes from the attempt to take it over to the first line
// that the first host did not see.
func BenchmarkTakeOver(b *testing.B) {
	path := filepath.Join(b.TempDir(), "runs.db")
	ensured := warm(b, benchRunsIn(b, path, durable.DefaultLease))
	var total time.Duration
	for n := 0; b.Loop(); n++ {
		b.StopTimer()
		id := fmt.Sprint("run-", n)
		first, second := benchRunsIn(b, path, durable.DefaultLease), benchRunsIn(b, path, durable.DefaultLease)
		// The journal has some lines already, which are to be compared.
		_, err := first.Start(b.Context(), durable.StartOptions{
			RunID: id, ThreadID: "thread", Command: "seq 1 1000; rm -f /tmp/gate; until [ -e /tmp/gate ]; do sleep 0.01; done; echo missing; sleep 1",
		})
		if err != nil {
			b.Fatal(err)
		}
		enough := errors.New("enough")
		var last uint64
		viewUntil(b, first, id, 0, func(e durable.Event) error {
			if last = e.Offset; string(e.Data) == "1000\n" {
				return enough
			}
			return nil
		})
		if err := first.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
		if _, _, err := ensured.Machine.Exec(b.Context(), "touch /tmp/gate; sleep 0.1"); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		began := time.Now()
		viewUntil(b, second, id, last, func(e durable.Event) error {
			if string(e.Data) == "missing\n" {
				total += time.Since(began)
				return enough
			}
			return nil
		})
		b.StopTimer()
		if err := second.Cancel(b.Context(), id); err != nil && !errors.Is(err, durable.ErrEnded) {
			b.Fatal(err)
		}
		view(b, second, id, nil)
		ensured = warm(b, benchRunsIn(b, path, durable.DefaultLease)) // a cancel ends the sandbox, too
		b.StartTimer()
	}
	b.ReportMetric(float64(total.Milliseconds())/float64(b.N), "ms/takeover")
}

func benchRuns(b *testing.B, lease time.Duration) *durable.Runs {
	b.Helper()
	return benchRunsIn(b, filepath.Join(b.TempDir(), "runs.db"), lease)
}

func benchRunsIn(b *testing.B, path string, lease time.Duration) *durable.Runs {
	b.Helper()
	db, err := sqlite.Open(sqlite.Options{Path: path, Synchronous: "full", BusyTimeout: time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	stores, err := opened(b.Context(), b, "sqlite", db)
	if err != nil {
		b.Fatal(err)
	}
	runs, err := durable.New(durable.Options{Stores: stores, Machines: machines(b), Lease: lease})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := runs.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return runs
}

// warm makes the thread's sandbox.
func warm(b *testing.B, runs *durable.Runs) durable.Ensured {
	b.Helper()
	ensured, err := runs.Ensure(b.Context(), "thread", durable.Spec{})
	if err != nil {
		b.Fatal(err)
	}
	if ensured.How == durable.Created {
		b.Cleanup(func() {
			if err := wire().DeleteSandbox(context.Background(), ensured.Machine.ID()); err != nil {
				b.Error(err)
			}
		})
	}
	return ensured
}

// view reads a run to its end and counts its lines.
func view(b *testing.B, runs *durable.Runs, id string, each func(durable.Event) error) (lines int) {
	b.Helper()
	viewUntil(b, runs, id, 0, func(e durable.Event) error {
		if e.Kind == durable.EventOutput {
			lines++
		}
		if each != nil {
			return each(e)
		}
		return nil
	})
	return lines
}

func viewUntil(b *testing.B, runs *durable.Runs, id string, after uint64, each func(durable.Event) error) {
	b.Helper()
	v, err := runs.Attach(b.Context(), id, durable.AttachOptions{After: after})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = v.Close() }()
	for {
		event, err := v.Next(b.Context())
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			b.Fatal(err)
		}
		if each(event) != nil {
			return
		}
	}
}
