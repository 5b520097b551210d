//go:build unix

package execd

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// killSession kills every process of the session that p leads, also in other
// process groups and after p's own end, as long as release wasn't called.
func (p *Process) killSession() {
	t := p.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.ended && t.orphaned[p.Pid] != p {
		return
	}
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL) // there may be nobody
	// Who forks while we look is found by looking again.
	for range 10 {
		found := false
		for _, pid := range sessionMembers(p.Pid) {
			found = true
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if !found {
			return
		}
	}
}

// endSession kills everybody in the session that p leads and returns when p
// has been reaped.
func (p *Process) endSession() {
	p.killSession()
	<-p.Done
	if p.release() { // p had ended before, and nobody had claimed the rest
		p.killSession()
		p.release()
	}
}

// kill kills p and nobody else.
func (p *Process) kill() {
	p.table.mu.Lock()
	defer p.table.mu.Unlock()
	if !p.ended {
		_ = syscall.Kill(p.Pid, syscall.SIGKILL)
	}
}

// release ends the claim on p's session once p has ended, and tells whether
// others of it live on: then it is kept, for killSession.
func (p *Process) release() (left bool) {
	t := p.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if !p.ended {
		return true
	}
	if t.running[p.Pid] != nil || len(sessionMembers(p.Pid)) == 0 {
		if t.orphaned[p.Pid] == p {
			delete(t.orphaned, p.Pid)
		}
		return false
	}
	t.orphaned[p.Pid] = p
	return true
}

// sessionMembers are the living processes of a session.
func sessionMembers(sid int) []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var pids []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		b, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue
		}
		// pid (name) state ppid pgrp session: the name may hold anything but ends last.
		f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
		if len(f) > 3 && string(f[0]) != "Z" && string(f[0]) != "X" && string(f[3]) == strconv.Itoa(sid) {
			pids = append(pids, pid)
		}
	}
	return pids
}
