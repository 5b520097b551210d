package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Memory is the path of a database without a file. It lives as long as its DB.
const Memory = ":memory:"

// Bounds of what a guest may make the host hold.
const (
	// MaxValue is the size of the largest text or blob, and of the largest row, bytes.
	MaxValue = 256 << 20
	// MaxSQL is the size of the longest statement, bytes.
	MaxSQL = 1 << 20
	// MaxSteps is the number of steps of the longest program.
	MaxSteps = 4096
	// MaxRows is the number of rows of the longest result.
	MaxRows = 64 << 10
	// MaxHandleBytes is where a result behind a handle ends, and its default, bytes: with the row
	// that passes it.
	MaxHandleBytes = 16 << 20
	// DefaultInlineBytes is where a result in the reply ends unless the step says otherwise, bytes.
	DefaultInlineBytes = 1 << 20
	// MaxInlineBytes is the size of the largest result in a reply, bytes. One row that is larger is an
	// error: it belongs behind a handle.
	MaxInlineBytes = 4 << 20
	// MaxLastCell is the size of the largest cell in the last row that a step reports beside a
	// handle, bytes; larger ones are null there.
	MaxLastCell = 64 << 10
)

// Options say which file a database is and how it is kept.
type Options struct {
	// Path is the file, relative to the working directory at the time of Open, or Memory.
	Path string
	// Synchronous is "full" (the default: what is committed survives a power cut), "normal" (the last
	// commits may be lost by one, never the file's integrity) or "extra".
	Synchronous string
	// BusyTimeout is how long a program waits for another process's write, 5 s when 0.
	BusyTimeout time.Duration
	// Readers is the largest number of reader connections, 4 when 0.
	Readers int
	// Logger gets what the guest must not see, such as the path of a file that can't be opened.
	// Nil logs nothing.
	Logger hclog.Logger
}

// maxPath leaves room for the names of the files beside the file, bytes.
const maxPath = 504

const (
	defaultBusyTimeout = 5 * time.Second
	defaultReaders     = 4
)

// check fills in the defaults and returns every problem at once.
func (o *Options) check() error {
	var errs []error
	switch {
	case o.Path == "":
		errs = append(errs, errors.New("path is empty"))
	case strings.ContainsRune(o.Path, 0):
		errs = append(errs, fmt.Errorf("path %q contains a NUL", o.Path))
	case o.Path != Memory:
		abs, err := filepath.Abs(o.Path)
		if err != nil {
			errs = append(errs, fmt.Errorf("path %q: %w", o.Path, err))
		}
		if o.Path = abs; len(abs) > maxPath {
			errs = append(errs, fmt.Errorf("path has %d bytes, and SQLite takes %d", len(abs), maxPath))
		}
	}
	if o.Synchronous == "" {
		o.Synchronous = "full"
	}
	o.Synchronous = strings.ToLower(o.Synchronous)
	switch o.Synchronous {
	case "full", "normal", "extra":
	default:
		errs = append(errs, fmt.Errorf("synchronous %q is not one of full, normal, extra", o.Synchronous))
	}
	if o.BusyTimeout < 0 {
		errs = append(errs, fmt.Errorf("busy timeout %s is negative", o.BusyTimeout))
	} else if o.BusyTimeout == 0 {
		o.BusyTimeout = defaultBusyTimeout
	}
	if o.Readers < 0 {
		errs = append(errs, fmt.Errorf("%d readers are too few", o.Readers))
	} else if o.Readers == 0 {
		o.Readers = defaultReaders
	}
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	return errors.Join(errs...)
}
