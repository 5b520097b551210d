//go:build darwin || freebsd || netbsd

package execd

import (
	"syscall"
	"time"
)

func changeTime(st *syscall.Stat_t) time.Time {
	return time.Unix(int64(st.Ctimespec.Sec), int64(st.Ctimespec.Nsec)) //nolint:unconvert // the fields' type differs by system
}
