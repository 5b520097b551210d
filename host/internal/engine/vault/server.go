package vault

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Path is where the API begins.
const Path = "/credential-vault"

// liveHeader tells clients that a change is in force when it is acknowledged: other sidecars look at their
// vault from time to time, and who knows no better waits for that.
const liveHeader = "X-Credential-Vault-Live"

// maxBody is the longest document, in bytes.
const maxBody = 1 << 20

// Policy is what a sandbox may reach.
type Policy interface {
	// Hold runs f while the policy stands still.
	Hold(f func(Covers) error) error
}

// Server is the API of a vault. Who may call it is for others to say. It is safe for concurrent use.
type Server struct {
	store   *Store
	policy  Policy
	changed func()
}

// NewServer makes the handler. changed is called after each change, before it is acknowledged. A nil
// store serves a sandbox that was made without a credential proxy.
func NewServer(store *Store, policy Policy, changed func()) *Server {
	return &Server{store: store, policy: policy, changed: changed}
}

// ServeHTTP implements http.Handler. Errors are plain text.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest := strings.TrimPrefix(r.URL.Path, Path)
	if rest == "" {
		s.whole(w, r)
		return
	}
	list, name, single := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	switch {
	case list == "_active" && !single && r.Method == http.MethodGet:
		http.Error(w, "forbidden", http.StatusForbidden)
	case list != "credentials" && list != "bindings" && list != "_active", list == "_active" && single:
		http.Error(w, "not found", http.StatusNotFound)
	case r.Method != http.MethodGet:
		refuseMethod(w, http.MethodGet)
	default:
		s.part(w, list, name, single)
	}
}

func refuseMethod(w http.ResponseWriter, allowed string) {
	w.Header().Set("Allow", allowed)
	http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
}

func (s *Server) whole(w http.ResponseWriter, r *http.Request) {
	write := r.Method == http.MethodPost || r.Method == http.MethodPatch || r.Method == http.MethodDelete
	switch {
	case !write && r.Method != http.MethodGet:
		refuseMethod(w, "GET, POST, PATCH, DELETE")
	case !write:
		st, err := s.state()
		answer(w, http.StatusOK, st, err)
	case s.store == nil:
		http.Error(w, "credential vault requires a credential proxy: create the sandbox with credentialProxy enabled", http.StatusPreconditionFailed)
	case r.Method == http.MethodPost:
		s.create(w, r)
	case r.Method == http.MethodPatch:
		s.patch(w, r)
	default:
		s.remove(w)
	}
}

func (s *Server) state() (State, error) {
	if s.store == nil {
		return State{}, ErrNotFound
	}
	return s.store.State()
}

func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	var q CreateRequest
	if err := read(w, r, &q); err != nil {
		http.Error(w, fmt.Sprintf("invalid credential vault request: %v", err), http.StatusBadRequest)
		return
	}
	st, err := s.change(func(covers Covers) (State, error) { return s.store.Create(q, covers) })
	answer(w, http.StatusCreated, st, err)
}

func (s *Server) patch(w http.ResponseWriter, r *http.Request) {
	var q Mutation
	if err := read(w, r, &q); err != nil {
		http.Error(w, fmt.Sprintf("invalid credential vault mutation request: %v", err), http.StatusBadRequest)
		return
	}
	st, err := s.change(func(covers Covers) (State, error) { return s.store.Patch(q, covers) })
	answer(w, http.StatusOK, st, err)
}

func (s *Server) remove(w http.ResponseWriter) {
	if err := s.store.Delete(); err != nil {
		answer(w, 0, nil, err)
		return
	}
	s.changed()
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) change(f func(Covers) (State, error)) (st State, err error) {
	err = s.policy.Hold(func(covers Covers) error {
		st, err = f(covers)
		return err
	})
	if err == nil {
		s.changed()
	}
	return st, err
}

// part answers with one of the lists, or an element of it.
func (s *Server) part(w http.ResponseWriter, list, name string, single bool) {
	st, err := s.state()
	switch {
	case err != nil:
		answer(w, 0, nil, err)
	case list == "credentials" && !single:
		answer(w, http.StatusOK, struct {
			Revision    int64             `json:"revision"`
			Credentials []CredentialState `json:"credentials"`
		}{st.Revision, st.Credentials}, nil)
	case list == "bindings" && !single:
		answer(w, http.StatusOK, struct {
			Revision int64          `json:"revision"`
			Bindings []BindingState `json:"bindings"`
		}{st.Revision, st.Bindings}, nil)
	case list == "credentials":
		for _, c := range st.Credentials {
			if c.Name == strings.TrimSpace(name) {
				answer(w, http.StatusOK, c, nil)
				return
			}
		}
		http.Error(w, "credential not found", http.StatusNotFound)
	default:
		for _, b := range st.Bindings {
			if b.Name == strings.TrimSpace(name) {
				answer(w, http.StatusOK, b, nil)
				return
			}
		}
		http.Error(w, "binding not found", http.StatusNotFound)
	}
}

// read reads a document whole.
func read(w http.ResponseWriter, r *http.Request, v any) error {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return fmt.Errorf("reading the body: %w", err)
	}
	return Decode(b, v)
}

func answer(w http.ResponseWriter, code int, v any, err error) {
	if err != nil {
		code := http.StatusBadRequest
		if _, ok := errors.AsType[*RevisionError](err); ok || errors.Is(err, ErrExists) {
			code = http.StatusConflict
		}
		if errors.Is(err, ErrNotFound) {
			code = http.StatusNotFound
		}
		http.Error(w, err.Error(), code)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set(liveHeader, "true")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		return // the client has gone
	}
}
