//go:build unix

package execd

import (
	"net/http"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
)

// CodeContext is the body of POST /code/context, and what the wire says of a
// context.
type CodeContext struct {
	ID       string `json:"id,omitempty"`
	Language string `json:"language,omitempty"`
	Cwd      string `json:"cwd,omitempty"`
}

// codeContext is where cells of a language run, one at a time, with what the
// cells before have left. For bash that is a session; for the others an
// interpreter that lives, and that is started anew after it has died.
type codeContext struct {
	id, language, dir string
	shell             *session

	mu      sync.Mutex
	kernel  *kernel
	running *progress // of the cell that runs; nil: none does
	over    bool
	count   int // bash's cells
}

// progress is how far a cell is.
type progress struct {
	begun chan struct{} // closed when the interpreter is at it, and can be interrupted
	count int           // the interpreter's number of it, once it has begun
	ended chan struct{} // closed when it has ended
}

// take begins a cell; done ends it.
func (c *codeContext) take() (ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running != nil || c.over {
		return false
	}
	c.running = &progress{begun: make(chan struct{}), ended: make(chan struct{})}
	return true
}

// began tells that the interpreter is at the cell. Cells have its descriptor
// and may say so as often as they like.
func (c *codeContext) began(count int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.running.begun:
	default:
		c.running.count = count
		close(c.running.begun)
	}
}

func (c *codeContext) done() {
	c.mu.Lock()
	k := c.kernel
	if k != nil && (c.over || !k.alive()) {
		c.kernel = nil
	} else {
		k = nil
	}
	close(c.running.ended)
	c.running = nil
	c.mu.Unlock()
	if k != nil {
		k.close()
	}
}

// live returns the context's interpreter and starts one if need be. The
// caller has taken the context.
func (s *Server) live(c *codeContext) (*kernel, error) {
	c.mu.Lock()
	k := c.kernel
	c.mu.Unlock()
	if k != nil && k.alive() {
		return k, nil
	}
	if k != nil {
		k.close() // it died between two cells
	}
	k, err := s.startKernel(c.language, c.dir)
	c.mu.Lock()
	over := c.over
	c.kernel = nil
	if err == nil && !over {
		c.kernel = k
	}
	c.mu.Unlock()
	if err == nil && over {
		k.close()
		return nil, errContextGone
	}
	return k, err
}

// interrupt stops the cell that runs, if any: as Ctrl-C would, and after some
// time with its interpreter.
func (c *codeContext) interrupt() {
	c.mu.Lock()
	k, running := c.kernel, c.running
	c.mu.Unlock()
	if running == nil {
		return
	}
	if c.shell != nil {
		c.shell.kill()
		return
	}
	if k == nil {
		return
	}
	t := time.NewTimer(cellGrace)
	defer t.Stop()
	again := time.NewTicker(askAgain)
	defer again.Stop()
	for begun := running.begun; ; {
		select {
		case <-begun: // before, a signal would be lost
			begun = nil
			if !k.ask(running.count) {
				_ = k.proc.Signal(syscall.SIGINT) // it may have ended just now
			}
			again.Reset(askAgain)
			continue
		case <-again.C:
			if begun == nil && k.asks {
				_ = k.proc.Signal(syscall.SIGINT)
			}
			continue
		case <-running.ended:
		case <-k.proc.Done:
		case <-t.C:
			k.proc.killSession()
			<-k.proc.Done
		}
		return
	}
}

// end ends the context: the cell that runs, its interpreter, what it started.
func (c *codeContext) end() {
	c.mu.Lock()
	c.over = true
	k, running := c.kernel, c.running
	c.mu.Unlock()
	switch {
	case c.shell != nil:
		c.shell.end()
	case k != nil && running != nil:
		k.proc.killSession() // and the cell's end, the rest
		<-k.proc.Done
	case k != nil:
		k.close()
	}
}

// contexts are the sandbox's code contexts. Safe for concurrent use.
type contexts struct {
	mu       sync.Mutex
	byID     map[string]*codeContext
	defaults map[string]*codeContext // by language
}

func newContexts() *contexts {
	return &contexts{byID: map[string]*codeContext{}, defaults: map[string]*codeContext{}}
}

func (x *contexts) get(id string) *codeContext {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.byID[id]
}

func newContext(language, dir string) *codeContext {
	c := &codeContext{id: strings.ReplaceAll(uuid.NewString(), "-", ""), language: language, dir: dir}
	if language == bashLanguage {
		c.shell = newSession(dir)
	}
	return c
}

func (x *contexts) add(c *codeContext) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.byID[c.id] = c
}

// of returns a language's default context.
func (x *contexts) of(language, dir string) *codeContext {
	x.mu.Lock()
	defer x.mu.Unlock()
	c := x.defaults[language]
	if c == nil {
		c = newContext(language, dir)
		x.byID[c.id], x.defaults[language] = c, c
	}
	return c
}

// list returns the contexts of a language, or all, by id.
func (x *contexts) list(language string) []CodeContext {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := []CodeContext{}
	for _, c := range x.byID {
		if language == "" || c.language == language {
			out = append(out, CodeContext{ID: c.id, Language: c.language})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out
}

func (x *contexts) remove(id string) bool {
	x.mu.Lock()
	c := x.byID[id]
	delete(x.byID, id)
	if c != nil && x.defaults[c.language] == c {
		delete(x.defaults, c.language)
	}
	x.mu.Unlock()
	if c == nil {
		return false
	}
	c.end()
	return true
}

func (s *Server) getContext(w http.ResponseWriter, id string) {
	if c := s.contexts.get(id); c != nil {
		writeJSON(w, http.StatusOK, CodeContext{ID: c.id, Language: c.language})
		return
	}
	noContext(w, id)
}

func (s *Server) removeContext(w http.ResponseWriter, id string) {
	if s.contexts.remove(id) {
		w.WriteHeader(http.StatusOK)
		return
	}
	noContext(w, id)
}

func noContext(w http.ResponseWriter, id string) {
	writeError(w, http.StatusNotFound, codeContextNotFound, "context "+id+" not found")
}

// createContext makes a context, and starts its interpreter: whoever asks for
// one learns at once that it isn't there.
func (s *Server) createContext(w http.ResponseWriter, r *http.Request) {
	var q CodeContext
	if !decode(w, r, &q) {
		return
	}
	refuse := func(err error) {
		writeError(w, http.StatusInternalServerError, codeRuntime, "error creating code context. "+err.Error())
	}
	dir, err := s.makeDir(q.Cwd)
	if err != nil {
		refuse(err)
		return
	}
	if _, _, err := s.interpreterOf(q.Language); err != nil {
		refuse(err)
		return
	}
	c := newContext(q.Language, dir)
	if c.shell == nil {
		if _, err := s.live(c); err != nil {
			refuse(err)
			return
		}
	}
	s.contexts.add(c)
	writeJSON(w, http.StatusOK, CodeContext{ID: c.id, Language: c.language, Cwd: q.Cwd})
}

func (s *Server) listContexts(w http.ResponseWriter, r *http.Request) {
	language := r.URL.Query().Get("language")
	if !hasContexts(language) {
		writeError(w, http.StatusInternalServerError, codeRuntime, "unsupported language context operation: "+language)
		return
	}
	writeJSON(w, http.StatusOK, s.contexts.list(language))
}

func (s *Server) removeContexts(w http.ResponseWriter, r *http.Request) {
	language := r.URL.Query().Get("language")
	if language == "" {
		writeError(w, http.StatusBadRequest, codeMissingQuery, "missing query parameter 'language'")
		return
	}
	for _, c := range s.contexts.list(language) {
		s.contexts.remove(c.ID)
	}
	w.WriteHeader(http.StatusOK)
}

func hasContexts(language string) bool {
	return language != commandLanguage && language != backgroundLanguage && language != "sql"
}
