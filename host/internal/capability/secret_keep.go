package capability

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/credential"
)

// What a plugin may keep.
const (
	maxKept     = 64
	maxKeptName = 256     // bytes
	maxKeptNote = 4 << 10 // bytes
)

// secretKeep is the operation secret.keep.
func (s *Set) secretKeep(_ context.Context, call *Call, req, dst []byte) ([]byte, *abi.Error) {
	var m abi.SecretKeep
	if err := m.Unmarshal(req); err != nil {
		return dst, malformed(abi.OpSecretKeep, err)
	}
	if m.Name == "" || len(m.Name) > maxKeptName || len(m.Note) > maxKeptNote {
		return dst, failf(abi.CodeInvalid, "a secret is kept under a name of 1 to %d bytes, with a note of at most %d", maxKeptName, maxKeptNote)
	}
	if m.Secret == 0 {
		s.keeper.forget(m.Name)
		return dst, nil
	}
	secret, ok := call.Secret(m.Secret)
	if !ok {
		return dst, failf(abi.CodeNotFound, "there is no secret %d in this call", m.Secret)
	}
	if !s.keeper.keep(m.Name, secret, m.TTLMS, m.Note) {
		return dst, failf(abi.CodeResourceExhausted, "a plugin keeps at most %d secrets", maxKept)
	}
	return dst, nil
}

// keeper has the secrets that a plugin keeps between calls. Those whose time is over are dropped then,
// whether anybody asks or not. Its zero value is ready; it is safe for concurrent use.
type keeper struct {
	mu   sync.Mutex
	due  func() // see Set.OnDue; may be nil
	kept map[string]*kept
}

type kept struct {
	secret  credential.Secret
	note    []byte
	expires time.Time   // zero: never
	timer   *time.Timer // that drops it; nil: none
	soon    *time.Timer // that tells before that; nil: none
}

// left is how many milliseconds it may still be used, 0 for no end.
func (k *kept) left() uint64 {
	if k.expires.IsZero() {
		return 0
	}
	return uint64(max(time.Until(k.expires).Milliseconds(), 1))
}

// over says that it must not be used any more.
func (k *kept) over() bool { return !k.expires.IsZero() && !time.Now().Before(k.expires) }

// maxKeptTime is the longest time that counts as an end, 100 years.
const maxKeptTime = 100 * 365 * 24 * time.Hour

func (k *keeper) keep(name string, secret credential.Secret, ttl uint64, note []byte) bool {
	one := &kept{secret: secret, note: append([]byte(nil), note...)}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept == nil {
		k.kept = make(map[string]*kept)
	}
	maps.DeleteFunc(k.kept, func(_ string, one *kept) bool { return one.over() })
	old := k.kept[name]
	if old == nil && len(k.kept) >= maxKept {
		return false
	}
	if old != nil {
		old.stop()
	}
	if ttl > 0 && ttl < uint64(maxKeptTime/time.Millisecond) {
		life := time.Duration(ttl) * time.Millisecond
		one.expires = time.Now().Add(life)
		one.timer = time.AfterFunc(life, func() { k.drop(name, one) })
		const part, of = 2, 3
		one.soon = time.AfterFunc(life/of*part, func() { k.soon(name, one) })
	}
	k.kept[name] = one
	return true
}

func (k *kept) stop() {
	if k.timer != nil {
		k.timer.Stop()
		k.soon.Stop()
	}
}

// leastSoon is the shortest time after which it is told again that a secret ends soon.
const leastSoon = time.Second

// soon tells that a kept secret ends soon, and again at half of what is then left, until something else is
// kept in its place.
func (k *keeper) soon(name string, one *kept) {
	k.mu.Lock()
	due := k.due
	k.mu.Unlock()
	if due != nil {
		due()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if left := time.Until(one.expires) / 2; k.kept[name] == one && left > leastSoon {
		one.soon.Reset(left)
	}
}

// OnDue has f called, in a goroutine of its own, when two thirds of the time of a secret that the plugin
// keeps are over, and again later as long as the plugin keeps nothing new in its place.
func (s *Set) OnDue(f func()) {
	s.keeper.mu.Lock()
	defer s.keeper.mu.Unlock()
	s.keeper.due = f
}

// drop forgets what was kept, unless something else was kept since.
func (k *keeper) drop(name string, one *kept) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept[name] == one {
		delete(k.kept, name)
	}
}

func (k *keeper) get(name string) (*kept, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	one, ok := k.kept[name]
	if !ok || one.over() {
		return nil, false
	}
	return one, true
}

func (k *keeper) forget(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if one, ok := k.kept[name]; ok {
		one.stop()
		delete(k.kept, name)
	}
}

func (k *keeper) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, one := range k.kept {
		one.stop()
	}
	clear(k.kept)
}
