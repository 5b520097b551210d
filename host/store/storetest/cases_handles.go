package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/alineo-labs/alineo-host/host/store"
)

func handleCases() []Case {
	several := []Feature{FeatureHandles}
	return []Case{
		{"handle/concurrent", "one handle serves many callers at once; each sandbox keeps its order", nil, handleConcurrent},
		{"handle/claims", "of many that claim one sandbox at once each has an epoch of its own", nil, handleClaims},
		{"handle/context", "a context that has ended is an error, and nothing is written", nil, handleContext},
		{"handle/close", "closing twice is fine", nil, handleClose},
		{"handle/several", "several handles write at once and see each other's entries", several, handleSeveral},
		{"handle/takeover", "a claim through one handle fences the driver of another", several, handleTakeover},
		{"handle/retry", "a segment that one handle applied is recognised by another", several, handleRetry},
		{"handle/readers", "readers don't block writers: appends go on while a reader is between pages and others read", several, handleReaders},
		{
			"handle/reopened", "a new handle on the same storage sees everything after all others were closed",
			[]Feature{FeaturePersistent},
			handleReopened,
		},
	}
}

// crowd lets n callers write rounds segments each and checks order and completeness.
func (e *env) crowd(n, rounds int, handle func(int) store.Ledger) {
	e.Helper()
	drivers := make([]*driver, n)
	for i := range drivers {
		drivers[i] = e.driveOn(handle(i), "run", fmt.Sprintf("id-%d", i))
	}
	errs := make([]error, n)
	var wait sync.WaitGroup
	for i, d := range drivers {
		wait.Go(func() {
			errs[i] = guard(func() error {
				for r := range rounds {
					s := d.segment(step(int64(r), int64(2*r), "x", `{}`), step(int64(r), int64(2*r+1), "x", `{}`))
					if err := d.l.Append(e.ctx, &store.Batch{Segments: []store.Segment{s}}); err != nil {
						return err
					}
					d.applied(s)
				}
				return nil
			})
		})
	}
	wait.Wait()
	e.must("appending at once", errors.Join(errs...))
	for i, d := range drivers {
		got := e.read(handle(i+1), d.key)
		e.equal("entries of "+d.key.String(), len(got), 2*rounds)
		for j := range got {
			if got[j].StepIndex != int64(j) {
				e.Errorf("entry %d of %s is number %d", j, d.key, got[j].StepIndex)
				break
			}
		}
	}
}

func handleConcurrent(e *env) {
	e.crowd(6, 8, func(int) store.Ledger { return e.Ledger })
}

func handleSeveral(e *env) {
	handles := []store.Ledger{e.Ledger, e.open(), e.open()}
	e.crowd(6, 8, func(i int) store.Ledger { return handles[i%len(handles)] })
}

func handleClaims(e *env) {
	const n = 8
	epochs, errs := make([]uint64, n), make([]error, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() {
			errs[i] = guard(func() error {
				head, err := e.OpenLedger(e.ctx, store.Key{Name: "run", SandboxID: "id-1"})
				epochs[i] = head.Epoch
				return err
			})
		})
	}
	wait.Wait()
	e.must("claiming at once", errors.Join(errs...))
	seen := map[uint64]bool{}
	for _, epoch := range epochs {
		if seen[epoch] {
			e.Errorf("epoch %d was given twice", epoch)
		}
		seen[epoch] = true
	}
}

func handleContext(e *env) {
	d := e.drive("run", "id-1")
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	if err := e.Append(ctx, &store.Batch{Segments: []store.Segment{d.segment(event(1, "x", `{}`))}}); err == nil {
		e.Errorf("appending with an ended context: no error")
	}
	if _, err := e.Read(ctx, d.key, store.ReadOptions{}); err == nil {
		e.Errorf("reading with an ended context: no error")
	}
	e.equal("entries", len(e.read(e.Ledger, d.key)), 0)
	d.append(event(1, "goes on", `{}`))
}

func handleClose(e *env) {
	for range 2 {
		e.must("closing", e.Close(e.ctx))
	}
}

func handleTakeover(e *env) {
	old := e.drive("run", "id-1")
	old.append(event(1, "old", `{}`))
	taken := e.driveOn(e.open(), "run", "id-1")
	e.refused("appending under the old claim", 0, old.segment(event(2, "late", `{}`)))
	taken.append(event(3, "new", `{}`))
	e.equal("events", events(e.read(e.Ledger, old.key)), "old new")
}

func handleRetry(e *env) {
	d, other := e.drive("run", "id-1"), e.open()
	batch := &store.Batch{Segments: []store.Segment{d.segment(event(1, "x", `{}`))}}
	e.must("appending", e.Append(e.ctx, batch))
	e.must("sending it again through another handle", other.Append(e.ctx, batch))
	e.equal("events", events(e.read(other, d.key)), "x")
}

func handleReaders(e *env) {
	d := e.drive("run", "id-1")
	numbered(d, 0, 300)
	reader := e.open()
	page, err := reader.Read(e.ctx, d.key, store.ReadOptions{Limit: 10})
	e.must("reading a first page", err)
	stop := make(chan struct{})
	var wait sync.WaitGroup
	var readErr error
	wait.Go(func() {
		for readErr == nil {
			select {
			case <-stop:
				return
			default:
				readErr = guard(func() error {
					_, err := reader.Read(e.ctx, d.key, store.ReadOptions{Limit: 100})
					return err
				})
			}
		}
	})
	for i := range 20 {
		numbered(d, 300+i, 1)
	}
	close(stop)
	wait.Wait()
	e.must("reading while others write", readErr)
	rest, _, _ := e.pages(func(o store.ReadOptions) (store.Page, error) { return reader.Read(e.ctx, d.key, o) }, store.ReadOptions{Cursor: page.Cursor})
	e.equal("entries", len(page.Entries)+len(rest), 320)
}

func handleReopened(e *env) {
	// Never two at once: a store may own what it writes to.
	d := e.drive("run", "id-1")
	d.append(event(1, "sandbox.created", `{"runId":"r"}`), event(2, madeCheckpoint, `{"snapshotId":"s"}`))
	if e.has[FeatureEnvironments] {
		e.must("saving an environment", e.SaveEnvironment(e.ctx, store.Environment{Name: "py", SnapshotID: "s", Image: "i", BuiltAt: 1}))
	}
	e.must("closing", e.Close(e.ctx))
	e.Ledger = e.open()
	e.equal("events", events(e.read(e.Ledger, d.key)), "sandbox.created "+madeCheckpoint)
	e.last(d.key, "")
	e.equal("sandboxes", ids(e.list(store.ListOptions{})), "id-1")
	if e.has[FeatureEnvironments] {
		_, err := e.GetEnvironment(e.ctx, "py")
		e.must("getting the environment", err)
	}
	head, err := e.OpenLedger(e.ctx, d.key)
	e.must("claiming", err)
	if head.Epoch <= d.epoch {
		e.Errorf("epoch %d after %d", head.Epoch, d.epoch)
	}
	e.equal("hash", head.Hash, d.prev)
}
