package durable

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/alineo-labs/alineo-host/host/store"
)

const (
	// announcePrefix begins the keys of records that say that a sandbox is being made; the key of the
	// thread's sandbox and the mark follow. Its ProviderSandboxID is the mark.
	announcePrefix = "creating:"
	// announceFor is how long a server may take to finish a creation whose host died.
	announceFor = 10 * time.Minute
)

func announcing(record store.Instance) bool { return strings.HasPrefix(record.Key, announcePrefix) }

// announced makes a sandbox that a sweep finds should this host die before it is recorded. That takes a store
// that lists its records, and locks, by which a host that died is told from one that is slow. It is called
// under the sandbox's lock.
func (r *Runs) announced(ctx context.Context, record store.Instance, spec Spec) (Ensured, error) {
	var random [16]byte
	_, _ = rand.Read(random[:]) // it never fails
	mark := hex.EncodeToString(random[:])
	if r.stores.Locks == nil || !r.stores.Instances.Features().List {
		return r.create(ctx, record, spec, mark)
	}
	note := record
	note.Key, note.ProviderSandboxID = announcePrefix+record.Key+":"+mark, mark
	if err := r.stores.Instances.Put(ctx, note); err != nil {
		return Ensured{}, fmt.Errorf("noting that a sandbox is to be made: %w", err)
	}
	got, err := r.create(ctx, record, spec, mark)
	if err != nil {
		return Ensured{}, err // nobody knows what is left: the sweep will look
	}
	if err := r.forget(ctx, note); err != nil {
		r.log.Debug("the note of a sandbox's making was not removed, the sweep will do that", "sandbox", got.Record.ProviderSandboxID, "err", err)
	}
	return got, nil
}

// destroyAnnounced destroys sandboxes that were made by hosts that died before they recorded them.
func (r *Runs) destroyAnnounced(ctx context.Context, s *Sweep) error {
	if r.stores.Locks == nil {
		return nil
	}
	var errs []error
	err := r.eachInstance(ctx, func(note store.Instance) {
		if !announcing(note) || note.Provider != r.opts.Machines.Provider() {
			return
		}
		if err := r.settle(ctx, s, note); err != nil && !errors.Is(err, errBusy) { // who holds the lock makes it
			errs = append(errs, fmt.Errorf("looking for a sandbox that was not recorded: %w", err))
		}
	})
	return errors.Join(append(errs, err)...)
}

// settle looks, under the sandbox's lock, what became of an announcement.
func (r *Runs) settle(ctx context.Context, s *Sweep, note store.Instance) error {
	mark := note.ProviderSandboxID
	key := strings.TrimSuffix(strings.TrimPrefix(note.Key, announcePrefix), ":"+mark)
	lock, err := r.tryLock(ctx, sandboxLock(key))
	if err != nil {
		return err
	}
	defer lock.release()
	record, _, err := r.stores.Instances.Get(lock.ctx, key)
	if err != nil {
		return err
	}
	ids, err := r.opts.Machines.Find(lock.ctx, mark)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if id == record.ProviderSandboxID {
			continue // it was recorded
		}
		if err := r.destroyMachine(lock.ctx, id); err != nil {
			return err
		}
		s.Machines++
	}
	if len(ids) == 0 && time.Duration(lock.now-note.UpdatedAt)*time.Millisecond < announceFor {
		return nil // it may come yet
	}
	return r.forget(lock.ctx, note)
}
