package sandbox

import (
	"context"
	"errors"
	"sync"

	"github.com/alineo-labs/alineo-host/host/store"
)

var errNobodyWaits = errors.New("nobody waits for the build any more")

// builds are the environments that are being built, by name.
type builds struct {
	mu      sync.Mutex
	running map[string]*build
}

// build is one that several may wait for.
type build struct {
	waiting int // guarded by builds.mu
	cancel  context.CancelCauseFunc
	done    chan struct{}
	record  store.Environment // set when done is closed, as err is
	err     error
}

// share runs do, or waits for the one that runs already under the name. It goes on while somebody
// waits for it.
func (b *builds) share(ctx context.Context, name string, do func(context.Context) (store.Environment, error)) (store.Environment, error) {
	one := b.join(ctx, name, do)
	defer b.leave(name, one)
	select {
	case <-one.done:
		return one.record, one.err
	case <-ctx.Done():
		return store.Environment{}, context.Cause(ctx)
	}
}

func (b *builds) join(ctx context.Context, name string, do func(context.Context) (store.Environment, error)) *build {
	b.mu.Lock()
	defer b.mu.Unlock()
	one, ok := b.running[name]
	if !ok {
		one = &build{done: make(chan struct{})}
		if b.running == nil {
			b.running = make(map[string]*build)
		}
		b.running[name] = one
		buildCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		one.cancel = cancel
		go func() {
			one.record, one.err = do(buildCtx)
			cancel(nil)
			b.forget(name, one)
			close(one.done)
		}()
	}
	one.waiting++
	return one
}

func (b *builds) leave(name string, one *build) {
	b.mu.Lock()
	one.waiting--
	last := one.waiting == 0
	b.mu.Unlock()
	if last {
		// Whoever comes now begins anew, instead of getting the end of this one.
		b.forget(name, one)
		one.cancel(errNobodyWaits)
	}
}

func (b *builds) forget(name string, one *build) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running[name] == one {
		delete(b.running, name)
	}
}
