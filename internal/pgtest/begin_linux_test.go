package pgtest_test

import (
	"context"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// onThread calls f on a thread that ends then. The first thread of a process never does.
func onThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if syscall.Gettid() == syscall.Getpid() {
			onThread(f)
			runtime.UnlockOSThread()
			return
		}
		f()
	}()
	<-done
}

// TestServerOutlivesThreads: a server stays when the thread ends of whoever asked for it first.
func TestServerOutlivesThreads(t *testing.T) {
	t.Parallel()
	onThread(func() { pgtest.Server(t) })
	conn := pgtest.Server(t).Conn(t, "postgres")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := conn.Exec(ctx, "SELECT pg_sleep(1)"); err != nil {
		t.Errorf("the server has gone with a thread: %v", err)
	}
}
