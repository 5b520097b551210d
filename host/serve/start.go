package serve

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/alineo-labs/alineo-host/host/durable"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
)

// startBody is what POST /v1/runs takes.
type startBody struct {
	RunID    string            `json:"runId"`
	ThreadID string            `json:"threadId"`
	Command  string            `json:"command"`
	Shell    string            `json:"shell"`
	Cwd      string            `json:"cwd"`
	Env      map[string]string `json:"env"`

	Sandbox struct {
		Image         string                     `json:"image"`
		CPU           string                     `json:"cpu"`
		Memory        string                     `json:"memory"`
		Env           map[string]string          `json:"env"`
		LifetimeMS    int64                      `json:"lifetimeMs"`
		NetworkPolicy *opensandbox.NetworkPolicy `json:"networkPolicy"`
	} `json:"sandbox"`
	Definition        string         `json:"definition"`
	Setup             []string       `json:"setup"`
	Reuse             string         `json:"reuse"` // thread, also when absent, or none
	MaxIdleMS         int64          `json:"maxIdleMs"`
	DestroyOnComplete bool           `json:"destroyOnComplete"`
	Tenant            durable.Tenant `json:"tenant"`
}

// decodeStart decodes what a run is to be.
func decodeStart(data []byte) (durable.StartOptions, error) {
	var body startBody
	if err := decode(data, &body); err != nil {
		return durable.StartOptions{}, err
	}
	const most = math.MaxInt64 / int64(time.Millisecond)
	if ms := min(body.Sandbox.LifetimeMS, body.MaxIdleMS); ms < 0 || max(body.Sandbox.LifetimeMS, body.MaxIdleMS) > most {
		return durable.StartOptions{}, invalid("lifetimeMs or maxIdleMs is no time")
	}
	opts := durable.StartOptions{
		RunID: body.RunID, ThreadID: body.ThreadID, Command: body.Command, Shell: body.Shell, Cwd: body.Cwd, Env: body.Env,
		Spec: durable.Spec{
			ID: body.Definition, Setup: body.Setup, DestroyOnComplete: body.DestroyOnComplete, Tenant: body.Tenant,
			MaxIdle: time.Duration(body.MaxIdleMS) * time.Millisecond,
			Sandbox: sandbox.CreateOptions{
				Image: body.Sandbox.Image, Resources: sandbox.Resources{CPU: body.Sandbox.CPU, Memory: body.Sandbox.Memory},
				Env: body.Sandbox.Env, Lifetime: time.Duration(body.Sandbox.LifetimeMS) * time.Millisecond,
				NetworkPolicy: body.Sandbox.NetworkPolicy,
			},
		},
	}
	switch body.Reuse {
	case "", "thread":
	case "none":
		opts.Spec.Reuse = durable.ReuseNone
	default:
		return durable.StartOptions{}, invalid("reuse %q is neither \"thread\" nor \"none\"", body.Reuse)
	}
	return opts, nil
}

// startRun starts a run and answers when it is recorded: its sandbox may take a while.
func (s *Server) startRun(w http.ResponseWriter, r *http.Request) error {
	var raw json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&raw); err != nil {
		if known := answerOf(err); known != nil {
			return known
		}
		return invalid("the body is no JSON: %v", err)
	}
	opts, err := decodeStart(raw)
	if err != nil {
		return err
	}
	// Whoever asked may be gone before the answer: the run is there all the same.
	ctx := context.WithoutCancel(r.Context())
	s.mu.Lock()
	if s.draining.Load() {
		s.mu.Unlock()
		return stopping()
	}
	s.starting.Add(1)
	s.mu.Unlock()
	run, err := s.runs.Start(ctx, opts)
	if err != nil {
		s.starting.Done()
		return err
	}
	go func() {
		defer s.starting.Done()
		_ = s.runs.AwaitLaunch(ctx, run.ID) // ctx does not end
	}()
	s.metrics.started.Inc()
	s.log.Info("run started", "op", "start", "run", run.ID, "thread", run.ThreadID)
	return writeJSON(w, http.StatusCreated, run)
}

// ours refuses runs that an application keeps here and drives itself: to this host their sandboxes would be gone.
func (s *Server) ours(ctx context.Context, id string) error {
	run, err := s.runs.Get(ctx, id)
	if err != nil {
		return err
	}
	if run.SandboxKey == nil || !strings.HasPrefix(*run.SandboxKey, durable.KeyPrefix) {
		return &httpError{http.StatusConflict, "foreign", "this run is driven by the application that recorded it, not by a host (PATCH changes its record)"}
	}
	return nil
}

// findRun answers with the active run of a thread.
func (s *Server) findRun(w http.ResponseWriter, r *http.Request) error {
	run, err := s.runs.Find(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, run)
}

// cancelRun asks for a run's end, which comes within a second or so.
func (s *Server) cancelRun(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if err := s.ours(r.Context(), id); err != nil {
		return err
	}
	if err := s.runs.Cancel(context.WithoutCancel(r.Context()), id); err != nil {
		return err
	}
	s.log.Info("run canceled", "op", "cancel", "run", id)
	run, err := s.runs.Get(r.Context(), id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusAccepted, run)
}

// emit adds an event of the application's to a run's log.
func (s *Server) emit(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Kind string          `json:"kind"`
		Data json.RawMessage `json:"data"`
	}
	if err := read(r, &body); err != nil {
		return err
	}
	if body.Data == nil {
		body.Data = json.RawMessage("{}")
	}
	offset, err := s.runs.Emit(r.Context(), r.PathValue("id"), body.Kind, body.Data)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusCreated, map[string]uint64{"offset": offset})
}

func (s *Server) interruptRun(w http.ResponseWriter, r *http.Request) error {
	return s.move(w, r, s.runs.Interrupt)
}

func (s *Server) resumeRun(w http.ResponseWriter, r *http.Request) error {
	return s.move(w, r, s.runs.Resume)
}

func (s *Server) move(w http.ResponseWriter, r *http.Request, to func(context.Context, string) error) error {
	if err := to(r.Context(), r.PathValue("id")); err != nil {
		return err
	}
	return empty(w)
}
