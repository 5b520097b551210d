package guest

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"
)

// stopTime bounds how long a stopped process may still run: one that waits
// for a disk stops when the disk has answered.
const stopTime = 2 * time.Second

// awaitStopped returns when no process of the sandbox runs any more. A signal
// is only on its way when kill returns.
func awaitStopped() {
	for end := time.Now().Add(stopTime); anyRuns() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

func anyRuns() bool {
	pids := descendants()
	if os.Getpid() == 1 {
		pids = everybody()
	}
	for _, pid := range pids {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			continue // it has ended
		}
		// pid (name) state: the name may hold anything but ends last.
		_, state, ok := bytes.Cut(b[bytes.LastIndexByte(b, ')')+1:], []byte(" "))
		if ok && len(state) > 0 && strings.IndexByte("TtZX", state[0]) < 0 {
			return true
		}
	}
	return false
}

// everybody is every process of this namespace but us.
func everybody() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var out []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && pid != 1 {
			out = append(out, pid)
		}
	}
	return out
}
