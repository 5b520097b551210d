package adapter

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/store"
)

// Stores are what durable runs are kept in, as far as a guest has it: what it does not have is nil.
type Stores struct {
	Instances store.Instances
	Runs      store.Runs
	Log       store.RunLog
	Locks     store.Locks
}

// NewStores returns the stores that a guest says it is. Closing the guest is the caller's.
func NewStores(guest Guest) Stores {
	var s Stores
	has := func(kind string) bool { return slices.Contains(guest.Manifest().Kinds, kind) }
	if has("instances") {
		s.Instances = &Instances{asker{guest}}
	}
	if has("runs") {
		s.Runs = &Runs{asker{guest}}
	}
	if has("log") {
		s.Log = &RunLog{asker{guest}}
	}
	if has("locks") {
		s.Locks = &Locks{asker{guest}}
	}
	return s
}

// maxKey is the longest key or id, bytes: PostgreSQL's indexes take little more than twice that.
const maxKey = 1024

// checkKey refuses what not every database can keep as a key.
func checkKey(what, key string) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: %s is empty", store.ErrInvalid, what)
	case len(key) > maxKey:
		return fmt.Errorf("%w: %s has %d bytes, at most %d are possible", store.ErrInvalid, what, len(key), maxKey)
	}
	return checkText(what, key)
}

// checkText refuses what no database can keep as a text.
func checkText(what, text string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("%w: %s is not UTF-8", store.ErrInvalid, what)
	}
	for i := range len(text) {
		if text[i] == 0 {
			return fmt.Errorf("%w: %s has a NUL", store.ErrInvalid, what)
		}
	}
	return nil
}

// has says whether a guest has all of these optional operations.
func (l *asker) has(ops ...abi.Op) bool {
	for _, op := range ops {
		if l.offers(op) != nil {
			return false
		}
	}
	return true
}

// optionalText returns a text cell, or nil when it is null.
func (c *cells) optionalText(column uint32) *string {
	if kind, _ := c.view(column); kind == abi.KindNull {
		return nil
	}
	text := c.text(column)
	return &text
}

// optionalInt returns an integer cell, or nil when it is null.
func (c *cells) optionalInt(column uint32) *int64 {
	if kind, _ := c.number(column); kind == abi.KindNull {
		return nil
	}
	n := c.int(column)
	return &n
}

// mustf keeps the first complaint about a row.
func (c *cells) mustf(holds bool, format string, args ...any) {
	if !holds && c.err == nil {
		c.err = fmt.Errorf("row %d of the plugin's answer "+format, append([]any{c.row}, args...)...)
	}
}
