package execd

import (
	"os"
	"sync"
	"time"
)

// keepFinished is how many ended executions are remembered.
const keepFinished = 10_000

// execution is one command, running or ended.
type execution struct {
	id      string
	command string
	started time.Time
	output  *os.File // background only: stdout and stderr, unlinked

	mu       sync.Mutex
	proc     *Process
	finished time.Time
	exitCode *int
	failure  string
}

type executionStatus struct {
	ID         string     `json:"id"`
	Content    string     `json:"content"`
	Running    bool       `json:"running"`
	ExitCode   *int       `json:"exit_code,omitempty"`
	Error      string     `json:"error,omitempty"`
	StartedAt  time.Time  `json:"started_at"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
}

func (e *execution) finish(code int, failure string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.exitCode, e.failure, e.finished = &code, failure, time.Now()
}

func (e *execution) status() executionStatus {
	e.mu.Lock()
	defer e.mu.Unlock()
	st := executionStatus{ID: e.id, Content: e.command, Running: e.exitCode == nil, ExitCode: e.exitCode, Error: e.failure, StartedAt: e.started}
	if e.exitCode != nil {
		finished := e.finished
		st.FinishedAt = &finished
	}
	return st
}

func (e *execution) process() (p *Process, running bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.proc, e.proc != nil && e.exitCode == nil
}

// executions remembers the sandbox's commands by id. Safe for concurrent use.
type executions struct {
	mu    sync.Mutex
	byID  map[string]*execution
	ended []string // oldest first
}

func newExecutions() *executions { return &executions{byID: map[string]*execution{}} }

func (x *executions) add(e *execution) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.byID[e.id] = e
}

// end notes that e has ended and forgets the oldest that did.
func (x *executions) end(e *execution) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ended = append(x.ended, e.id)
	if len(x.ended) <= keepFinished {
		return
	}
	old := x.byID[x.ended[0]]
	delete(x.byID, x.ended[0])
	x.ended = x.ended[1:]
	if old != nil && old.output != nil {
		_ = old.output.Close()
	}
}

func (x *executions) get(id string) *execution {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.byID[id]
}
