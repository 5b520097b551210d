package ledger

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// DigestField is the extra key of the payload of exec.started that holds the digest.
const DigestField = "digest"

// ExecSpec is what a replayed exec must have in common with the recorded one, before redaction.
type ExecSpec struct {
	Kind    Kind
	Command string // or code
	Cwd     string
	Env     map[string]string
	Shell   string
}

// DigestKey keys digests, so that they tell nobody else what the environment of an exec was. The
// zero value is no key: such digests cover the names of the environment but not its values. It is
// safe for concurrent use.
type DigestKey struct {
	id     string
	secret []byte
}

const (
	digestVersion = "1"
	noKey         = "none"
)

// NewDigestKey returns a key. Its id goes into the ledger; it says which key to compare with after a
// new one was configured.
func NewDigestKey(id string, secret []byte) (DigestKey, error) {
	if !regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`).MatchString(id) || id == noKey {
		return DigestKey{}, fmt.Errorf("digest key id %q: want 1 to 64 letters, digits, dots, dashes or underscores, and not %q", id, noKey)
	}
	if len(secret) < 16 {
		return DigestKey{}, fmt.Errorf("digest key %q: the secret has %d bytes, want 16 or more", id, len(secret))
	}
	return DigestKey{id: id, secret: slices.Clone(secret)}, nil
}

// ID returns the key's id, "none" for no key.
func (k DigestKey) ID() string {
	if len(k.secret) == 0 {
		return noKey
	}
	return k.id
}

// String returns the key's id and never its secret.
func (k DigestKey) String() string { return k.ID() }

// GoString is String.
func (k DigestKey) GoString() string { return "ledger.DigestKey(" + k.ID() + ")" }

// MarshalText is String.
func (k DigestKey) MarshalText() ([]byte, error) { return []byte(k.ID()), nil }

// Digest returns the digest of an exec for its exec.started: "1:KEYID:" and 32 bytes in base64url.
// With a key it is HMAC-SHA-256 over kind, command, cwd, shell and environment; without one it is
// SHA-256 over the same but the values of the environment.
func (k DigestKey) Digest(spec ExecSpec) string {
	return digestVersion + ":" + k.ID() + ":" + base64.RawURLEncoding.EncodeToString(k.sum(spec))
}

func (k DigestKey) sum(spec ExecSpec) []byte {
	keyed := len(k.secret) > 0
	var h hash.Hash
	if keyed {
		h = hmac.New(sha256.New, k.secret)
	} else {
		h = sha256.New()
	}
	field := func(s string) {
		h.Write(binary.AppendUvarint(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	field("alineo.exec.digest." + digestVersion)
	field(string(spec.Kind))
	field(spec.Command)
	field(spec.Cwd)
	field(spec.Shell)
	for _, name := range slices.Sorted(maps.Keys(spec.Env)) {
		field(name)
		if keyed {
			field(spec.Env[name])
		}
	}
	return h.Sum(nil)
}

// Comparison is what comparing with a recorded digest says.
type Comparison int

// Results of a comparison.
const (
	NotComparable Comparison = iota // no digest, an unknown version, or a key that isn't there
	Equal
	Different
)

// String returns the comparison in words.
func (c Comparison) String() string {
	switch c {
	case Equal:
		return "equal"
	case Different:
		return "different"
	default:
		return "not comparable"
	}
}

// CompareDigest compares an exec with the digest that was recorded ("" for none), by the one of the
// keys that it was made with. Digests without a key need none.
func CompareDigest(recorded string, spec ExecSpec, keys ...DigestKey) Comparison {
	id, sum, err := parseDigest(recorded)
	if err != nil {
		return NotComparable
	}
	if id == noKey {
		keys = []DigestKey{{}}
	}
	for _, k := range keys {
		if k.ID() != id {
			continue
		}
		if hmac.Equal(sum, k.sum(spec)) {
			return Equal
		}
		return Different
	}
	return NotComparable
}

func parseDigest(s string) (id string, sum []byte, err error) {
	parts := strings.Split(s, ":")
	if len(parts) != 3 || parts[0] != digestVersion {
		return "", nil, errors.New("not a digest of a known version")
	}
	sum, err = base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(sum) != sha256.Size {
		return "", nil, errors.New("not a digest")
	}
	return parts[1], sum, nil
}
