//go:build unix

package execd

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// errContextGone: a context was deleted while it was wanted.
var errContextGone = errors.New("the context was deleted")

// RunCodeRequest is the body of POST /code. Its name shows in error messages
// of the wire.
type RunCodeRequest struct {
	Context   CodeContext `json:"context"`
	Code      string      `json:"code"`
	TimeoutMs int64       `json:"timeout,omitempty"` // milliseconds; 0 is none; ours
}

func (q *RunCodeRequest) validate() string {
	switch {
	case q.Code == "":
		return "Key: 'RunCodeRequest.Code' Error:Field validation for 'Code' failed on the 'required' tag"
	case q.TimeoutMs < 0:
		return "Key: 'RunCodeRequest.TimeoutMs' Error:Field validation for 'TimeoutMs' failed on the 'gte' tag"
	}
	return ""
}

func (s *Server) runCode(w http.ResponseWriter, r *http.Request) {
	var q RunCodeRequest
	if !decode(w, r, &q) {
		return
	}
	if msg := q.validate(); msg != "" {
		invalid(w, msg)
		return
	}
	_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxBody))
	if q.Context.ID == "" && (q.Context.Language == "" || !hasContexts(q.Context.Language)) && q.Context.Language != "sql" {
		s.runCodeAsCommand(w, &q)
		return
	}
	c, err := s.contextFor(&q)
	if err != nil {
		writeError(w, http.StatusInternalServerError, codeRuntime, "error running codes "+err.Error())
		return
	}
	if c == nil {
		noContext(w, q.Context.ID)
		return
	}
	if !c.take() {
		stream := newEventStream(w, s.log)
		stream.open(c.id)
		stream.fail("error running codes session is busy")
		return
	}
	defer c.done()
	if c.shell != nil {
		s.runBashCell(w, r, c, &q)
		return
	}
	k, err := s.live(c)
	if err != nil {
		writeError(w, http.StatusInternalServerError, codeRuntime, "error running codes "+err.Error())
		return
	}
	stream := newEventStream(w, s.log)
	stream.open(c.id)
	t := cell{c: c, k: k, q: &q, stream: stream, began: time.Now()}
	t.run()
}

// runCodeAsCommand is what the wire does with code of no language.
func (s *Server) runCodeAsCommand(w http.ResponseWriter, q *RunCodeRequest) {
	dir, err := s.workingDir(q.Context.Cwd)
	if err != nil {
		invalid(w, err.Error())
		return
	}
	c := &RunCommandRequest{Command: q.Code, Cwd: dir, TimeoutMs: q.TimeoutMs}
	e := &execution{id: newID(), command: q.Code, started: time.Now()}
	if q.Context.Language == backgroundLanguage {
		s.runBackground(w, c, e)
		return
	}
	s.runForeground(w, c, e)
}

// contextFor is the context that a request names, or the default of its
// language; nil if it names one that isn't there.
func (s *Server) contextFor(q *RunCodeRequest) (*codeContext, error) {
	if q.Context.ID != "" {
		return s.contexts.get(q.Context.ID), nil
	}
	if _, _, err := s.interpreterOf(q.Context.Language); err != nil {
		return nil, err
	}
	return s.contexts.of(q.Context.Language, s.opts.Dir), nil
}

// cell is a piece of code that an interpreter runs.
type cell struct {
	c      *codeContext
	k      *kernel
	q      *RunCodeRequest
	stream *eventStream
	began  time.Time
	late   bool // its time is over
}

// run runs the cell to its end.
func (t *cell) run() {
	stdout, stderr := newChunks("stdout", t.stream), newChunks("stderr", t.stream)
	t.k.stdout.to(stdout.take)
	t.k.stderr.to(stderr.take)
	flush := func() {
		t.k.stdout.flush()
		t.k.stderr.flush()
	}
	count, failure := t.follow(flush)
	flush()
	t.k.stdout.to(nil)
	t.k.stderr.to(nil)
	stdout.end()
	stderr.end()
	t.stream.conclude(count, failure, t.began)
}

// follow passes results on until the cell has ended, and tells how.
func (t *cell) follow(flush func()) (count int, failure *eventError) {
	if err := t.k.send(t.q.Code, t.c.language == typescriptLanguage); err != nil {
		return 0, t.died()
	}
	var limit <-chan time.Time
	if t.q.TimeoutMs > 0 {
		timer := time.NewTimer(milliseconds(t.q.TimeoutMs))
		defer timer.Stop()
		limit = timer.C
	}
	for {
		select {
		case m, ok := <-t.k.replies:
			switch {
			case !ok:
				return count, t.died()
			case m.Type == "begun":
				t.c.began(m.Count)
			case m.Type == "result":
				flush()
				count = m.Count
				t.stream.result(m.Count, m.Data)
			case m.Type == "error":
				failure = t.explain(m.eventError)
			case m.Type == "done":
				if count == m.Count {
					return 0, failure // it has been told
				}
				return m.Count, failure
			}
		case <-t.k.proc.Done:
			return count, t.died()
		case <-limit:
			t.late, limit = true, nil
			go t.c.interrupt()
		}
	}
}

func (t *cell) explain(e eventError) *eventError {
	if t.late {
		e.Name, e.Value = "TimeoutError", fmt.Sprintf("timeout after %dms", t.q.TimeoutMs)
	}
	return &e
}

// died words the end of the interpreter.
func (t *cell) died() *eventError {
	t.k.proc.killSession() // it can't be talked to any more
	<-t.k.proc.Done
	_, how := verdict(t.k.proc)
	if how == "" {
		how = "exit status 0"
	}
	text := t.c.language + " ended: " + how
	return t.explain(eventError{Name: "KernelDied", Value: text, Traceback: []string{text, "The next cell begins with a new one."}})
}

// runBashCell runs a cell of bash: a run of the context's session, but for
// two streams of output.
func (s *Server) runBashCell(w http.ResponseWriter, r *http.Request, c *codeContext, q *RunCodeRequest) {
	refuse := func(err error) {
		writeError(w, http.StatusInternalServerError, codeRuntime, "error running codes "+err.Error())
	}
	stdout, outW, err := newTap()
	if err != nil {
		refuse(err)
		return
	}
	defer stdout.close()
	stderr, errW, err := newTap()
	if err != nil {
		_ = outW.Close()
		refuse(err)
		return
	}
	defer stderr.close()
	stream := newEventStream(w, s.log)
	out, errs := newChunks("stdout", stream), newChunks("stderr", stream)
	opened := make(chan struct{}) // what it prints before waits
	stdout.to(func(b []byte) { <-opened; out.take(b) })
	stderr.to(func(b []byte) { <-opened; errs.take(b) })
	began := time.Now()
	p, leave, err := s.startRun(c.shell, q.Code, outW, errW)
	_ = outW.Close()
	_ = errW.Close()
	if err != nil {
		refuse(err)
		return
	}
	defer func() { _ = leave.Close() }()
	stream.open(c.id)
	close(opened)
	// What stays in the background says nothing more: a cell ends with its shell.
	why := c.shell.await(r, p, nil, q.TimeoutMs, false)
	stdout.flush()
	stderr.flush()
	stdout.to(nil)
	stderr.to(nil)
	out.end()
	errs.end()
	c.shell.ended(leave)
	c.mu.Lock()
	c.count++
	count := c.count
	c.mu.Unlock()
	var failure *eventError
	switch code, text := verdict(p); {
	case why == runTimedOut:
		failure = &eventError{"TimeoutError", fmt.Sprintf("timeout after %dms", q.TimeoutMs), []string{text}}
	case text != "":
		failure = &eventError{"CommandExecError", strconv.Itoa(code), []string{text}}
	}
	stream.conclude(count, failure, began)
}

func (s *eventStream) result(count int, data results) {
	s.send(event{Type: "execution_count", Count: count})
	s.send(event{Type: "result", Results: data})
	s.flushNow()
}

// conclude ends a cell's stream. Unlike a command's, it is complete also after
// an error.
func (s *eventStream) conclude(count int, failure *eventError, began time.Time) {
	if count > 0 {
		s.send(event{Type: "execution_count", Count: count})
	}
	if failure != nil {
		if failure.Traceback == nil {
			failure.Traceback = []string{}
		}
		s.send(event{Type: "status", Text: "error"})
		s.send(event{Type: "error", Error: failure})
	}
	s.end(event{Type: "execution_complete", ExecutionTime: time.Since(began).Milliseconds()})
}
