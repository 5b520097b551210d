package execd

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of times in /proc: USER_HZ is 100 wherever Go runs.
const tick = time.Second / 100

// machineMemory is how much the machine has, in bytes.
func machineMemory() int64 {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	n, _ := field(strings.ReplaceAll(strings.ReplaceAll(string(b), ":", ""), " kB", ""), "MemTotal")
	return n << 10
}

// process is what /proc says of one.
type processStat struct {
	parent int
	cpu    time.Duration // its own and that of the children it has waited for
}

// addUp adds up this process and all that descend from it: in a process
// namespace that is everything.
func addUp() (u usage, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return u, fmt.Errorf("looking at processes: %w", err)
	}
	all := map[int]processStat{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		b, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has ended
		}
		if st, ok := parseStat(string(b)); ok {
			all[pid] = st
		}
	}
	self := os.Getpid()
	for pid, st := range all {
		if !descends(all, pid, self) {
			continue
		}
		u.cpu += st.cpu
		u.memory += privateMemory(pid)
	}
	return u, nil
}

// parseStat reads a line of /proc/PID/stat. The name in it may hold anything,
// but ends with the last parenthesis.
func parseStat(line string) (st processStat, ok bool) {
	f := strings.Fields(line[strings.LastIndexByte(line, ')')+1:])
	if len(f) < 15 {
		return st, false
	}
	parent, err := strconv.Atoi(f[1])
	if err != nil {
		return st, false
	}
	st.parent = parent
	for _, v := range f[11:15] { // utime, stime, cutime, cstime
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return st, false
		}
		st.cpu += time.Duration(n) * tick
	}
	return st, true
}

func descends(all map[int]processStat, pid, from int) bool {
	if from == 1 {
		return true
	}
	for range len(all) {
		if pid == from {
			return true
		}
		st, ok := all[pid]
		if !ok {
			return false
		}
		pid = st.parent
	}
	return false
}

// privateMemory is what a process has for itself: pages that it shares with
// others or with files would be counted many times.
func privateMemory(pid int) int64 {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b))
	if len(f) < 3 {
		return 0
	}
	resident, err1 := strconv.ParseInt(f[1], 10, 64)
	shared, err2 := strconv.ParseInt(f[2], 10, 64)
	if err1 != nil || err2 != nil {
		return 0
	}
	return max(0, resident-shared) * int64(os.Getpagesize())
}
