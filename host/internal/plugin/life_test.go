package plugin_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
)

// Operations of testdata/hazard/volatile.wat and exclusive.wat, and of call.wat.
const (
	opTrap abi.Op = 0x100
	opSpin abi.Op = 0x110
	opAsk  abi.Op = 0x113 // asks the host, for ever
)

func count(t *testing.T, p *plugin.Plugin) int {
	t.Helper()
	var reply text
	if err := p.Call(t.Context(), opHarmless, nil, nil, &reply); err != nil {
		t.Fatal(err)
	}
	return int(reply[0])
}

// A guest that keeps its state in memory is not silently born again.
func TestVolatileFailsForGood(t *testing.T) {
	t.Parallel()
	var log logBuffer
	rt := newRuntime(t, plugin.RuntimeOptions{Logger: log.logger()})
	p, err := rt.Load(t.Context(), spec(t, "hazard/volatile"))
	if err != nil {
		t.Fatal(err)
	}
	for want := 1; want <= 3; want++ {
		if got := count(t, p); got != want {
			t.Errorf("call %d was counted as %d", want, got)
		}
	}
	expect(t, p.Call(t.Context(), opTrap, nil, nil, nil), plugin.KindTrap, opTrap, "the guest crashed")
	for range 2 {
		expect(t, p.Call(t.Context(), opHarmless, nil, nil, nil), plugin.KindFailed, opHarmless,
			"the guest kept its state in memory and lost it in a crash; it must be loaded anew: the guest crashed in alineo_call")
	}
	if info := p.Info(); !info.Failed || !info.Forever || info.Instances != 0 || info.Pages != 0 {
		t.Errorf("info %+v", info)
	}
	if n := strings.Count(log.String(), "the plugin has failed: its state was lost"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, log.String())
	}
}

// Its callers can't take its state from it by giving up.
func TestVolatileOutlivesItsCallers(t *testing.T) {
	t.Parallel()
	s := spec(t, "hazard/volatile")
	s.Limits.Deadline = 2 * time.Second
	p := load(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err := p.Call(ctx, 0x101, nil, nil, nil)
	expect(t, err, plugin.KindDeadline, 0x101, "the guest did not finish within 2s (limits.deadline)")
}

// A guest that owns something outside is started again, but never twice at once.
func TestExclusiveIsAlone(t *testing.T) {
	t.Parallel()
	s := spec(t, "hazard/exclusive")
	s.Limits.Instances = 8
	p := load(t, s)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := p.Call(t.Context(), opHarmless, nil, nil, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := count(t, p); got != 21 || p.Info().Instances != 1 {
		t.Errorf("call 21 was counted as %d, %d instances", got, p.Info().Instances)
	}
	expect(t, p.Call(t.Context(), opTrap, nil, nil, nil), plugin.KindTrap, opTrap, "the guest crashed")
	if got := count(t, p); got != 1 {
		t.Errorf("the first call of the new instance was counted as %d", got)
	}
}

// Stateless guests work at the same time, and instances are made when they are needed.
func TestInstancesGrow(t *testing.T) {
	t.Parallel()
	s := spec(t, "hazard/call")
	s.Limits.Instances, s.Limits.Deadline = 3, 2*time.Second
	p := load(t, s)
	if n := p.Info().Instances; n != 1 {
		t.Errorf("%d instances at first", n)
	}
	began := time.Now()
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			err := p.Call(context.Background(), 0x116, nil, nil, nil) // sleeps
			if !plugin.IsKind(err, plugin.KindDeadline) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if took := time.Since(began); took > 5*time.Second && !raced {
		t.Errorf("three calls of 2 s took %v", took)
	}
	if info := p.Info(); info.Instances != 0 || info.Pages != 0 || info.Crashes != 3 {
		t.Errorf("info %+v", info)
	}
}

// A plugin that crashes again and again is left alone for a while, and says so once.
func TestCrashBudget(t *testing.T) {
	t.Parallel()
	var log logBuffer
	rt := newRuntime(t, plugin.RuntimeOptions{Logger: log.logger()})
	p, err := rt.Load(t.Context(), spec(t, "hazard/call"))
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		expect(t, p.Call(t.Context(), opTrap, nil, nil, nil), plugin.KindTrap, opTrap, "the guest crashed")
	}
	for range 3 {
		expect(t, p.Call(t.Context(), opHarmless, nil, nil, nil), plugin.KindFailed, opHarmless, "the guest crashed too often and is tried again in ")
	}
	info := p.Info()
	if !info.Failed || info.Forever || info.RetryIn <= 0 || info.Crashes != 5 || info.LastError == nil {
		t.Errorf("info %+v", info)
	}
	if n := strings.Count(log.String(), "the plugin has failed"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, log.String())
	}
	// The pause is a second; the first call after it tries.
	deadline := time.Now().Add(10 * time.Second)
	for p.Call(t.Context(), opHarmless, nil, nil, nil) != nil {
		if time.Now().After(deadline) {
			t.Fatal("it never worked again")
		}
		time.Sleep(20 * time.Millisecond) // the pause is the runtime's own, there is nothing to wait on
	}
	if !strings.Contains(log.String(), "the plugin works again") || p.Info().Failed {
		t.Errorf("recovery was not noted:\n%s", log.String())
	}
}

// What its callers do does not count against a guest.
func TestCallersGiveUp(t *testing.T) {
	t.Parallel()
	p := load(t, spec(t, "hazard/call"))
	for range 7 {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		err := p.Call(ctx, opSpin, nil, nil, nil)
		cancel()
		expect(t, err, plugin.KindDeadline, opSpin, "the caller's deadline passed: context deadline exceeded")
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		// On a busy machine the caller may give up before its request is there: then it has less haste.
		for haste := 5 * time.Millisecond; ; haste *= 2 {
			hasty, giveUp := context.WithCancel(t.Context())
			time.AfterFunc(haste, giveUp)
			err = p.Call(hasty, 0x116, nil, nil, nil) // sleeps
			expect(t, err, plugin.KindCanceled, 0x116, "the caller gave up: context canceled")
			var e *plugin.Error
			if !errors.As(err, &e) {
				t.Fatal(err)
			}
			if e.Sent {
				break
			}
			if haste > time.Second {
				t.Fatalf("the guest had the request: %v", err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := p.Call(ctx, opHarmless, nil, nil, nil)
	expect(t, err, plugin.KindCanceled, opHarmless, "the caller gave up")
	var e *plugin.Error
	if !errors.As(err, &e) || e.Sent {
		t.Errorf("the guest did not have the request: %v", err)
	}
	if info := p.Info(); info.Failed || info.Crashes != 0 {
		t.Errorf("info %+v", info)
	}
}

// Close waits for what runs and turns the rest away.
func TestClose(t *testing.T) {
	t.Parallel()
	s := spec(t, "hazard/call")
	s.Limits.Deadline = 2 * time.Second
	entered := make(chan struct{})
	s.Caps = signalling(entered, false)
	rt := newRuntime(t, plugin.RuntimeOptions{})
	p, err := rt.Load(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	running := make(chan error, 1)
	go func() { running <- p.Call(context.Background(), opAsk, nil, nil, nil) }()
	<-entered
	began := time.Now()
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	// The call ends a moment before this is told.
	if waited := time.Since(began); waited < s.Limits.Deadline/2 {
		t.Errorf("Close waited for %s", waited)
	}
	expect(t, <-running, plugin.KindDeadline, opAsk, "did not finish")
	expect(t, p.Call(t.Context(), opHarmless, nil, nil, nil), plugin.KindClosed, opHarmless, "the plugin is closed")
	if err := p.Close(t.Context()); err != nil {
		t.Errorf("closing again: %v", err)
	}
	if err := rt.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := rt.Load(t.Context(), s); !plugin.IsKind(err, plugin.KindClosed) {
		t.Errorf("loading into a closed runtime: %v", err)
	}
}

// When its context ends first, Close ends what runs: guests that go on and on, and host functions
// that wait.
func TestCloseLosesPatience(t *testing.T) {
	t.Parallel()
	for _, block := range []bool{false, true} {
		s := spec(t, "hazard/call")
		s.Limits.Deadline = time.Minute
		entered := make(chan struct{})
		s.Caps = signalling(entered, block)
		p := load(t, s)
		running := make(chan error, 1)
		go func() { running <- p.Call(context.Background(), opAsk, nil, nil, nil) }()
		<-entered
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		if err := p.Close(ctx); err != nil && !plugin.IsKind(err, plugin.KindClosed) {
			t.Errorf("closing: %v", err)
		}
		cancel()
		expect(t, <-running, plugin.KindClosed, opAsk, "the plugin is being closed")
	}
}

// signalling is a host that closes a channel when it is first asked, and may then wait for the call's
// end.
func signalling(entered chan struct{}, block bool) plugin.Host {
	var once sync.Once
	return hostFunc(func(ctx context.Context, _ *capability.Call, _ abi.Op, _, dst []byte) ([]byte, *abi.Error) {
		once.Do(func() { close(entered) })
		if block {
			<-ctx.Done()
		}
		return dst, nil
	})
}

// logBuffer is a log that may be read while it is written.
type logBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *logBuffer) logger() hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Output: b, Level: hclog.Info, DisableTime: true})
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
