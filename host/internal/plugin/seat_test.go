package plugin_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
)

// opSleep of hazard/call sleeps until its deadline.
const opSleep abi.Op = 0x116

// occupant loads a guest of a module of its own.
func occupant(t *testing.T, rt *plugin.Runtime, s plugin.Spec) plugin.Occupant {
	t.Helper()
	module, err := rt.Compile(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return plugin.Occupant{Plugin: again(t, rt, s, module), Module: module}
}

func again(t *testing.T, rt *plugin.Runtime, s plugin.Spec, module *plugin.Module) *plugin.Plugin {
	t.Helper()
	s.Module = module
	p, err := rt.Load(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newSeat(t *testing.T, rt *plugin.Runtime, s plugin.Spec) *plugin.Seat {
	t.Helper()
	seat := plugin.NewSeat(occupant(t, rt, s))
	t.Cleanup(func() {
		for range 2 {
			if err := seat.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		}
		expect(t, seat.Call(context.WithoutCancel(t.Context()), opHarmless, nil, nil, nil), plugin.KindClosed, opHarmless, "the plugin is closed")
	})
	return seat
}

// A plugin that is replaced ends its calls, also one that still sleeps, while the next one answers.
func TestSeatReplace(t *testing.T) {
	t.Parallel()
	rt := newRuntime(t, plugin.RuntimeOptions{})
	s := spec(t, "hazard/call")
	s.Limits.Instances, s.Limits.Deadline = 1, time.Second
	seat := newSeat(t, rt, s)
	before := seat.Info().LoadedAt
	var calls sync.WaitGroup
	running := make(chan struct{}, 3)
	for range 3 { // one runs, the others wait for its instance
		calls.Go(func() {
			running <- struct{}{}
			err := seat.Call(t.Context(), opSleep, nil, nil, nil)
			expect(t, err, plugin.KindDeadline, opSleep, "did not finish within")
		})
	}
	for range 3 {
		<-running
	}
	next := occupant(t, rt, s)
	impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := seat.Replace(impatient, next); err != nil {
		t.Error(err)
	}
	if !seat.Info().LoadedAt.After(before) {
		t.Error("the seat still has the plugin that was there before")
	}
	if err := seat.Call(t.Context(), opHarmless, nil, nil, nil); err != nil {
		t.Errorf("the new one: %v", err)
	}
	calls.Wait()
	if err := seat.Replace(t.Context(), occupant(t, rt, s)); err != nil {
		t.Errorf("once more, behind the one that nobody waited for: %v", err)
	}
}

// Plugins that can't be there together change places: nobody is called in between, and who fails to come
// leaves the other where it was.
func TestSeatChange(t *testing.T) {
	t.Parallel()
	rt := newRuntime(t, plugin.RuntimeOptions{})
	s := spec(t, "hazard/exclusive")
	seat := newSeat(t, rt, s)
	bad := errors.New("it does not come")
	open := func(err error) func(context.Context) (plugin.Occupant, error) {
		return func(ctx context.Context) (plugin.Occupant, error) {
			waiting, cancel := context.WithTimeout(ctx, time.Millisecond)
			defer cancel()
			expect(t, seat.Call(waiting, opHarmless, nil, nil, nil), plugin.KindDeadline, opHarmless, "waiting for the plugin to be reloaded")
			if err != nil {
				return plugin.Occupant{}, err
			}
			return occupant(t, rt, s), nil
		}
	}
	back := func(err error) func(context.Context, *plugin.Module) (*plugin.Plugin, error) {
		return func(_ context.Context, module *plugin.Module) (*plugin.Plugin, error) {
			if err != nil {
				return nil, err
			}
			return again(t, rt, s, module), nil
		}
	}
	counted := func(what string, want byte) {
		t.Helper()
		var reply text
		if err := seat.Call(t.Context(), opHarmless, nil, nil, &reply); err != nil || len(reply) != 1 || reply[0] != want {
			t.Errorf("%s: call %v, %v, want %d", what, reply, err, want)
		}
	}
	counted("the first", 1)
	counted("the first", 2)
	if restored, closing, err := seat.Change(t.Context(), open(nil), back(nil)); restored || closing != nil || err != nil {
		t.Errorf("changing: %v, %v, %v", restored, closing, err)
	}
	counted("the second", 1)
	if restored, closing, err := seat.Change(t.Context(), open(bad), back(nil)); !restored || closing != nil || !errors.Is(err, bad) {
		t.Errorf("with one that does not come: %v, %v, %v", restored, closing, err)
	}
	counted("the second again", 1)
	worse := errors.New("nor does it")
	if restored, _, err := seat.Change(t.Context(), open(bad), back(worse)); restored || !errors.Is(err, bad) || !errors.Is(err, worse) {
		t.Errorf("with nobody who comes: %v, %v", restored, err)
	}
	err := seat.Call(t.Context(), opHarmless, nil, nil, nil)
	expect(t, err, plugin.KindFailed, opHarmless, "the plugin is not there since it was reloaded: it does not come")
	if !errors.Is(seat.Vacant(), worse) || seat.Manifest().Name != "hazard" {
		t.Errorf("nobody there: %v, %+v", seat.Vacant(), seat.Manifest())
	}
	if restored, _, err := seat.Change(t.Context(), open(bad), back(nil)); restored || !errors.Is(err, bad) {
		t.Errorf("with nobody to go back to: %v, %v", restored, err)
	}
	if restored, _, err := seat.Change(t.Context(), open(nil), back(nil)); restored || err != nil {
		t.Errorf("into a seat without a plugin: %v, %v", restored, err)
	}
	counted("the last", 1)
}

// A change that nobody waits for long enough leaves everything as it was.
func TestSeatChangeGivesUp(t *testing.T) {
	t.Parallel()
	rt := newRuntime(t, plugin.RuntimeOptions{})
	s := spec(t, "hazard/exclusive")
	s.Limits.Deadline = 2 * time.Second
	seat := newSeat(t, rt, s)
	var calls sync.WaitGroup
	const opForEver abi.Op = 0x101
	entered := make(chan struct{})
	calls.Go(func() {
		close(entered)
		expect(t, seat.Call(t.Context(), opForEver, nil, nil, nil), plugin.KindDeadline, opForEver, "did not finish within")
	})
	<-entered
	for seat.Info().Calls == 0 { // it has the seat
		time.Sleep(time.Millisecond)
	}
	impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	never := func(context.Context) (plugin.Occupant, error) {
		t.Error("the new one is opened while the old one is called")
		return plugin.Occupant{}, errors.New("not now")
	}
	restored, _, err := seat.Change(impatient, never, nil)
	if !restored || !plugin.IsKind(err, plugin.KindBusy) || !strings.Contains(err.Error(), "calls were still running") {
		t.Errorf("%v, %v", restored, err)
	}
	if err := seat.Call(t.Context(), opHarmless, nil, nil, nil); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	calls.Wait()
}

// What a guest is can be asked without its configuration, and nothing of it stays.
func TestDescribe(t *testing.T) {
	t.Parallel()
	rt := newRuntime(t, plugin.RuntimeOptions{})
	for name, want := range map[string]string{
		"hazard/exclusive": "", "hazard/refuses-config": "", "hazard/wants-sql": "", "hazard/trap-configure": "",
		"hazard/trap-describe": "the guest crashed", "hazard/empty-manifest": "no name or no version", "hazard/missing-call": "does not export",
		"hazard/spin-describe": "did not finish within", "hazard/trap-start": "the guest crashed",
	} {
		s := spec(t, name)
		s.Limits.StartDeadline = 2 * time.Second
		module, err := rt.Compile(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		s.Module = module
		m, err := rt.Describe(t.Context(), s)
		if want == "" && (err != nil || m.Name == "") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %+v, %v, want %q", name, m, err, want)
		}
		if err := module.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
