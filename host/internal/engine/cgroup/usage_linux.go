package cgroup

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// OOMKills is how many of the group's processes were killed because it had
// reached its memory limit.
func (g Group) OOMKills() int {
	file := map[int]string{1: filepath.Join(g.Dirs[Memory], "memory.oom_control"), 2: filepath.Join(g.Dirs[""], "memory.events")}[g.Version]
	b, err := os.ReadFile(file)
	if err != nil {
		return 0 // no group, or no controller
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "oom_kill "); ok {
			n, _ := strconv.Atoi(v) // the kernel writes numbers
			return n
		}
	}
	return 0
}

// UsageFiles are where the group's use is read.
func (g Group) UsageFiles() UsageFiles {
	var u UsageFiles
	at := func(dir, file string) string {
		if dir == "" {
			return ""
		}
		path := filepath.Join(dir, file)
		if _, err := os.Stat(path); err != nil {
			return ""
		}
		return path
	}
	switch g.Version {
	case 1:
		if u.CPU = at(g.Dirs[account], "cpuacct.usage"); u.CPU == "" {
			u.CPU = at(g.Dirs[CPU], "cpuacct.usage") // where both are one hierarchy
		}
		u.Memory, u.Cache = at(g.Dirs[Memory], "memory.usage_in_bytes"), at(g.Dirs[Memory], "memory.stat")
	case 2:
		u.CPU, u.Memory, u.Cache = at(g.Dirs[""], "cpu.stat"), at(g.Dirs[""], "memory.current"), at(g.Dirs[""], "memory.stat")
	}
	return u
}
