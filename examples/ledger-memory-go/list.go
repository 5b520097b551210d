package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/alineo-labs/alineo-host/abi"
)

// summary is one sandbox, summed up.
type summary struct {
	key       key
	created   *entry // sandbox.created: when it started, and what it is
	completed abi.Value
	execs     int64
}

// sum returns nil for a sandbox without sandbox.created.
func sum(k key, s *sandbox) *summary {
	sum := &summary{key: k}
	for _, e := range s.entries {
		switch e.event {
		case "sandbox.created":
			if sum.created == nil {
				sum.created = e
			}
		case "sandbox.closed":
			sum.completed = abi.Int(e.ts) // entries are by time: the last one counts
		case "exec.completed":
			sum.execs++
		}
	}
	if sum.created == nil {
		return nil
	}
	return sum
}

func (s *summary) status() string {
	if s.completed.Kind == abi.KindNull {
		return "running"
	}
	return "completed"
}

func (s *summary) run() string {
	if run, ok := s.created.field("runId"); ok {
		return run
	}
	return s.key.id
}

func (s *summary) write(page *abi.TableWriter) {
	page.Row(abi.Text(s.key.name), abi.Text(s.key.id), abi.Text(s.status()), abi.Int(s.created.ts), s.completed, abi.Int(s.execs), abi.Text(s.run()),
		s.created.optional("resourceId"), s.created.optional("teamId"), s.created.optional("parentSandboxId"), abi.Int(s.created.id))
}

// summaries are the sandboxes that match, newest start first.
func (l *ledger) summaries(match func(*summary) bool) []*summary {
	var list []*summary
	for k, s := range l.sandboxes {
		if sum := sum(k, s); sum != nil && match(sum) {
			list = append(list, sum)
		}
	}
	slices.SortFunc(list, func(a, b *summary) int { return compare(b.created, a.created) })
	return list
}

// ListSandboxes returns a page of the sandboxes that the filters leave.
func (l *ledger) ListSandboxes(req *abi.ListSandboxesRequest) (*abi.RowsReply, error) {
	after, err := readCursor(req.Cursor)
	if err != nil {
		return nil, err
	}
	is := func(filter string, value abi.Value) bool { return filter == "" || filter == value.String() }
	list := l.summaries(func(s *summary) bool {
		return is(req.Name, abi.Text(s.key.name)) && is(req.Status, abi.Text(s.status())) && is(req.RunID, abi.Text(s.run())) &&
			is(req.ResourceID, s.created.optional("resourceId")) && is(req.TeamID, s.created.optional("teamId")) &&
			strings.HasPrefix(s.key.id, req.IDPrefix) &&
			(req.Before == nil || s.created.ts < *req.Before) && (after == nil || compare(s.created, after) < 0)
	})
	most := uint64(pageRows)
	if req.Limit != nil {
		most = min(most, *req.Limit)
	}
	reply := &abi.RowsReply{Cursor: req.Cursor}
	page := abi.NewTableWriter(nil, int(abi.SandboxColumns))
	for i, s := range list {
		if uint64(i) == most {
			reply.More = most > 0
			break
		}
		s.write(&page)
		reply.Cursor = cursor(s.created.ts, s.created.id)
	}
	reply.Table = page.Bytes()
	return reply, nil
}

// GetSandbox returns one sandbox.
func (l *ledger) GetSandbox(req *abi.SandboxRequest) (*abi.RowsReply, error) {
	return one(l.summaries(func(s *summary) bool { return s.key == key{req.Key.Name, req.Key.SandboxID} }))
}

// FindSandbox returns the newest sandbox with an id.
func (l *ledger) FindSandbox(req *abi.FindSandboxRequest) (*abi.RowsReply, error) {
	return one(l.summaries(func(s *summary) bool { return s.key.id == req.SandboxID }))
}

func one(list []*summary) (*abi.RowsReply, error) {
	page := abi.NewTableWriter(nil, int(abi.SandboxColumns))
	if len(list) > 0 {
		list[0].write(&page)
	}
	return &abi.RowsReply{Table: page.Bytes()}, nil
}

// GetEnvironment returns a prebuilt snapshot by its name.
func (l *ledger) GetEnvironment(req *abi.EnvironmentRequest) (*abi.Environment, error) {
	if env, ok := l.environments[req.Name]; ok {
		return &env, nil
	}
	return nil, &abi.Error{Code: abi.CodeNotFound, Message: "there is no environment of this name"}
}

// SaveEnvironment adds one, or replaces the one of that name.
func (l *ledger) SaveEnvironment(env *abi.Environment) error {
	own := abi.Environment{
		Name: strings.Clone(env.Name), SnapshotID: strings.Clone(env.SnapshotID), Image: strings.Clone(env.Image), BuiltAt: env.BuiltAt,
	}
	l.environments[own.Name] = own
	return nil
}

// DeleteEnvironment forgets one.
func (l *ledger) DeleteEnvironment(req *abi.EnvironmentRequest) error {
	delete(l.environments, req.Name)
	return nil
}

// ListEnvironments returns all, newest first.
func (l *ledger) ListEnvironments() (*abi.RowsReply, error) {
	var list []abi.Environment
	for _, env := range l.environments {
		list = append(list, env)
	}
	slices.SortFunc(list, func(a, b abi.Environment) int { return cmp.Compare(b.BuiltAt, a.BuiltAt) })
	page := abi.NewTableWriter(nil, int(abi.EnvironmentColumns))
	for i := range list {
		page.Row(abi.Text(list[i].Name), abi.Text(list[i].SnapshotID), abi.Text(list[i].Image), abi.Int(list[i].BuiltAt))
	}
	return &abi.RowsReply{Table: page.Bytes()}, nil
}
