package ledger

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/alineo-labs/alineo-host/host/store"
)

// HeadsFormat and HeadsVersion are what a file of heads begins with.
const (
	HeadsFormat  = "alineo.heads"
	HeadsVersion = 1
)

// maxHeads bounds a file of heads, in bytes.
const maxHeads = 256 << 20

// Heads are where the ledgers of sandboxes stood once. Kept where who can write to the ledger can't
// write, they show later that nothing of what was written then is gone or changed, even when the
// ledger's own heads were changed with it. The zero value is empty. It is not for concurrent use.
type Heads struct {
	byKey map[store.Key]savedHead
}

type savedHead struct {
	entries uint64
	hash    Hash
}

// Add adds where a verified sandbox stands. One that is damaged, or has nothing of ours, is left out,
// and Add returns false.
func (h *Heads) Add(r *SandboxReport) bool {
	if r.Damage != nil || len(r.Hash) != len(Hash{}) {
		return false
	}
	if h.byKey == nil {
		h.byKey = map[store.Key]savedHead{}
	}
	h.byKey[r.Key] = savedHead{r.Chained, Hash(r.Hash)}
	return true
}

// Len returns how many there are.
func (h *Heads) Len() int { return len(h.byKey) }

// The file as JSON.
type headsJSON struct {
	Format string     `json:"format"`
	V      int        `json:"v"`
	Heads  []headJSON `json:"heads"`
}

type headJSON struct {
	Name      string `json:"name"`
	SandboxID string `json:"sandboxId"`
	Entries   uint64 `json:"entries"`
	Hash      string `json:"hash"` // hexadecimal
}

// WriteTo writes a JSON text, one head a line, ordered by name and id. Equal heads give equal bytes.
func (h *Heads) WriteTo(w io.Writer) (int64, error) {
	b := bufio.NewWriter(w)
	n, err := fmt.Fprintf(b, `{"format":%q,"v":%d,"heads":[`, HeadsFormat, HeadsVersion)
	total := int64(n)
	for i, key := range slices.SortedFunc(maps.Keys(h.byKey), compareKeys) {
		if err != nil {
			break
		}
		if !utf8.ValidString(key.Name) || !utf8.ValidString(key.SandboxID) {
			return total, fmt.Errorf("writing heads: the sandbox %q has a name or id that is not UTF-8", key)
		}
		saved := h.byKey[key]
		var line []byte
		line, err = json.Marshal(headJSON{key.Name, key.SandboxID, saved.entries, hex.EncodeToString(saved.hash[:])})
		if err == nil {
			between := ",\n"
			if i == 0 {
				between = "\n"
			}
			n, err = b.Write(append([]byte(between), line...))
			total += int64(n)
		}
	}
	if err == nil {
		n, err = b.WriteString("\n]}\n")
		total += int64(n)
	}
	if err == nil {
		err = b.Flush()
	}
	if err != nil {
		return total, fmt.Errorf("writing heads: %w", err)
	}
	return total, nil
}

// ReadHeads reads what WriteTo wrote.
func ReadHeads(r io.Reader) (*Heads, error) {
	fail := func(err error) (*Heads, error) { return nil, fmt.Errorf("reading heads: %w", err) }
	text, err := io.ReadAll(io.LimitReader(r, maxHeads+1))
	if err != nil {
		return fail(err)
	}
	if len(text) > maxHeads {
		return fail(fmt.Errorf("more than %d bytes", maxHeads))
	}
	var file headsJSON
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		return fail(fmt.Errorf("this is no file of heads, or only a part of one: %w", err))
	}
	switch _, err := dec.Token(); {
	case file.Format != HeadsFormat:
		return fail(fmt.Errorf("this is no file of heads: its format is %q, not %q", file.Format, HeadsFormat))
	case file.V != HeadsVersion:
		return fail(fmt.Errorf("it is of version %d, this program knows %d", file.V, HeadsVersion))
	case !errors.Is(err, io.EOF):
		return fail(errors.New("there is something behind the file's end"))
	}
	heads := &Heads{byKey: make(map[store.Key]savedHead, len(file.Heads))}
	for i, one := range file.Heads {
		hash, err := hex.DecodeString(one.Hash)
		key := store.Key{Name: one.Name, SandboxID: one.SandboxID}
		_, twice := heads.byKey[key]
		switch {
		case err != nil || len(hash) != len(Hash{}):
			return fail(fmt.Errorf("head %d (%s): the hash is not %d hexadecimal digits", i+1, key, 2*len(Hash{})))
		case twice:
			return fail(fmt.Errorf("head %d (%s) is there twice", i+1, key))
		}
		heads.byKey[key] = savedHead{one.Entries, Hash(hash)}
	}
	return heads, nil
}
