package sandbox_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/sandbox"
)

// The program learns its terminal's new size, also when the connection that it was told on has broken
// since.
func TestTerminalResize(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	cut := make(chan struct{})
	r.cutOnce(cut)
	// A shell forgets a signal that comes while it does what it is to do at the one before.
	const program = `trap changed=yes WINCH; echo up; until [ -e /tmp/end ]; do if [ "$changed" ]; then changed=; stty size; fi; sleep 0.05; done; exit 0`
	terminal := r.interactive(h, program, sandbox.TerminalOptions{Columns: 80, Rows: 24})
	out := terminal.Stdout()
	readUntil(t, out, "up")
	must(t, terminal.Resize(101, 33))
	readUntil(t, out, "33 101")
	close(cut)
	eventually(t, "a size that is told while there is no connection, or on the next", func() bool { return terminal.Resize(102, 34) == nil })
	readUntil(t, out, "34 102")
	must(t, h.WriteFile(t.Context(), "/tmp/end", nil, 0))
	if result, err := terminal.Wait(); err != nil || result.ExitCode != 0 {
		t.Errorf("got %+v, %v", result, err)
	}
}

// slowlyClosed is a connection whose closing takes until it may.
type slowlyClosed struct {
	io.ReadWriteCloser
	closing chan struct{} // closed when it begins to
	may     chan struct{}
	once    sync.Once
}

func (c *slowlyClosed) Close() error {
	err := c.ReadWriteCloser.Close()
	c.once.Do(func() { close(c.closing); <-c.may })
	return err
}

// The last size counts, also one that is told in the moment of a new connection, which is told one itself.
func TestTerminalResizeWhileReconnecting(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	conn := &slowlyClosed{closing: make(chan struct{}), may: make(chan struct{})}
	cut := make(chan struct{})
	r.wire.do(http.MethodGet, "/ws", func(req *http.Request) (*http.Response, error) {
		resp, err := pass(req)
		if err == nil && resp.StatusCode == http.StatusSwitchingProtocols {
			r.wire.heal()
			conn.ReadWriteCloser, _ = resp.Body.(io.ReadWriteCloser)
			resp.Body = &cuttable{ReadWriteCloser: conn, cut: cut}
			go func() { <-cut; _ = conn.ReadWriteCloser.Close() }()
		}
		return resp, err
	})
	terminal := r.interactive(h, "echo up; until [ -e /tmp/end ]; do sleep 0.05; done; stty size", sandbox.TerminalOptions{Columns: 80, Rows: 24})
	readUntil(t, terminal.Stdout(), "up")
	close(cut)
	<-conn.closing
	told := make(chan error, 1)
	go func() {
		var err error
		for range 100 { // the first times on the old connection
			if err = terminal.Resize(102, 34); err == nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		told <- err
	}()
	select {
	case err := <-told:
		must(t, err)
		told <- nil
	case <-time.After(time.Second): // it may wait for the connection
	}
	close(conn.may)
	must(t, <-told)
	must(t, h.WriteFile(t.Context(), "/tmp/end", nil, 0))
	if result, err := terminal.Wait(); err != nil || !strings.Contains(result.Stdout, "34 102") {
		t.Errorf("got %+v, %v", result, err)
	}
}
