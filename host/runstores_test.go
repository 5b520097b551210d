package host_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/store"
)

// How often a child claims, and under which lock it counts.
const (
	childClaims = 6
	countLock   = "count"
)

// claims claims a run and prints the epochs. Between, it adds to a number that it reads and writes under a
// lock: nothing is lost of it if the lock excludes.
func claims(ctx context.Context, h *host.Host) error {
	s, err := h.RunStores(ctx)
	if err != nil {
		return err
	}
	for range childClaims {
		claim, err := s.Runs.Claim(ctx, "run-1")
		if err != nil {
			return err
		}
		fmt.Println("epoch", claim.Epoch)
		lock := store.LockResult{}
		for !lock.Acquired {
			if lock, err = s.Locks.TryAcquire(ctx, countLock, strconv.Itoa(os.Getpid()), time.Minute); err != nil {
				return err
			}
		}
		record, _, err := s.Instances.Get(ctx, countLock)
		if err != nil {
			return err
		}
		record.Key, record.Provider, record.ProviderSandboxID, record.ThreadID = countLock, "p", "s", "t"
		record.UpdatedAt++
		if err := s.Instances.Put(ctx, record); err != nil {
			return err
		}
		if ok, err := s.Locks.Release(ctx, countLock, lock.Token); err != nil || !ok {
			return fmt.Errorf("releasing says %v: %w", ok, err)
		}
	}
	return nil
}

// Four hosts claim one run at once, each many times: no epoch is given twice, and what they do under a lock
// they do one after another.
func TestProcessesClaim(t *testing.T) {
	t.Parallel()
	const hosts = 4
	site := newSite(t)
	h := site.open(t)
	s, err := h.RunStores(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Runs.CreateOrGet(t.Context(), store.NewRun{ID: "run-1", ThreadID: "t"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Instances.Put(t.Context(), store.Instance{Key: countLock, Provider: "p", ProviderSandboxID: "s", ThreadID: "t", UpdatedAt: 1}); err != nil {
		t.Fatal(err)
	}
	commands := make([]*exec.Cmd, hosts)
	outs, errs := make([]bytes.Buffer, hosts), make([]bytes.Buffer, hosts)
	for i := range commands {
		commands[i] = site.command(t, "claims")
		commands[i].Stdout, commands[i].Stderr = &outs[i], &errs[i]
		if err := commands[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for i, cmd := range commands {
		if err := cmd.Wait(); err != nil {
			t.Errorf("host %d: %v: %s", i, err, &errs[i])
		}
		for line := range strings.Lines(outs[i].String()) {
			if seen[line] {
				t.Errorf("%s was given twice", strings.TrimSpace(line))
			}
			seen[line] = true
		}
	}
	run, _, err := s.Runs.Get(t.Context(), "run-1")
	if err != nil || len(seen) != hosts*childClaims || run.DriverEpoch == nil || *run.DriverEpoch != hosts*childClaims {
		t.Errorf("%d epochs were given, and the run is %+v, %v", len(seen), run, err)
	}
	if count, _, err := s.Instances.Get(t.Context(), countLock); err != nil || count.UpdatedAt != 1+hosts*childClaims {
		t.Errorf("counted to %d, want %d: %v", count.UpdatedAt, 1+hosts*childClaims, err)
	}
}

// drive drives a run, and goes on after it was told to.
func drive(ctx context.Context, h *host.Host) error {
	s, err := h.RunStores(ctx)
	if err != nil {
		return err
	}
	claim, err := s.Runs.Claim(ctx, "run-1")
	if err != nil {
		return err
	}
	add := func(text string) error {
		_, err := s.Log.Append(ctx, store.LogAppend{RunID: "run-1", Epoch: claim.Epoch, Events: []store.LogEvent{{Data: []byte(text)}}})
		return err
	}
	if err := add("first"); err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	appendErr := add("late")
	ended, patchErr := s.Runs.PatchIf(ctx, "run-1", claim.Epoch, store.RunPatch{Set: store.RunFields{Status: new(store.RunFailed)}})
	if !errors.Is(appendErr, store.ErrConflict) || patchErr != nil || ended.Applied {
		return fmt.Errorf("appending: %w; ending the run: %v, %w", appendErr, ended.Applied, patchErr)
	}
	return nil
}

// A driver that was superseded while it stood still can neither append nor end the run.
func TestProcessesSupersede(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	s, err := site.open(t).RunStores(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Runs.CreateOrGet(t.Context(), store.NewRun{ID: "run-1", ThreadID: "t"}); err != nil {
		t.Fatal(err)
	}
	cmd := site.command(t, "driver")
	stderr := new(bytes.Buffer)
	cmd.Stderr = stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the child says %q: %v: %s", line, err, stderr)
	}
	claim, err := s.Runs.Claim(t.Context(), "run-1")
	if err != nil || claim.Epoch != 2 {
		t.Fatalf("claim %+v, %v", claim, err)
	}
	// Without an event: from now on the other is shut out.
	if tail, err := s.Log.Append(t.Context(), store.LogAppend{RunID: "run-1", Epoch: claim.Epoch}); err != nil || tail != 1 {
		t.Fatalf("tail %d, %v", tail, err)
	}
	if _, err := stdin.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, stderr)
	}
	page, err := s.Log.Read(t.Context(), "run-1", store.LogReadOptions{})
	if err != nil || len(page.Events) != 1 || string(page.Events[0].Data) != "first" {
		t.Errorf("the log is %+v, %v", page, err)
	}
	ended, err := s.Runs.PatchIf(t.Context(), "run-1", claim.Epoch, store.RunPatch{Set: store.RunFields{Status: new(store.RunCompleted)}})
	if err != nil || !ended.Applied {
		t.Errorf("ending the run: %+v, %v", ended, err)
	}
}

// TestRunStoresFollowTheFile: runs are kept beside the ledger unless the file says where.
func TestRunStoresFollowTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plugin := func(source, file string) config.Plugin {
		db := config.DefaultSQL()
		db.Path = filepath.Join(dir, file)
		p := config.Plugin{Limits: config.DefaultLimits(), SQL: map[string]config.SQL{config.LedgerDB: db}}
		p.Limits.Deadline, p.Limits.StartDeadline = config.Duration(time.Minute), config.Duration(time.Minute)
		if source != "" {
			p.Source, p.SHA256 = source, fileDigest(t, source)
		}
		return p
	}
	hostile := filepath.Join("internal", "adapter", "testdata", "guests", "hostile", "hostile.wasm")
	for runs, want := range map[string]string{"": "sqlite", "other": "other", "bare": ""} {
		t.Run(runs, func(t *testing.T) {
			t.Parallel()
			cfg := config.Default()
			cfg.Runs.Store = runs
			cfg.Plugins = map[string]config.Plugin{
				"sqlite": plugin("", runs+"-ledger.db"), "other": plugin(wrongLedger, runs+"-other.db"), "bare": plugin(hostile, runs+"-bare.db"),
			}
			h, err := host.Open(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			s, err := h.RunStores(t.Context())
			if want == "" {
				if !errors.Is(err, host.ErrNoRunStores) || !strings.Contains(err.Error(), "[runs] store") {
					t.Errorf("a plugin without stores: %+v, %v", s, err)
				}
			} else {
				if err != nil || s.Plugin != want {
					t.Fatalf("the store is %q, %v", s.Plugin, err)
				}
				if _, _, err := s.Runs.CreateOrGet(t.Context(), store.NewRun{ID: "run-1", ThreadID: "t"}); err != nil {
					t.Error(err)
				}
				again, err := h.RunStores(t.Context())
				if err != nil || again != s {
					t.Errorf("the second time: %+v, %v", again, err)
				}
				if loaded := len(h.Plugins()); loaded != map[string]int{"": 1, "other": 2}[runs] {
					t.Errorf("%d plugins are loaded", loaded)
				}
			}
			if err := h.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if _, err := h.RunStores(t.Context()); !errors.Is(err, host.ErrClosed) {
				t.Errorf("after Close: %v", err)
			}
		})
	}
	cfg := config.Default()
	cfg.Plugins = map[string]config.Plugin{"sqlite": plugin("", "own.db")}
	h, err := host.Open(t.Context(), cfg, host.WithRunStores(host.RunStores{Plugin: "mine"}))
	if err != nil {
		t.Fatal(err)
	}
	if s, err := h.RunStores(t.Context()); err != nil || s.Plugin != "mine" {
		t.Errorf("the embedder's own: %+v, %v", s, err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
