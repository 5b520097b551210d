package plugin

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Who came first is served first, also when the instance that came back is no more.
func TestPoolIsFair(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &pool{limit: 1, maxQueue: 10}
		if inst, f := p.get(t.Context(), time.Second); inst != nil || f != nil {
			t.Fatalf("first: %v, %v, want the right to make one", inst, f)
		}
		order := make(chan int, 5)
		for i := range 5 {
			go func() {
				inst, f := p.get(t.Context(), time.Hour)
				if f != nil {
					t.Error(f)
				}
				order <- i
				p.put(inst)
			}()
			synctest.Wait() // it is in the queue now
		}
		p.put(nil)
		for i := range 5 {
			if got := <-order; got != i {
				t.Errorf("caller %d was served in place of %d", got, i)
			}
		}
	})
}

func TestPoolHandsInstanceOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &pool{limit: 1, maxQueue: 10, idle: []*instance{{}}}
		want, f := p.get(t.Context(), time.Second)
		if want == nil || f != nil {
			t.Fatal(want, f)
		}
		got := make(chan *instance)
		go func() {
			inst, _ := p.get(t.Context(), time.Hour)
			got <- inst
		}()
		synctest.Wait()
		p.put(want)
		if inst := <-got; inst != want {
			t.Error("the waiter did not get the instance that came back")
		}
		p.put(want)
		if instances, waiting := p.counts(); instances != 1 || waiting != 0 {
			t.Errorf("%d instances, %d waiting", instances, waiting)
		}
	})
}

func TestPoolBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &pool{limit: 1, maxQueue: 2}
		p.get(t.Context(), time.Second) //nolint:errcheck // the right to make one
		ctx, cancel := context.WithCancel(t.Context())
		failures := make(chan *fault, 2)
		go func() { _, f := p.get(ctx, time.Hour); failures <- f }()
		go func() { _, f := p.get(t.Context(), time.Minute); failures <- f }()
		synctest.Wait()
		if _, f := p.get(t.Context(), time.Second); f == nil || f.kind != KindBusy {
			t.Errorf("a third waiter: %v", f)
		}
		cancel()
		if f := <-failures; f.kind != KindCanceled || !errors.Is(f, context.Canceled) {
			t.Errorf("the caller that gave up: %v, %v", f.kind, f)
		}
		began := time.Now()
		if f := <-failures; f.kind != KindBusy || time.Since(began) != time.Minute {
			t.Errorf("the caller that ran out of patience: %v, %v after %v", f.kind, f, time.Since(began))
		}
		if _, waiting := p.counts(); waiting != 0 {
			t.Errorf("%d still wait", waiting)
		}
		p.put(nil)
		if instances, _ := p.counts(); instances != 0 {
			t.Errorf("%d instances", instances)
		}
	})
}

func TestPoolCloses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &pool{limit: 1, maxQueue: 2}
		p.get(t.Context(), time.Second) //nolint:errcheck // the right to make one
		waited := make(chan *fault)
		go func() { _, f := p.get(t.Context(), time.Hour); waited <- f }()
		synctest.Wait()
		empty := p.close()
		if f := <-waited; f == nil || f.kind != KindClosed {
			t.Errorf("the waiter: %v", f)
		}
		if _, f := p.get(t.Context(), time.Hour); f == nil || f.kind != KindClosed {
			t.Errorf("a latecomer: %v", f)
		}
		select {
		case <-empty:
			t.Error("closed while an instance was out")
		default:
		}
		inst := &instance{}
		p.put(inst)
		<-empty
		if idle := p.drain(); len(idle) != 1 || idle[0] != inst {
			t.Errorf("drained %v", idle)
		}
		if p.close() != nil {
			t.Error("closed twice")
		}
	})
}
