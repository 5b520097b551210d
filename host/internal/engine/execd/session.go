//go:build unix

package execd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
)

// CreateSessionRequest is the body of POST /session, which may be empty.
type CreateSessionRequest struct {
	Cwd string `json:"cwd,omitempty"`
}

// RunInSessionRequest is the body of POST /session/{id}/run. Its name shows
// in error messages of the wire.
type RunInSessionRequest struct {
	Command   string `json:"command"`
	Cwd       string `json:"cwd,omitempty"`
	TimeoutMs int64  `json:"timeout,omitempty"` // milliseconds; 0 is the default of a day
}

func (q *RunInSessionRequest) validate() string {
	switch {
	case q.Command == "":
		return "Key: 'RunInSessionRequest.Command' Error:Field validation for 'Command' failed on the 'required' tag"
	case q.TimeoutMs < 0:
		return "Key: 'RunInSessionRequest.TimeoutMs' Error:Field validation for 'TimeoutMs' failed on the 'gte' tag"
	}
	return ""
}

// sessionTimeout is how long a run may take that doesn't say.
const sessionTimeout = 24 * time.Hour

// session is a directory and a state of bash that runs of commands hand on.
// Runs at the same time don't wait for each other: each begins with what the
// last one to end has left.
type session struct {
	id   string
	gone chan struct{} // closed when it is deleted

	mu    sync.Mutex
	dir   string
	state []byte // commands that restore it; nil before the first run
	procs map[*Process]struct{}
	over  bool
}

func newSession(dir string) *session {
	return &session{id: uuid.NewString(), dir: dir, procs: map[*Process]struct{}{}, gone: make(chan struct{})}
}

// kill ends the runs, and what earlier ones have left behind.
func (x *session) kill() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for p := range x.procs {
		p.killSession()
	}
}

// end ends the session and whatever it has started. It is called once.
func (x *session) end() {
	x.mu.Lock()
	x.over = true
	procs := x.procs
	x.procs = nil
	x.mu.Unlock()
	close(x.gone)
	for p := range procs {
		p.endSession()
	}
}

// sessions are the sandbox's bash sessions. Safe for concurrent use.
type sessions struct {
	mu   sync.Mutex
	byID map[string]*session
}

func newSessions() *sessions { return &sessions{byID: map[string]*session{}} }

func (x *sessions) get(id string) *session {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.byID[id]
}

func (x *sessions) add(s *session) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.byID[s.id] = s
}

// remove deletes a session and kills whatever it has started.
func (x *sessions) remove(id string) bool {
	x.mu.Lock()
	s := x.byID[id]
	delete(x.byID, id)
	x.mu.Unlock()
	if s == nil {
		return false
	}
	s.end()
	return true
}

func (s *Server) removeSession(w http.ResponseWriter, id string) {
	if !s.sessions.remove(id) {
		writeError(w, http.StatusNotFound, codeContextNotFound, "session "+id+" not found")
		return
	}
	w.WriteHeader(http.StatusOK)
}

func (s *Server) createSession(w http.ResponseWriter, r *http.Request) {
	var q CreateSessionRequest
	if !decodeOptional(w, r, &q) {
		return
	}
	dir, err := s.makeDir(q.Cwd)
	if err == nil && s.bash() == "" {
		err = s.missing("bash", "bash")
	}
	if err != nil {
		writeError(w, http.StatusInternalServerError, codeRuntime, "error creating session. "+err.Error())
		return
	}
	x := newSession(dir)
	s.sessions.add(x)
	writeJSON(w, http.StatusOK, map[string]string{"session_id": x.id})
}

// makeDir is where a session or terminal begins; it is made if need be.
func (s *Server) makeDir(cwd string) (string, error) {
	if cwd == "" {
		return s.opts.Dir, nil
	}
	dir, err := s.path(cwd)
	if err != nil {
		return "", err
	}
	if err := s.opts.User.MakeDir(dir, 0o777); err != nil {
		return "", fmt.Errorf("making the working directory: %w", err)
	}
	return dir, nil
}

// bash is the sandbox's bash, or empty.
func (s *Server) bash() string { return s.program("bash") }

func (s *Server) runInSession(w http.ResponseWriter, r *http.Request, id string) {
	var q RunInSessionRequest
	if !decode(w, r, &q) {
		return
	}
	if msg := q.validate(); msg != "" {
		invalid(w, msg)
		return
	}
	_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxBody)) // only then is a reader's going away noticed
	x := s.sessions.get(id)
	if x == nil {
		writeError(w, http.StatusNotFound, codeContextNotFound, "session "+id+" not found")
		return
	}
	if q.Cwd != "" {
		dir, err := s.workingDir(q.Cwd)
		if err != nil {
			invalid(w, err.Error())
			return
		}
		x.mu.Lock()
		x.dir = dir
		x.mu.Unlock()
	}
	stream := newEventStream(w, s.log)
	out, err := newOutput("stdout", s.tempDir(), stream)
	if err != nil {
		writeError(w, http.StatusInternalServerError, codeRuntime, "error running in session. "+err.Error())
		return
	}
	began := time.Now()
	stream.open(x.id)
	p, leave, err := s.startRun(x, q.Command, out.write, out.write)
	_ = out.write.Close()
	if err != nil {
		_ = out.read.Close()
		stream.end(failed(err.Error(), err.Error()))
		return
	}
	defer func() { _ = leave.Close() }()
	out.pump()
	why := x.await(r, p, out.done, q.TimeoutMs, true)
	out.finish()
	x.ended(leave)
	if why == runTimedOut {
		text := fmt.Sprintf("timeout after %dms", q.TimeoutMs)
		stream.end(failed("-1", text))
		return
	}
	stream.end(outcome(p, began))
}

// startRun starts a run of code. What it leaves will be in leave.
func (s *Server) startRun(x *session, code string, out, errs *os.File) (p *Process, leave *os.File, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		return nil, nil, errors.New("the session was deleted")
	}
	if _, err := os.Stat(x.dir); err != nil {
		return nil, nil, fmt.Errorf("working directory does not exist: %w", err)
	}
	var files [3]*os.File
	defer func() {
		for i, f := range files {
			if f != nil && (i < 2 || err != nil) {
				_ = f.Close()
			}
		}
	}()
	for i, b := range [][]byte{x.state, []byte(strings.ReplaceAll(code, "\x00", "")), nil} {
		if files[i], err = memoryFile("session", b); err != nil {
			return nil, nil, err
		}
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = null.Close() }()
	env := s.environ(nil)
	if x.state != nil {
		env = nil // it is in the state
	}
	bash := s.bash()
	if bash == "" {
		return nil, nil, s.missing("bash", "bash")
	}
	p, err = s.opts.Table.Start(bash, []string{"bash", "--noprofile", "--norc", "-c", sessionProgram()}, &syscall.ProcAttr{
		Dir:   x.dir,
		Env:   env,
		Files: []uintptr{null.Fd(), out.Fd(), errs.Fd(), files[0].Fd(), files[1].Fd(), files[2].Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true, Credential: s.credential(nil, nil)},
	})
	if err != nil {
		return nil, nil, err
	}
	x.procs[p] = struct{}{}
	return p, files[2], nil
}

type runEnd int

const (
	runDone runEnd = iota
	runTimedOut
	runStopped // deleted, or its reader has gone
)

// await returns when p has ended: by itself and, if written isn't nil, with
// everybody who could still write to its output; or because its time was over,
// its session was deleted, or its reader has gone, if attached. The last ends
// only bash itself.
func (x *session) await(r *http.Request, p *Process, written <-chan struct{}, ms int64, attached bool) runEnd {
	limit := sessionTimeout
	if ms > 0 {
		limit = milliseconds(ms)
	}
	t := time.NewTimer(limit)
	defer t.Stop()
	why := runDone
	var reader <-chan struct{}
	if attached {
		reader = r.Context().Done()
	}
	done := p.Done
	for written != nil || done != nil {
		select {
		case <-written:
			written = nil
			continue
		case <-done:
			done = nil
			continue
		case <-t.C:
			why = runTimedOut
			p.killSession()
		case <-x.gone:
			why = runStopped
		case <-reader:
			why = runStopped
			p.kill()
		}
		<-p.Done
		return why
	}
	return why
}

// ended takes over what a run has left, and forgets the processes that are
// no more.
func (x *session) ended(leave *os.File) {
	dir, state, ok := left(leave)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		return
	}
	if ok {
		x.dir, x.state = dir, state
	}
	for p := range x.procs {
		select {
		case <-p.Done:
			if !p.release() {
				delete(x.procs, p)
			}
		default:
		}
	}
}

// decodeOptional is decode for bodies that may be empty.
func decodeOptional(w http.ResponseWriter, r *http.Request, v any) bool {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil && len(bytes.TrimSpace(b)) == 0 {
		return true
	}
	if err == nil {
		r.Body = io.NopCloser(bytes.NewReader(b))
	}
	return decode(w, r, v)
}
