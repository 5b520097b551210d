package alineo

import "github.com/alineo-labs/alineo-host/abi"

// stores runs an operation of the stores of durable runs, nil when op is none that the plugin has.
func (g *instance) stores(op abi.Op, body []byte) []byte {
	p := &g.plugin
	switch {
	case p.Instances != nil && op >= abi.OpInstancesGet && op <= abi.OpInstancesList:
		return g.instances(p.Instances, op, body)
	case p.Runs != nil && op >= abi.OpRunsCreateOrGet && op <= abi.OpRunsDelete:
		return g.runs(p.Runs, op, body)
	case p.RunLog != nil && op >= abi.OpLogAppend && op <= abi.OpLogTruncate:
		return g.runLog(p.RunLog, op, body)
	case p.Locks != nil && op >= abi.OpLocksTryAcquire && op <= abi.OpLocksRelease:
		return g.locks(p.Locks, op, body)
	default:
		return nil
	}
}

func (g *instance) instances(s Instances, op abi.Op, body []byte) []byte {
	switch op {
	case abi.OpInstancesGet:
		return serve(g, body, new(abi.KeyRequest), s.Get)
	case abi.OpInstancesPut:
		return do(g, body, new(abi.Instance), s.Put)
	case abi.OpInstancesDelete:
		return do(g, body, new(abi.KeyRequest), s.Delete)
	case abi.OpInstancesPutIf:
		return serve(g, body, new(abi.InstancePutIf), s.PutIf)
	case abi.OpInstancesDeleteIf:
		return serve(g, body, new(abi.InstanceDeleteIf), s.DeleteIf)
	case abi.OpInstancesList:
		return serve(g, body, new(abi.InstanceListRequest), s.List)
	default:
		return nil
	}
}

func (g *instance) runs(s Runs, op abi.Op, body []byte) []byte {
	switch op {
	case abi.OpRunsCreateOrGet:
		return serve(g, body, new(abi.RunCreate), s.CreateOrGet)
	case abi.OpRunsPatch:
		return serve(g, body, new(abi.RunPatch), s.Patch)
	case abi.OpRunsGet:
		return serve(g, body, new(abi.KeyRequest), s.Get)
	case abi.OpRunsFindActive:
		return serve(g, body, new(abi.KeyRequest), s.FindActive)
	case abi.OpRunsPatchIf:
		return serve(g, body, new(abi.RunPatch), s.PatchIf)
	case abi.OpRunsClaim:
		return serve(g, body, new(abi.KeyRequest), s.Claim)
	case abi.OpRunsListByThread:
		return serve(g, body, new(abi.RunListRequest), s.ListByThread)
	case abi.OpRunsList:
		return serve(g, body, new(abi.RunListRequest), s.List)
	case abi.OpRunsListReclaimable:
		return serve(g, body, new(abi.ReclaimRequest), s.ListReclaimable)
	case abi.OpRunsCountBySandbox:
		return serve(g, body, new(abi.SandboxCountRequest), s.CountBySandbox)
	case abi.OpRunsSecret:
		return serve(g, body, new(abi.KeyRequest), s.Secret)
	case abi.OpRunsDelete:
		return serve(g, body, new(abi.KeyRequest), s.Delete)
	default:
		return nil
	}
}

func (g *instance) runLog(s RunLog, op abi.Op, body []byte) []byte {
	switch op {
	case abi.OpLogAppend:
		return serve(g, body, new(abi.LogAppendRequest), s.Append)
	case abi.OpLogRead:
		return serve(g, body, new(abi.LogReadRequest), s.Read)
	case abi.OpLogClose:
		return do(g, body, new(abi.KeyRequest), s.Close)
	case abi.OpLogTruncate:
		return serve(g, body, new(abi.KeyRequest), s.Truncate)
	default:
		return nil
	}
}

func (g *instance) locks(s Locks, op abi.Op, body []byte) []byte {
	switch op {
	case abi.OpLocksTryAcquire:
		return serve(g, body, new(abi.LockRequest), s.TryAcquire)
	case abi.OpLocksRenew:
		return serve(g, body, new(abi.LeaseRequest), s.Renew)
	case abi.OpLocksRelease:
		return serve(g, body, new(abi.LeaseRequest), s.Release)
	default:
		return nil
	}
}
