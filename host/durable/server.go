package durable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

const (
	// maxExecOutput is how much a short command may print, in bytes.
	maxExecOutput = 16 << 20
	// followFor is after how long the sandbox ends a command whose lines are followed: when the host that
	// followed it was killed, nobody else does. A reader that is still there follows anew.
	followFor = 5 * time.Minute
	// lifetimeLabel says in a sandbox's metadata how long it lives from each sign of life on, in seconds.
	lifetimeLabel = "alineo-host/lifetime"
	// markLabel has the mark that a sandbox was made with.
	markLabel = "alineo-host/mark"
	// resumeWithin is how long a paused sandbox may take to run again.
	resumeWithin = time.Minute
)

// Server is the sandboxes of an OpenSandbox server, the embedded engine included. What runs do in them
// is not in the ledger, which has one driver a sandbox; their making and their end are.
type Server struct {
	client   *sandbox.Client
	wire     *opensandbox.Client
	lifetime time.Duration
}

// NewServer returns the sandboxes of a server. client and wire are of the same one. lifetime is what
// sandboxes are made with when their spec has none; 0 is the client's.
func NewServer(client *sandbox.Client, wire *opensandbox.Client, lifetime time.Duration) *Server {
	return &Server{client: client, wire: wire, lifetime: lifetime}
}

// Provider returns "opensandbox".
func (*Server) Provider() string { return "opensandbox" }

// Create makes a sandbox and lets go of it.
func (s *Server) Create(ctx context.Context, spec Spec, mark string) (string, error) {
	opts := spec.Sandbox
	if opts.Lifetime == 0 {
		opts.Lifetime = s.lifetime
	}
	if opts.Metadata = maps.Clone(opts.Metadata); opts.Metadata == nil {
		opts.Metadata = map[string]string{}
	}
	opts.Metadata[markLabel] = mark
	if opts.Lifetime > 0 {
		// Whoever drives a run there must know what to prolong its life by.
		opts.Metadata[lifetimeLabel] = strconv.FormatInt(int64(opts.Lifetime/time.Second), 10)
	}
	handle, err := s.client.Create(ctx, opts)
	if err != nil {
		return "", err
	}
	id := handle.ID()
	if err := handle.Detach(ctx); err != nil {
		return "", errors.Join(err, s.Destroy(context.WithoutCancel(ctx), id))
	}
	return id, nil
}

// Find lists the server's sandboxes with a mark.
func (s *Server) Find(ctx context.Context, mark string) ([]string, error) {
	var ids []string
	for box, err := range s.wire.ListSandboxes(ctx, opensandbox.SandboxFilter{Metadata: map[string]string{markLabel: mark}}) {
		if err != nil {
			return nil, fmt.Errorf("looking for sandboxes: %w", err)
		}
		if box.Metadata[markLabel] == mark { // not every server filters
			ids = append(ids, box.ID)
		}
	}
	return ids, nil
}

// Open reaches a sandbox; one that is paused runs again.
func (s *Server) Open(ctx context.Context, id string) (Machine, error) {
	box, err := s.wire.GetSandbox(ctx, id)
	if err == nil && box.Status.State == opensandbox.StatePaused {
		box, err = s.wake(ctx, id)
	}
	switch {
	case errors.Is(err, opensandbox.ErrNotFound):
		return nil, fmt.Errorf("opening sandbox %s: %w", id, ErrGone)
	case err != nil:
		return nil, fmt.Errorf("opening sandbox %s: %w", id, err)
	case box.Status.State != opensandbox.StateRunning:
		return nil, fmt.Errorf("opening sandbox %s: %w: it is %s", id, ErrGone, box.Status.State)
	}
	m := &serverMachine{id: id, wire: s.wire, execd: s.wire.Execd(id)}
	if text := box.Metadata[lifetimeLabel]; text != "" {
		seconds, err := strconv.ParseInt(text, 10, 32)
		if err != nil || seconds <= 0 {
			return nil, fmt.Errorf("opening sandbox %s: its label %s is %q, not a number of seconds", id, lifetimeLabel, text)
		}
		m.lifetime = time.Duration(seconds) * time.Second
	}
	return m, nil
}

func (s *Server) wake(ctx context.Context, id string) (*opensandbox.Sandbox, error) {
	ctx, cancel := context.WithTimeout(ctx, resumeWithin)
	defer cancel()
	if err := s.wire.ResumeSandbox(ctx, id); err != nil && !errors.Is(err, opensandbox.ErrConflict) {
		return nil, err
	}
	for {
		box, err := s.wire.GetSandbox(ctx, id)
		if err != nil || box.Status.State == opensandbox.StateRunning {
			return box, err
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// Destroy deletes a sandbox from the server and ends its ledger.
func (s *Server) Destroy(ctx context.Context, id string) error {
	details, err := s.client.FindSandbox(ctx, id)
	if err == nil {
		return s.client.Stop(ctx, store.Key{Name: details.Name, SandboxID: id})
	}
	if !errors.Is(err, store.ErrNotFound) {
		// A machine that goes on costs more than a ledger without its end.
		return errors.Join(s.wire.DeleteSandbox(ctx, id), fmt.Errorf("ending the ledger of sandbox %s: %w", id, err))
	}
	return s.wire.DeleteSandbox(ctx, id)
}

type serverMachine struct {
	id       string
	wire     *opensandbox.Client
	execd    *opensandbox.Execd
	lifetime time.Duration
}

func (m *serverMachine) ID() string { return m.id }

func (*serverMachine) CanStream() bool { return true }

func (m *serverMachine) Exec(ctx context.Context, command string) (stdout []byte, code int, err error) {
	var out bytes.Buffer
	code, err = m.run(ctx, opensandbox.RunRequest{Command: command}, func(line []byte) error {
		if out.Len()+len(line) > maxExecOutput {
			return fmt.Errorf("a command in sandbox %s printed more than %d bytes", m.id, maxExecOutput)
		}
		out.Write(line)
		out.WriteByte('\n')
		return nil
	})
	return out.Bytes(), code, m.gone(err)
}

func (m *serverMachine) Stream(ctx context.Context, command string, line func([]byte) error) error {
	_, err := m.run(ctx, opensandbox.RunRequest{Command: command, Timeout: followFor}, line)
	return m.gone(err)
}

// run runs a command and gives out the lines of its standard output.
func (m *serverMachine) run(ctx context.Context, req opensandbox.RunRequest, line func([]byte) error) (int, error) {
	running, cancel := context.WithCancel(ctx)
	stream, err := m.execd.Run(running, req)
	if err != nil {
		cancel()
		return 0, err
	}
	// In this order: a command whose reader left is interrupted before its stream is closed.
	defer func() {
		cancel()
		_ = stream.Close() // always nil
	}()
	var text []byte
	code := -1
	for {
		frame, err := stream.Next()
		if errors.Is(err, io.EOF) && !errors.Is(err, opensandbox.ErrStreamLost) {
			return code, context.Cause(ctx) // which may be why it ended
		}
		if err != nil {
			return 0, err
		}
		switch {
		case frame.Type == opensandbox.TypeStdout:
			text = frame.AppendText(text[:0])
			if len(text) == 1 && text[0] == '\n' {
				text = text[:0] // so an empty line comes
			}
			if err := line(text); err != nil {
				return 0, err
			}
		case frame.Error != nil:
			if c, ok := frame.Error.ExitCode(); ok {
				code = c
			}
		case frame.Type == opensandbox.TypeExecutionComplete:
			code = 0
		}
	}
}

// gone tells a command that failed because its sandbox isn't there any more.
func (m *serverMachine) gone(err error) error {
	if err == nil || !errors.Is(err, opensandbox.ErrNotFound) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrGone, err)
}

func (m *serverMachine) Spawn(ctx context.Context, command string, opts SpawnOptions) error {
	job, err := m.execd.Start(ctx, opensandbox.RunRequest{Command: command, Cwd: opts.Cwd, Env: opts.Env})
	if job != nil {
		_ = job.Close() // always nil
		return nil      // it has an id, so it was taken
	}
	var answer *opensandbox.Error
	switch {
	case errors.Is(err, opensandbox.ErrNotFound), errors.Is(err, opensandbox.ErrUnavailable):
	case errors.As(err, &answer) && answer.Status < http.StatusInternalServerError:
		return fmt.Errorf("%w: %s", ErrRefused, answer.Message) // whoever reads it knows what was asked
	}
	return m.gone(err)
}

func (m *serverMachine) WriteFile(ctx context.Context, path string, data []byte, perm fs.FileMode) error {
	return m.gone(m.execd.Upload(ctx, opensandbox.Upload{Path: path, Content: bytes.NewReader(data), Mode: perm}))
}

func (m *serverMachine) KeepAlive(ctx context.Context) error {
	if m.lifetime == 0 {
		return nil
	}
	_, err := m.wire.RenewExpiration(ctx, m.id, time.Now().Add(m.lifetime))
	return m.gone(err)
}
