package plugin

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/abi"
)

// TestContextOutlivesItsCall keeps the promise of context.Context that Err is set once Done is closed:
// without it package context panics in the goroutine of whoever derived a context from a capability's
// and holds on to it for longer than the call, as a connection pool does.
func TestContextOutlivesItsCall(t *testing.T) {
	t.Parallel()
	runtime, err := NewRuntime(t.Context(), RuntimeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	inst := &instance{plugin: newPlugin(runtime, Spec{Name: "held"})}
	for name, early := range map[string]bool{"asked during the call": true, "asked after it": false} {
		var c callContext
		c.reset(t.Context(), inst, abi.OpEcho, runtime.clock.now(), time.Minute)
		c.lent = true
		var derived context.Context
		cancel := func() {}
		if early {
			if derived, cancel = context.WithCancel(&c); derived.Err() != nil {
				t.Errorf("%s: ended before the call did: %v", name, derived.Err())
			}
		}
		c.end()
		if !early {
			derived, cancel = context.WithCancel(&c)
		}
		<-derived.Done()
		if !errors.Is(derived.Err(), context.Canceled) || !errors.Is(c.Err(), context.Canceled) {
			t.Errorf("%s: derived %v, own %v", name, derived.Err(), c.Err())
		}
		cancel()
	}
}
