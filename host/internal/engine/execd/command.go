//go:build unix

package execd

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// RunCommandRequest is the body of POST /command. Its name shows in error
// messages of the wire.
type RunCommandRequest struct {
	Command    string            `json:"command"`
	Argv       []string          `json:"argv,omitempty"` // a program and its arguments, in place of Command
	Cwd        string            `json:"cwd,omitempty"`
	Background bool              `json:"background,omitempty"`
	TimeoutMs  int64             `json:"timeout,omitempty"` // milliseconds; 0 is none
	UID        *uint32           `json:"uid,omitempty"`
	GID        *uint32           `json:"gid,omitempty"`
	Envs       map[string]string `json:"envs,omitempty"`
}

// validate returns the message of the first rule that the request breaks.
func (q *RunCommandRequest) validate() string {
	switch {
	case q.Command != "" && q.Argv != nil:
		return "command and argv are mutually exclusive"
	case slices.Index(q.Argv, "") == 0, q.Argv != nil && len(q.Argv) == 0:
		return "argv must begin with the name of a program"
	case strings.Contains(strings.Join(q.Argv, ""), "\x00"):
		return "argv must not contain NUL"
	case q.Command == "" && q.Argv == nil:
		return "Key: 'RunCommandRequest.Command' Error:Field validation for 'Command' failed on the 'required' tag"
	case q.TimeoutMs < 0:
		return "Key: 'RunCommandRequest.TimeoutMs' Error:Field validation for 'TimeoutMs' failed on the 'gte' tag"
	case q.GID != nil && q.UID == nil:
		return "uid is required when gid is provided"
	}
	return ""
}

func (s *Server) runCommand(w http.ResponseWriter, r *http.Request) {
	var q RunCommandRequest
	if !decode(w, r, &q) {
		return
	}
	if msg := q.validate(); msg != "" {
		invalid(w, msg)
		return
	}
	dir, err := s.workingDir(q.Cwd)
	if err != nil {
		invalid(w, err.Error())
		return
	}
	q.Cwd = dir
	e := &execution{id: newID(), command: q.Command + strings.Join(q.Argv, " "), started: time.Now()}
	if q.Background {
		s.runBackground(w, &q, e)
		return
	}
	s.runForeground(w, &q, e)
}

// workingDir is where a command starts.
func (s *Server) workingDir(cwd string) (string, error) {
	if cwd == "" {
		return s.opts.Dir, nil
	}
	dir, err := s.path(cwd)
	if err != nil {
		return "", err
	}
	st, err := os.Stat(dir)
	if err != nil {
		return "", fmt.Errorf("working directory does not exist: %s: %w", dir, err)
	}
	if !st.IsDir() {
		return "", fmt.Errorf("working directory is not a directory: %s", dir)
	}
	return dir, nil
}

func (s *Server) runForeground(w http.ResponseWriter, q *RunCommandRequest, e *execution) {
	stream := newEventStream(w, s.log)
	out, err := newOutput("stdout", s.tempDir(), stream)
	if err != nil {
		writeError(w, http.StatusInternalServerError, codeRuntime, err.Error())
		return
	}
	errs, err := newOutput("stderr", s.tempDir(), stream)
	if err != nil {
		out.abandon()
		writeError(w, http.StatusInternalServerError, codeRuntime, err.Error())
		return
	}
	p, startErr := s.start(q, e, out.write, errs.write)
	stream.open(e.id)
	if startErr != nil {
		out.abandon()
		errs.abandon()
		e.finish(255, startErr.Error())
		s.execs.end(e)
		stream.end(failed(startErr.Error(), startErr.Error()))
		return
	}
	out.pump()
	errs.pump()
	stop := s.limit(p, q.TimeoutMs)
	<-p.Done
	stop()
	out.finish()
	errs.finish()
	stream.end(s.conclude(e, p))
}

func (s *Server) runBackground(w http.ResponseWriter, q *RunCommandRequest, e *execution) {
	f, err := unlinkedFile(s.tempDir())
	if err != nil {
		writeError(w, http.StatusInternalServerError, codeRuntime, err.Error())
		return
	}
	e.output = f
	p, err := s.start(q, e, f, f)
	stream := newEventStream(w, s.log)
	stream.open(e.id)
	if err != nil {
		e.finish(255, err.Error())
		s.execs.end(e)
		stream.end(failed(err.Error(), err.Error()))
		return
	}
	go func() {
		stop := s.limit(p, q.TimeoutMs)
		<-p.Done
		stop()
		s.conclude(e, p)
	}()
	stream.end(event{Type: "execution_complete"})
}

// start registers e and starts its process. It is known, and has a status,
// from before its first event on. The write ends are closed here when they
// are pipes: the child has them.
func (s *Server) start(q *RunCommandRequest, e *execution, stdout, stderr *os.File) (*Process, error) {
	if stdout != stderr {
		defer func() { _ = stdout.Close(); _ = stderr.Close() }()
	}
	s.execs.add(e)
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer func() { _ = null.Close() }()
	attr := &syscall.ProcAttr{
		Dir:   q.Cwd,
		Env:   s.environ(q.Envs),
		Files: []uintptr{null.Fd(), stdout.Fd(), stderr.Fd()},
		Sys:   &syscall.SysProcAttr{Credential: s.credential(q.UID, q.GID)},
	}
	path, argv := s.shell, []string{shellName(s.shell), "-c", q.Command}
	if q.Argv != nil {
		if path, err = lookPath(q.Argv[0], attr); err != nil {
			return nil, err
		}
		argv = q.Argv
	}
	p, err := s.opts.Table.Start(path, argv, attr)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	e.proc = p
	e.mu.Unlock()
	return p, nil
}

// limit kills the process group when its time is over. The returned function
// calls that off.
func (s *Server) limit(p *Process, ms int64) func() {
	if ms <= 0 {
		return func() {}
	}
	t := time.AfterFunc(milliseconds(ms), func() { _ = p.Signal(syscall.SIGKILL) })
	return func() { t.Stop() }
}

// milliseconds is a duration, and the longest there is where that is too short.
func milliseconds(ms int64) time.Duration {
	const longest = int64(1<<63-1) / int64(time.Millisecond)
	return time.Duration(min(ms, longest)) * time.Millisecond
}

// conclude records how p ended and words it as the terminal event.
func (s *Server) conclude(e *execution, p *Process) event {
	defer s.execs.end(e)
	code, text := verdict(p)
	e.finish(code, text)
	return outcome(p, e.started)
}

// verdict is the exit code of an ended process (-1 for a signal) and, unless
// that is 0, what it means.
func verdict(p *Process) (code int, text string) {
	ws := p.Status()
	switch {
	case ws.Signaled():
		text := "signal: " + ws.Signal().String()
		if ws.CoreDump() {
			text += " (core dumped)"
		}
		return -1, text
	case ws.ExitStatus() != 0:
		return ws.ExitStatus(), "exit status " + strconv.Itoa(ws.ExitStatus())
	}
	return 0, ""
}

// outcome is the terminal event of an ended process.
func outcome(p *Process, began time.Time) event {
	if code, text := verdict(p); text != "" {
		return failed(strconv.Itoa(code), text)
	}
	return event{Type: "execution_complete", ExecutionTime: time.Since(began).Milliseconds()}
}

func failed(value, text string) event {
	return event{Type: "error", Error: &eventError{Name: "CommandExecError", Value: value, Traceback: []string{text}}}
}

func (s *Server) commandStatus(w http.ResponseWriter, id string) {
	e := s.execs.get(id)
	if e == nil {
		writeError(w, http.StatusNotFound, codeInvalidBody, "command not found: "+id)
		return
	}
	writeJSON(w, http.StatusOK, e.status())
}

// commandLogs sends a background command's output from a byte offset on.
func (s *Server) commandLogs(w http.ResponseWriter, r *http.Request, id string) {
	e := s.execs.get(id)
	if e == nil || e.output == nil {
		writeError(w, http.StatusBadRequest, codeInvalidBody, "command not found: "+id)
		return
	}
	from, err := strconv.ParseInt(r.URL.Query().Get("cursor"), 10, 64)
	if err != nil {
		from = 0
	}
	if from < 0 {
		writeError(w, http.StatusBadRequest, codeInvalidBody, "cursor must not be negative")
		return
	}
	st, err := e.output.Stat()
	if errors.Is(err, os.ErrClosed) {
		writeError(w, http.StatusBadRequest, codeInvalidBody, "command not found: "+id)
		return
	}
	if err != nil {
		writeError(w, http.StatusInternalServerError, codeRuntime, err.Error())
		return
	}
	until := max(from, st.Size())
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("EXECD-COMMANDS-TAIL-CURSOR", strconv.FormatInt(until, 10))
	w.WriteHeader(http.StatusOK)
	_, _ = io.Copy(w, io.NewSectionReader(e.output, from, until-from))
}

// grace is how long an interrupted command has before it is killed.
const grace = 3 * time.Second

// cellGrace is how long an interrupted cell has before its interpreter, and all that it knows, is killed.
const cellGrace = 10 * time.Second

func (s *Server) interrupt(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("id")
	if id == "" {
		writeError(w, http.StatusBadRequest, codeMissingQuery, "missing query parameter 'id'")
		return
	}
	e := s.execs.get(id)
	if e == nil {
		if c := s.contexts.get(id); c != nil {
			c.interrupt()
		} else if !s.sessions.remove(id) {
			writeError(w, http.StatusInternalServerError, codeRuntime, "no such session: "+id)
			return
		}
		w.WriteHeader(http.StatusOK)
		return
	}
	p, running := e.process()
	if !running {
		writeError(w, http.StatusInternalServerError, codeRuntime, "command "+id+" is not running")
		return
	}
	_ = p.Signal(syscall.SIGTERM) // it may have ended just now
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-p.Done:
	case <-t.C:
		_ = p.Signal(syscall.SIGKILL)
		<-p.Done
	}
	w.WriteHeader(http.StatusOK)
}
