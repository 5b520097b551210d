package journal

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// nonceBytes is how long a nonce is.
const nonceBytes = 16

// Nonce is what a run's sentinel is known by: 32 hex digits. It is a secret.
type Nonce string

// NewNonce makes a nonce of random bytes, 16 of them at least.
func NewNonce(secret []byte) (Nonce, error) {
	if len(secret) < nonceBytes {
		return "", fmt.Errorf("a nonce of %d bytes is too short, %d are needed", len(secret), nonceBytes)
	}
	return Nonce(hex.EncodeToString(secret[:nonceBytes])), nil
}

// Sentinel returns the line that ends a journal, without its line end.
func Sentinel(code int, nonce Nonce) string {
	return fmt.Sprintf(`{"__exit":%d,"__nonce":%q}`, code, nonce)
}

// sentinelRoom is longer than any sentinel.
const sentinelRoom = 128

// ParseSentinel returns the exit code of a line that is the sentinel of this nonce. Anything else is
// the command's own output.
func ParseSentinel(line []byte, nonce Nonce) (code int, ok bool) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || len(line) > sentinelRoom || line[0] != '{' || nonce == "" {
		return 0, false
	}
	var found struct {
		Exit  *int    `json:"__exit"`
		Nonce *string `json:"__nonce"`
	}
	if err := json.Unmarshal(line, &found); err != nil || found.Exit == nil || found.Nonce == nil {
		return 0, false
	}
	return *found.Exit, *found.Nonce == string(nonce)
}

// LastSentinel looks for the sentinel in the end of a journal; the last one counts. whole says that the
// window begins where the journal does; otherwise its first line is a part of one and is skipped.
func LastSentinel(window []byte, whole bool, nonce Nonce) (code int, ok bool) {
	if !whole {
		_, rest, found := bytes.Cut(window, []byte("\n"))
		if !found {
			return 0, false
		}
		window = rest
	}
	for line := range bytes.Lines(window) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // is still being written
		}
		if c, is := ParseSentinel(line, nonce); is {
			code, ok = c, true
		}
	}
	return code, ok
}
