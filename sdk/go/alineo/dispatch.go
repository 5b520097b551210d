package alineo

import (
	"slices"

	"github.com/alineo-labs/alineo-host/abi"
)

// dispatch runs one operation and returns its frame.
func (g *instance) dispatch(op abi.Op, body []byte) []byte {
	p := &g.plugin
	switch op {
	case abi.OpLedgerAppend:
		if p.Ledger == nil {
			return g.fail(missing(op))
		}
		return g.appendBatch(p.Ledger, body)
	case abi.OpDescribe:
		return g.ok(&p.Manifest)
	case abi.OpConfigure:
		return g.configure(body)
	case abi.OpHealth:
		var reply abi.HealthReply
		if p.Health == nil {
			return g.ok(&reply)
		}
		var err error
		reply.Message, err = p.Health()
		return answer(g, &reply, err)
	case abi.OpClose:
		if p.Close == nil {
			return g.ok(nil)
		}
		return g.done(p.Close())
	default:
		return g.group(op, body)
	}
}

// group runs an operation of one of the plugin's groups.
func (g *instance) group(op abi.Op, body []byte) []byte {
	p := &g.plugin
	if p.Ledger != nil {
		if frame := g.ledger(p.Ledger, op, body); frame != nil {
			return frame
		}
		if frame := g.environments(p.Ledger, op, body); frame != nil {
			return frame
		}
	}
	if p.Maintenance != nil {
		if frame := g.maintenance(p.Maintenance, op, body); frame != nil {
			return frame
		}
	}
	if !op.Optional() || slices.Contains(p.Optional, op) {
		if frame := g.stores(op, body); frame != nil {
			return frame
		}
	}
	if p.Broker != nil {
		if frame := g.broker(p.Broker, op, body); frame != nil {
			return frame
		}
	}
	if p.Resolver != nil && op == abi.OpBrokerResolve {
		return serve(g, body, new(abi.BrokerResolveRequest), p.Resolver.ResolveCredential)
	}
	return g.fail(missing(op))
}

func (g *instance) configure(body []byte) []byte {
	if g.plugin.Configure == nil {
		return g.ok(nil)
	}
	return serve(g, body, new(abi.ConfigureRequest), g.plugin.Configure)
}

// appendBatch is serve for the operation that is called most: it allocates nothing.
func (g *instance) appendBatch(l Ledger, body []byte) []byte {
	if err := g.append.Unmarshal(body); err != nil {
		return g.fail(invalid(err))
	}
	reply, err := l.Append(&g.append)
	if err != nil {
		return g.fail(err)
	}
	g.out = append(g.out[:0], abi.FrameOK)
	if reply != nil {
		g.out = reply.AppendTo(g.out)
	}
	return g.out
}

// ledger runs an operation of the ledger group but appending, nil when op is none.
func (g *instance) ledger(l Ledger, op abi.Op, body []byte) []byte {
	switch op {
	case abi.OpLedgerOpen:
		return serve(g, body, new(abi.LedgerOpenRequest), l.Open)
	case abi.OpLedgerRead:
		return serve(g, body, new(abi.LedgerReadRequest), l.Read)
	case abi.OpLedgerLastCheckpoint:
		return serve(g, body, new(abi.LastCheckpointRequest), l.LastCheckpoint)
	case abi.OpLedgerListCheckpoints:
		return serve(g, body, new(abi.SandboxPageRequest), l.ListCheckpoints)
	case abi.OpLedgerListSandboxes:
		return serve(g, body, new(abi.ListSandboxesRequest), l.ListSandboxes)
	case abi.OpLedgerGetSandbox:
		return serve(g, body, new(abi.SandboxRequest), l.GetSandbox)
	case abi.OpLedgerFindSandbox:
		return serve(g, body, new(abi.FindSandboxRequest), l.FindSandbox)
	case abi.OpLedgerDeleteSandbox:
		return serve(g, body, new(abi.SandboxRequest), l.DeleteSandbox)
	default:
		return nil
	}
}

// maintenance runs one of the ledger group's optional operations, nil when op is none.
func (g *instance) maintenance(m Maintenance, op abi.Op, body []byte) []byte {
	switch op {
	case abi.OpLedgerListHeads:
		return serve(g, body, new(abi.PageRequest), m.ListHeads)
	case abi.OpLedgerListSegments:
		return serve(g, body, new(abi.SandboxPageRequest), m.ListSegments)
	case abi.OpLedgerListTombstones:
		return serve(g, body, new(abi.PageRequest), m.ListTombstones)
	case abi.OpLedgerUsage:
		return serve(g, body, new(abi.SandboxRequest), m.Usage)
	case abi.OpLedgerStats:
		reply, err := m.Stats()
		return answer(g, reply, err)
	default:
		return nil
	}
}

// environments runs an operation of the environment group, nil when op is none.
func (g *instance) environments(e Environments, op abi.Op, body []byte) []byte {
	switch op {
	case abi.OpEnvironmentGet:
		return serve(g, body, new(abi.EnvironmentRequest), e.GetEnvironment)
	case abi.OpEnvironmentSave:
		return do(g, body, new(abi.Environment), e.SaveEnvironment)
	case abi.OpEnvironmentDelete:
		return do(g, body, new(abi.EnvironmentRequest), e.DeleteEnvironment)
	case abi.OpEnvironmentList:
		reply, err := e.ListEnvironments()
		return answer(g, reply, err)
	default:
		return nil
	}
}

// broker runs an operation of the broker group, nil when op is none.
func (g *instance) broker(b Broker, op abi.Op, body []byte) []byte {
	switch op {
	case abi.OpBrokerSet:
		return do(g, body, new(abi.BrokerSetRequest), b.SetCredential)
	case abi.OpBrokerPatch:
		return do(g, body, new(abi.BrokerPatchRequest), b.PatchCredential)
	case abi.OpBrokerRemove:
		return do(g, body, new(abi.BrokerRemoveRequest), b.RemoveCredential)
	case abi.OpBrokerListBindings:
		return serve(g, body, new(abi.BrokerListRequest), b.ListBindings)
	default:
		return nil
	}
}

// pointer is what messages are handled by.
type pointer[M any] interface {
	*M
	abi.Message
}

// serve reads the request, runs the operation and frames what it returns.
func serve[M any, Req abi.Message, Reply pointer[M]](g *instance, body []byte, req Req, run func(Req) (Reply, error)) []byte {
	if err := req.Unmarshal(body); err != nil {
		return g.fail(invalid(err))
	}
	reply, err := run(req)
	return answer(g, reply, err)
}

// do is serve for an operation without a reply.
func do[Req abi.Message](g *instance, body []byte, req Req, run func(Req) error) []byte {
	if err := req.Unmarshal(body); err != nil {
		return g.fail(invalid(err))
	}
	return g.done(run(req))
}

// answer frames a reply or an error; a nil reply is the empty message.
func answer[M any, Reply pointer[M]](g *instance, reply Reply, err error) []byte {
	switch {
	case err != nil:
		return g.fail(err)
	case reply == nil:
		return g.ok(nil)
	default:
		return g.ok(reply)
	}
}

// done frames the end of an operation without a reply.
func (g *instance) done(err error) []byte {
	if err != nil {
		return g.fail(err)
	}
	return g.ok(nil)
}
