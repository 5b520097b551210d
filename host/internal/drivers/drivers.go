package drivers

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/alineo-labs/alineo-host/host/store"
)

const (
	folder   = "drivers" // in the data directory
	lockFile = "lock"    // in the folder
	suffix   = ".sock"
)

// Drivers is a sandbox.Drivers of all who use the same data directory.
type Drivers struct {
	dir    string
	log    hclog.Logger
	within time.Duration // that a driver may take to say that it is there
	sweep  func()        // once

	mu    sync.Mutex
	doors map[*door]struct{}
}

// New returns those of a data directory. It does no I/O.
func New(dataDir string, log hclog.Logger) *Drivers {
	d := &Drivers{dir: filepath.Join(dataDir, folder), log: log, within: answerWithin, doors: make(map[*door]struct{})}
	d.sweep = sync.OnceFunc(d.removeLeft)
	return d
}

// Close lets nobody in any more and waits for who is, until ctx ends.
func (d *Drivers) Close(ctx context.Context) {
	d.mu.Lock()
	doors := make([]*door, 0, len(d.doors))
	for open := range d.doors {
		doors = append(doors, open)
	}
	d.mu.Unlock()
	for _, open := range doors {
		open.leave(ctx)
	}
}

// place is the name of a driver's socket, in parts.
type place struct {
	sandbox string
	epoch   uint64
	pid     int
}

// sandboxOf is what names of a sandbox's sockets begin with. Its id may hold anything.
func sandboxOf(key store.Key) string {
	const length = 16
	sum := sha256.Sum256([]byte(key.Name + "\x00" + key.SandboxID))
	return hex.EncodeToString(sum[:length])
}

func (p place) name() string { return fmt.Sprintf("%s.%d.%d%s", p.sandbox, p.epoch, p.pid, suffix) }

func parse(name string) (place, bool) {
	parts := strings.Split(strings.TrimSuffix(name, suffix), ".")
	if len(parts) != 3 || !strings.HasSuffix(name, suffix) {
		return place{}, false
	}
	epoch, epochErr := strconv.ParseUint(parts[1], 10, 64)
	pid, pidErr := strconv.Atoi(parts[2])
	return place{parts[0], epoch, pid}, epochErr == nil && pidErr == nil
}

// places returns where drivers listen, or did, the highest epoch first.
func (d *Drivers) places() ([]place, error) {
	entries, err := os.ReadDir(d.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for drivers: %w", err)
	}
	var all []place
	for _, entry := range entries {
		if p, ok := parse(entry.Name()); ok {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b place) int { return cmp.Compare(b.epoch, a.epoch) })
	return all, nil
}

// removeLeft removes what killed processes left.
func (d *Drivers) removeLeft() {
	all, err := d.places()
	if err != nil {
		d.log.Debug("what killed processes left can't be removed", "err", err)
		return
	}
	for _, p := range all {
		d.listens(context.Background(), p)
	}
}

// again is how long between tries to get the lock.
const again = 5 * time.Millisecond

// Alone calls become while it holds a lock that others want, too.
func (d *Drivers) Alone(ctx context.Context, become func() error) error {
	lock, err := d.lock(ctx)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil: // then nobody is found either
		d.log.Debug("drivers can't be told apart from who looks for them", "err", err)
	default:
		defer func() { _ = lock.Close() }()
	}
	return become()
}

func (d *Drivers) lock(ctx context.Context) (*os.File, error) {
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of drivers: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(d.dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the directory of drivers: %w", err)
	}
	wait := time.NewTicker(again)
	defer wait.Stop()
	for {
		if err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			return lock, nil
		}
		if errors.Is(err, unix.EWOULDBLOCK) {
			select {
			case <-wait.C:
				continue
			case <-ctx.Done():
				err = context.Cause(ctx)
			}
		}
		_ = lock.Close()
		return nil, fmt.Errorf("locking the directory of drivers: %w", err)
	}
}
