package capability

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"sync"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/credential"
)

// SecretReader reads a granted secret as it is now. Its error says where it was looked for and why it
// can't be had, and nothing of the value.
type SecretReader func(ctx context.Context) (credential.Secret, error)

// secretGet is the operation secret.get.
func (s *Set) secretGet(ctx context.Context, call *Call, req, dst []byte) ([]byte, *abi.Error) {
	var m abi.SecretGet
	if err := m.Unmarshal(req); err != nil {
		return dst, malformed(abi.OpSecretGet, err)
	}
	if failure := call.roomForSecrets(1); failure != nil {
		return dst, failure
	}
	var reply abi.SecretReply
	if m.Kept {
		kept, ok := s.keeper.get(m.Name)
		if !ok {
			return dst, failf(abi.CodeNotFound, "no secret is kept as %q", m.Name)
		}
		reply = abi.SecretReply{Secret: call.PutSecret(kept.secret), ExpiresMS: kept.left(), Note: kept.note}
		return reply.AppendTo(dst), nil
	}
	read, ok := s.secrets[m.Name]
	if !ok {
		return dst, failf(abi.CodeDenied, "secret %q is not granted to plugin %q; [plugins.%s.grant] secrets in alineo.toml grants it",
			m.Name, s.plugin, key(s.plugin))
	}
	secret, err := read(ctx)
	if err != nil {
		// The reason names a file or variable of the host's, which is for the operator, not for a guest.
		s.logger.Error("reading a secret failed", "name", m.Name, "err", err)
		failure := failf(abi.CodeUnavailable, "secret %q can't be read now; the host's log says why", m.Name)
		failure.Retryable = true
		return dst, failure
	}
	reply.Secret, reply.Version = call.PutSecret(secret), s.versions.of(m.Name, secret)
	return reply.AppendTo(dst), nil
}

// roomForSecrets refuses secrets beyond what one call may have. A nil Call has no room.
func (c *Call) roomForSecrets(n int) *abi.Error {
	if c == nil || len(c.secrets)+n > maxSecrets {
		return failf(abi.CodeResourceExhausted, "a call has at most %d secrets", maxSecrets)
	}
	return nil
}

// versions tells a value that changed from one that didn't, without keeping it. It is safe for
// concurrent use.
type versions struct {
	key   [32]byte
	mu    *sync.Mutex
	known map[string]version
}

type version struct {
	digest [sha256.Size]byte
	number uint64
}

func newVersions() versions {
	v := versions{mu: new(sync.Mutex), known: make(map[string]version)}
	_, _ = rand.Read(v.key[:]) // which never fails
	return v
}

func (v *versions) of(name string, secret credential.Secret) uint64 {
	mac := hmac.New(sha256.New, v.key[:])
	mac.Write([]byte(secret.Reveal()))
	digest := [sha256.Size]byte(mac.Sum(nil))
	v.mu.Lock()
	defer v.mu.Unlock()
	known := v.known[name]
	if known.digest != digest {
		known = version{digest: digest, number: known.number + 1}
		v.known[name] = known
	}
	return known.number
}
