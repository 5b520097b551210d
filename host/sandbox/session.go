package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// Session is a bash session: working directory and exported variables are carried from one command
// to the next. Commands run one at a time.
type Session struct {
	h  *Handle
	id string
}

// SessionOptions says how to run a command in a session.
type SessionOptions struct {
	Cwd     string        // becomes the session's own
	Timeout time.Duration // after which the shell is killed; 0: a day
	// Strict makes Wait return a CommandError when the command does not exit with 0.
	Strict      bool
	Events      bool // as in ExecOptions
	ResultBytes int  // as in ExecOptions
}

// CreateSession makes a session; cwd is made when it is missing. It is not recorded.
func (h *Handle) CreateSession(ctx context.Context, cwd string) (*Session, error) {
	const op = "creating session"
	if err := h.drives(); err != nil {
		return nil, h.fail(op, err)
	}
	if err := h.ready(); err != nil {
		return nil, h.fail(op, err)
	}
	id, err := h.execd.CreateSession(ctx, cwd)
	if err != nil {
		return nil, h.fail(op, err)
	}
	s := &Session{h: h, id: id}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sessions[s] = struct{}{}
	return s, nil
}

// ID returns the sandbox's id of the session.
func (s *Session) ID() string { return s.id }

// Exec runs a command in the session, like [Handle.Exec]. It takes a position in the ledger and is
// recorded, but never answered from there: a resumed sandbox runs it, because what it changes in the
// session is not kept. Standard error comes as standard output. When ctx ends, the session ends.
func (s *Session) Exec(ctx context.Context, command string, opts SessionOptions) (*Exec, error) {
	run := opensandbox.SessionRun{Command: command, Cwd: opts.Cwd, Timeout: opts.Timeout}
	return s.h.begin(ctx, ExecOptions{
		Cwd: opts.Cwd, Timeout: opts.Timeout, Strict: opts.Strict, Events: opts.Events, ResultBytes: opts.ResultBytes,
	}, work{
		live: true,
		spec: ledger.ExecSpec{Kind: ledger.KindSession, Command: command, Cwd: opts.Cwd},
		started: func(seq int64, digest string) ([]byte, error) {
			return startedPayload("cmd", command, seq, struct {
				SessionID string `json:"sessionId"`
			}{s.id}, digest)
		},
		stream: func(ctx context.Context, x *Exec) (ending, error) {
			return x.readStream(ctx, func(ctx context.Context) (*opensandbox.Stream, error) {
				return s.h.execd.RunInSession(ctx, s.id, run)
			})
		},
	})
}

// Close ends the session. It is idempotent; the handle's Close does it, too.
func (s *Session) Close(ctx context.Context) error {
	s.h.mu.Lock()
	_, open := s.h.sessions[s]
	delete(s.h.sessions, s)
	s.h.mu.Unlock()
	if !open {
		return nil
	}
	return s.h.fail("closing session", s.h.execd.DeleteSession(ctx, s.id))
}

// endSessions closes what the caller left open in a sandbox that goes on.
func (h *Handle) endSessions(ctx context.Context) {
	h.mu.Lock()
	var open []*Session
	for s := range h.sessions {
		open = append(open, s)
	}
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, execGrace)
	defer cancel()
	var problems []error
	for _, s := range open {
		problems = append(problems, s.Close(ctx))
	}
	if err := errors.Join(problems...); err != nil {
		h.log.Warn("sessions are left in the sandbox", "err", fmt.Errorf("closing them: %w", err))
	}
}
