package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The ends of the two files' names.
const (
	outputExt = ".ndjson"
	errorExt  = ".err"
)

const (
	// maxName is the longest name, without its extension, in bytes.
	maxName = 200
	// hashDigits end a name that was cut.
	hashDigits = 16
)

// What is wrong with a name.
var (
	// ErrTruncated: the name is too long to say which run it belongs to.
	ErrTruncated = errors.New("a truncated name")
	// ErrMalformed: no run has such a file.
	ErrMalformed = errors.New("a malformed name")
	// ErrNoID: the run's id is empty.
	ErrNoID = errors.New("the run's id is empty")
)

// EncodeName returns the name, without extension, of a run's files. Different ids have different names.
func EncodeName(runID string) (string, error) {
	if runID == "" {
		return "", ErrNoID
	}
	name := escape(runID, plain)
	if reserved(name) {
		name = escape(runID, func(byte) bool { return false })
	}
	if len(name) > maxName {
		sum := sha256.Sum256([]byte(runID))
		name = name[:maxName-hashDigits-1] + "-" + hex.EncodeToString(sum[:])[:hashDigits]
	}
	return name, nil
}

func escape(id string, keep func(byte) bool) string {
	const digits = "0123456789abcdef"
	var name strings.Builder
	for i := range len(id) {
		if c := id[i]; keep(c) {
			name.WriteByte(c)
		} else {
			name.WriteByte('_')
			name.WriteByte(digits[c>>4])
			name.WriteByte(digits[c&15])
		}
	}
	return name.String()
}

func plain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-'
}

// reserved says whether Windows takes a name for a device.
func reserved(name string) bool {
	switch upper := strings.ToUpper(name); upper {
	case "CON", "PRN", "AUX", "NUL":
		return true
	default:
		return len(upper) == 4 && (strings.HasPrefix(upper, "COM") || strings.HasPrefix(upper, "LPT")) &&
			upper[3] >= '1' && upper[3] <= '9'
	}
}

// DecodeFile returns the run that a file of the directory belongs to. The id is a key, never a part of
// a path: it may be "..". The error is ErrTruncated or ErrMalformed.
func DecodeFile(file string) (runID string, err error) {
	name, ok := strings.CutSuffix(file, outputExt)
	if !ok {
		name, ok = strings.CutSuffix(file, errorExt)
	}
	if !ok || name == "" {
		return "", fmt.Errorf("%w: %q", ErrMalformed, file)
	}
	if len(name) > maxName || len(name) == maxName && cut(name) {
		return "", fmt.Errorf("%w: %q", ErrTruncated, file)
	}
	var id []byte
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case plain(c):
			id = append(id, c)
		case c == '_' && i+2 < len(name):
			b, err := hex.DecodeString(name[i+1 : i+3])
			if err != nil {
				return "", fmt.Errorf("%w: %q", ErrMalformed, file)
			}
			id = append(id, b...)
			i += 2
		default:
			return "", fmt.Errorf("%w: %q", ErrMalformed, file)
		}
	}
	if !utf8.Valid(id) {
		return "", fmt.Errorf("%w: %q", ErrMalformed, file)
	}
	return string(id), nil
}

// cut says whether a name ends as one that was shortened.
func cut(name string) bool {
	tail := name[len(name)-hashDigits-1:]
	if tail[0] != '-' {
		return false
	}
	for _, c := range tail[1:] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
