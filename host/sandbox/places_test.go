package sandbox

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/semaphore"
)

// Who waits first for a place gets the next one that is free; who gives up takes none, and holds nobody up.
func TestPlacesAreFair(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const limit, waiting = 2, 6
		c := &Client{opts: Options{MaxConcurrency: limit}, slots: semaphore.NewWeighted(limit)}
		c.quit, c.stop = context.WithCancelCause(t.Context())
		var mu sync.Mutex // guards what follows
		var order []int
		open, most := 0, 0
		count := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			open += n
			most = max(most, open)
		}
		enter := func(ctx context.Context) (func(), error) {
			release, err := c.acquire(ctx)
			if err == nil {
				count(1)
			}
			return func() { count(-1); release() }, err
		}
		var held []func()
		for range limit {
			release, err := enter(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, release)
		}
		impatient, leave := context.WithCancel(t.Context())
		defer leave()
		for i := range waiting {
			ctx := t.Context()
			if i == 2 {
				ctx = impatient
				time.AfterFunc(time.Second, leave)
			}
			go func() {
				release, err := enter(ctx)
				if err != nil {
					if i != 2 || !errors.Is(err, context.Canceled) {
						t.Errorf("%d: %v", i, err)
					}
					return
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				time.Sleep(time.Minute + time.Duration(i)*time.Second) // no two end at once
				release()
			}()
			synctest.Wait() // it is in the queue
		}
		time.Sleep(2 * time.Second)
		for _, release := range held {
			release()
			release() // twice is once: it gives nobody else's place away
			count(1)  // it was counted twice
			synctest.Wait()
		}
		time.Sleep(time.Hour)
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(order, []int{0, 1, 3, 4, 5}) || most > limit || open != 0 {
			t.Errorf("places went to %d, at most %d at once, %d are open", order, most, open)
		}
	})
}
