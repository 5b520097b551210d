package credential

import (
	"encoding/base64"
	"io"
	"strings"
	"sync"
	"sync/atomic"
)

// Redactor knows values and takes them out of whatever is to be written or shown: as they are, in
// base64 with either alphabet and wherever they begin in it, in hex, percent-encoded, escaped as in
// JSON, and broken over lines. Values of less than four bytes are not looked for.
//
// As long as it knows none, everything comes back as it is, at the price of one look at a pointer. It
// is safe for concurrent use; a nil one knows nothing.
type Redactor struct {
	current atomic.Pointer[patterns] // nil: no values

	mu    sync.Mutex
	known map[string]*knownValue
}

type knownValue struct {
	count int // of those who added it
	forms []string
}

// NewRedactor returns one that knows nothing yet.
func NewRedactor() *Redactor { return &Redactor{known: make(map[string]*knownValue)} }

// Add makes values known. Calling forget ends that, unless somebody else has added them, too; it may
// be called several times.
func (r *Redactor) Add(values ...Secret) (forget func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	changed := false
	for _, value := range values {
		text := value.Reveal()
		if has := r.known[text]; has != nil {
			has.count++
			continue
		}
		r.known[text] = &knownValue{count: 1, forms: forms(text)}
		changed = true
	}
	if changed {
		r.build()
	}
	return sync.OnceFunc(func() { r.forget(values) })
}

// AddBasic is Add for what TypeBasic is bound with: also what it was made of is known then.
func (r *Redactor) AddBasic(value Secret) (forget func()) {
	values := []Secret{value}
	if plain, err := base64.StdEncoding.DecodeString(value.Reveal()); err == nil {
		values = append(values, NewSecret(string(plain)))
		if _, password, ok := strings.Cut(string(plain), ":"); ok {
			values = append(values, NewSecret(password))
		}
	}
	return r.Add(values...)
}

func (r *Redactor) forget(values []Secret) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, value := range values {
		text := value.Reveal()
		if has := r.known[text]; has != nil {
			if has.count--; has.count == 0 {
				delete(r.known, text)
			}
		}
	}
	r.build()
}

func (r *Redactor) build() {
	var all []string
	for _, value := range r.known {
		all = append(all, value.forms...)
	}
	if len(all) == 0 {
		r.current.Store(nil)
		return
	}
	r.current.Store(newPatterns(all))
}

func (r *Redactor) patterns() *patterns {
	if r == nil {
		return nil
	}
	return r.current.Load()
}

// Active reports whether there is anything to look for.
func (r *Redactor) Active() bool { return r.patterns() != nil }

// Text returns a text without the values.
func (r *Redactor) Text(s string) string {
	p := r.patterns()
	if p == nil || !p.has([]byte(s)) {
		return s
	}
	return string(p.replace([]byte(s)))
}

// Bytes is Text. It returns its argument when there is nothing to take out, and does not change it.
func (r *Redactor) Bytes(b []byte) []byte {
	if p := r.patterns(); p != nil {
		return p.replace(b)
	}
	return b
}

// Has reports whether a text has one of the values.
func (r *Redactor) Has(s string) bool {
	p := r.patterns()
	return p != nil && p.has([]byte(s))
}

// Error returns an error whose text is without the values; errors.Is and errors.As find in it what
// they find in err.
func (r *Redactor) Error(err error) error {
	if err == nil || !r.Active() {
		return err
	}
	text := err.Error()
	clean := r.Text(text)
	if clean == text {
		return err
	}
	return &cleanError{text: clean, err: err}
}

type cleanError struct {
	text string
	err  error
}

func (e *cleanError) Error() string { return e.text }

// Unwrap returns the error itself, whose text has the values.
func (e *cleanError) Unwrap() error { return e.err }

// Writer returns a writer that takes the values out of what is written with one call.
func (r *Redactor) Writer(w io.Writer) io.Writer { return &cleanWriter{r, w} }

type cleanWriter struct {
	r *Redactor
	w io.Writer
}

func (c *cleanWriter) Write(p []byte) (int, error) {
	clean := c.r.Bytes(p)
	n, err := c.w.Write(clean)
	if err == nil && n == len(clean) {
		return len(p), nil
	}
	return min(n, len(p)), err
}
