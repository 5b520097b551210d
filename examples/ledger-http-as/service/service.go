package service

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/store"
)

// maxBody bounds a request.
const maxBody = 64 << 20

// Service serves one ledger. It is safe for concurrent use.
type Service struct {
	ledger store.Ledger
}

// New returns the handler of a ledger, which stays the caller's to close.
func New(ledger store.Ledger) *Service { return &Service{ledger: ledger} }

// ServeHTTP answers one operation.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	operation := strings.TrimPrefix(r.URL.Path, "/")
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil && r.Method != http.MethodPost {
		err = fmt.Errorf("%w: POST an operation", store.ErrInvalid)
	}
	var reply abi.Message
	if err == nil {
		reply, err = s.run(r.Context(), operation, body)
	}
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(reply.AppendTo(nil)) //nolint:gosec // a message, for no browser; the client may be gone
}

// refuse answers with an error of the ABI.
func refuse(w http.ResponseWriter, err error) {
	answer := abi.Error{Code: abi.CodeInternal, Message: err.Error()}
	status := http.StatusInternalServerError
	for _, known := range [...]struct {
		err    error
		code   abi.Code
		status int
	}{
		{store.ErrNotFound, abi.CodeNotFound, http.StatusNotFound},
		{store.ErrConflict, abi.CodeConflict, http.StatusConflict},
		{store.ErrInvalid, abi.CodeInvalid, http.StatusBadRequest},
		{store.ErrUnsupported, abi.CodeUnsupported, http.StatusBadRequest},
		{store.ErrUnknownOutcome, abi.CodeUnknownOutcome, http.StatusConflict},
		{store.ErrUnavailable, abi.CodeUnavailable, http.StatusServiceUnavailable},
	} {
		if errors.Is(err, known.err) {
			answer.Code, status = known.code, known.status
			break
		}
	}
	if at, ok := errors.AsType[*store.SegmentError](err); ok {
		answer.Details = map[string]string{"segment": strconv.Itoa(at.Segment)}
	}
	if at, ok := errors.AsType[*entryError](err); ok {
		answer.Details = map[string]string{"entry": strconv.Itoa(at.entry)}
	}
	w.WriteHeader(status)
	_, _ = w.Write(answer.AppendTo(nil))
}

// split takes what is behind its length off the front.
func split(body []byte) (part, rest []byte, err error) {
	const header = 4
	if len(body) < header || uint64(binary.LittleEndian.Uint32(body)) > uint64(len(body)-header) {
		return nil, nil, fmt.Errorf("%w: the body ends too early", store.ErrInvalid)
	}
	size := binary.LittleEndian.Uint32(body)
	return body[header : header+size], body[header+size:], nil
}

// handle reads a request and runs what is for it.
func handle[Req any, Pointer interface {
	*Req
	abi.Message
}](message []byte, run func(req Pointer) (abi.Message, error)) (abi.Message, error) {
	req := Pointer(new(Req))
	if err := req.Unmarshal(message); err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	return run(req)
}

func key(k abi.SandboxKey) store.Key { return store.Key{Name: k.Name, SandboxID: k.SandboxID} }

func (s *Service) run(ctx context.Context, operation string, body []byte) (abi.Message, error) {
	message, rest, err := split(body)
	if err != nil {
		return nil, err
	}
	switch operation {
	case "health":
		return &abi.HealthReply{Message: "the service answers"}, nil
	case "ledger.open":
		return handle(message, func(req *abi.LedgerOpenRequest) (abi.Message, error) {
			head, err := s.ledger.OpenLedger(ctx, key(req.Key))
			return &abi.Head{
				Epoch: head.Epoch, LastStep: head.LastStep, MaxTS: head.MaxTS, Entries: head.Entries, Hash: head.Hash, SegmentID: head.SegmentID,
			}, err
		})
	case "ledger.append":
		return s.append(ctx, rest)
	case "ledger.read":
		return handle(message, func(req *abi.LedgerReadRequest) (abi.Message, error) { return s.read(ctx, req) })
	case "ledger.last_checkpoint":
		return handle(message, func(req *abi.LastCheckpointRequest) (abi.Message, error) {
			entry, err := s.ledger.LastCheckpoint(ctx, key(req.Key), req.Tag)
			return entries([]store.Entry{entry}), err
		})
	case "ledger.list_checkpoints":
		return handle(message, func(req *abi.SandboxPageRequest) (abi.Message, error) { return s.checkpoints(ctx, req) })
	case "ledger.list_sandboxes":
		return handle(message, func(req *abi.ListSandboxesRequest) (abi.Message, error) { return s.sandboxes(ctx, req) })
	case "ledger.get_sandbox":
		return handle(message, func(req *abi.SandboxRequest) (abi.Message, error) {
			found, err := s.ledger.GetSandbox(ctx, key(req.Key))
			return sandboxes([]store.Details{found}), err
		})
	case "ledger.find_sandbox":
		return handle(message, func(req *abi.FindSandboxRequest) (abi.Message, error) {
			found, err := s.ledger.FindSandbox(ctx, req.SandboxID)
			return sandboxes([]store.Details{found}), err
		})
	case "ledger.delete_sandbox":
		return handle(message, func(req *abi.SandboxRequest) (abi.Message, error) {
			rows, err := s.ledger.DeleteSandbox(ctx, key(req.Key))
			return &abi.DeleteReply{Rows: rows}, err
		})
	default:
		return s.environment(ctx, operation, message)
	}
}

func (s *Service) environment(ctx context.Context, operation string, message []byte) (abi.Message, error) {
	switch operation {
	case "environment.get":
		return handle(message, func(req *abi.EnvironmentRequest) (abi.Message, error) {
			env, err := s.ledger.GetEnvironment(ctx, req.Name)
			return &abi.Environment{Name: env.Name, SnapshotID: env.SnapshotID, Image: env.Image, BuiltAt: env.BuiltAt}, err
		})
	case "environment.save":
		return handle(message, func(req *abi.Environment) (abi.Message, error) {
			env := store.Environment{Name: req.Name, SnapshotID: req.SnapshotID, Image: req.Image, BuiltAt: req.BuiltAt}
			return &abi.Empty{}, s.ledger.SaveEnvironment(ctx, env)
		})
	case "environment.delete":
		return handle(message, func(req *abi.EnvironmentRequest) (abi.Message, error) {
			return &abi.Empty{}, s.ledger.DeleteEnvironment(ctx, req.Name)
		})
	case "environment.list":
		list, err := s.ledger.ListEnvironments(ctx)
		return environments(list), err
	default:
		return nil, fmt.Errorf("%w: there is no operation %q", store.ErrUnsupported, operation)
	}
}

func (s *Service) read(ctx context.Context, req *abi.LedgerReadRequest) (abi.Message, error) {
	opts := store.ReadOptions{Cursor: req.Cursor, Limit: int(req.Limit), MaxBytes: int64(req.MaxBytes), Last: int(req.Last)}
	if req.MaxBytes == 0 || req.MaxBytes > maxPage {
		opts.MaxBytes = maxPage
	}
	var page store.Page
	var err error
	if req.Key == (abi.SandboxKey{}) {
		page, err = s.ledger.ReadAll(ctx, opts)
	} else {
		page, err = s.ledger.Read(ctx, key(req.Key), opts)
	}
	reply := entries(page.Entries)
	reply.Cursor, reply.More = page.Cursor, page.More
	return reply, err
}

// maxPage is the most that a page of entries has, so that it fits into an answer to the plugin.
const maxPage = 4 << 20

func (s *Service) checkpoints(ctx context.Context, req *abi.SandboxPageRequest) (abi.Message, error) {
	page, err := s.ledger.ListCheckpoints(ctx, key(req.Key), store.ReadOptions{
		Cursor: req.Cursor, Limit: int(req.Limit), MaxBytes: int64(req.MaxBytes),
	})
	reply := checkpoints(page.Checkpoints)
	reply.Cursor, reply.More = page.Cursor, page.More
	return reply, err
}

func (s *Service) sandboxes(ctx context.Context, req *abi.ListSandboxesRequest) (abi.Message, error) {
	page, err := s.ledger.ListSandboxes(ctx, store.ListOptions{
		Name: req.Name, Status: req.Status, Limit: req.Limit, Before: req.Before, RunID: req.RunID, ResourceID: req.ResourceID,
		TeamID: req.TeamID, IDPrefix: req.IDPrefix, Cursor: req.Cursor,
	})
	reply := sandboxes(page.Sandboxes)
	reply.Cursor, reply.More = page.Cursor, page.More
	return reply, err
}
