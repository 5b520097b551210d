// Package cgroup limits, freezes and counts a sandbox's processes with
// control groups, version 2 or 1, whichever this process may use.
//
//	parent, missing := cgroup.Find()          // once
//	g, err := parent.Create(id, cgroup.Limits{Memory: 512 << 20, Processes: 4096})
//	err = g.Add(pid)
//	err = g.Freeze(ctx); err = g.Thaw(time.Second)
//	err = g.Remove(ctx)                       // when its processes have gone
//
// Groups lie beside or below this process's own, so that whatever limits the
// engine also limits its sandboxes. Where a controller can't be used, Find
// says why; limits that depend on it are then soft (rlimits) or absent.
//
// imports: nothing of ours.
package cgroup
