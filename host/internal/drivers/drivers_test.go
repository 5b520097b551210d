package drivers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/internal/engine/unixsock"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

var key = store.Key{Name: "job", SandboxID: "../id of/any kind"}

// two are what two processes have that use the same data directory.
func two(t *testing.T) (here, there *Drivers) {
	t.Helper()
	dir := t.TempDir()
	here, there = New(dir, hclog.NewNullLogger()), New(dir, hclog.NewNullLogger())
	t.Cleanup(func() { here.Close(context.Background()); there.Close(context.Background()) })
	return here, there
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// says is a driver that is known by its answers.
func says(mode string) sandbox.Ask {
	return func(context.Context, sandbox.Change) (*opensandbox.PolicyStatus, error) {
		return &opensandbox.PolicyStatus{Mode: mode}, nil
	}
}

// found is what the driver that is found says, and its epoch.
func found(t *testing.T, d *Drivers, of store.Key, past uint64) string {
	t.Helper()
	ask, epoch, err := d.Find(t.Context(), of, past)
	must(t, err)
	if ask == nil {
		return "nobody"
	}
	status, err := ask(t.Context(), sandbox.Change{RemoveRules: []string{"x"}})
	must(t, err)
	return fmt.Sprint(status.Mode, " ", epoch)
}

func left(t *testing.T, d *Drivers) (names []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(d.dir, "*"+suffix))
	must(t, err)
	return names
}

// TestFind: of several drivers of a sandbox the last one is found, as long as it is there.
func TestFind(t *testing.T) {
	t.Parallel()
	here, there := two(t)
	if got := found(t, here, key, 0); got != "nobody" {
		t.Error(got)
	}
	leaveSecond := here.Enter(key, 10, says("second"))
	leaveFirst := there.Enter(key, 9, says("first"))
	there.Enter(store.Key{Name: "job", SandboxID: "another"}, 11, says("another's"))
	for past, want := range map[uint64]string{0: "second 10", 9: "second 10", 10: "nobody"} {
		if got := found(t, there, key, past); got != want {
			t.Errorf("past %d: %s, want %s", past, got, want)
		}
	}
	info, err := os.Stat(left(t, here)[0])
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for range 2 {
		leaveSecond(t.Context())
	}
	if got := found(t, there, key, 0); got != "first 9" {
		t.Error(got)
	}
	leaveFirst(t.Context())
	there.Close(t.Context())
	if got, names := found(t, here, key, 0), left(t, here); got != "nobody" || len(names) > 0 {
		t.Errorf("%s, %q", got, names)
	}
}

// TestAsk: a change comes as it was sent, and so does what became of it.
func TestAsk(t *testing.T) {
	t.Parallel()
	here, there := two(t)
	value, binding := credential.NewSecret("a value"), credential.Header("api.example.com", "/v1", "X-Api-Key")
	status := &opensandbox.PolicyStatus{Mode: "enforcing", EnforcementMode: "dns", Policy: &opensandbox.NetworkPolicy{
		DefaultAction: "deny", Egress: []opensandbox.NetworkRule{{Action: "allow", Target: "a"}},
	}}
	at := time.Now().UTC()
	var came sandbox.Change
	here.Enter(key, 1, func(_ context.Context, change sandbox.Change) (*opensandbox.PolicyStatus, error) {
		came = change
		if change.RemoveRules != nil {
			return nil, fmt.Errorf("removing: %w", errors.Join(store.ErrConflict, credential.ErrNoProxy))
		}
		return status, nil
	})
	ask, _, err := there.Find(t.Context(), key, 0)
	must(t, err)
	for _, change := range []sandbox.Change{
		{AddRules: []opensandbox.NetworkRule{{Action: "allow", Target: "a"}, {Action: "deny", Target: "b"}}},
		{Credential: &sandbox.CredentialChange{Name: "n", Remove: true}},
		{Credential: &sandbox.CredentialChange{Name: "n", Set: true, CredentialPatch: sandbox.CredentialPatch{
			Value: &value, Expires: at, Binding: &binding, Source: credential.Env("X"),
		}}},
		{Credential: &sandbox.CredentialChange{Name: "n", Try: "https://a"}},
		{Credential: &sandbox.CredentialChange{Name: "n"}},
	} {
		got, err := ask(t.Context(), change)
		if err != nil || !reflect.DeepEqual(got, status) || !reflect.DeepEqual(came, change) {
			t.Errorf("%+v, %v: %+v came of %+v", got, err, came, change)
		}
	}
	_, err = ask(t.Context(), sandbox.Change{RemoveRules: []string{"a"}})
	if err == nil || err.Error() != "removing: conflict\nthe sandbox was created without the credential proxy" ||
		!errors.Is(err, store.ErrConflict) || !errors.Is(err, credential.ErrNoProxy) || errors.Is(err, store.ErrInvalid) {
		t.Errorf("%v", err)
	}
}

// TestLeave: who leaves waits for what it was asked for, and then nobody is asked any more.
func TestLeave(t *testing.T) {
	t.Parallel()
	here, there := two(t)
	begun, go1 := make(chan struct{}), make(chan struct{})
	leave := here.Enter(key, 1, func(context.Context, sandbox.Change) (*opensandbox.PolicyStatus, error) {
		close(begun)
		<-go1
		return nil, nil //nolint:nilnil // nothing to say
	})
	ask, _, err := there.Find(t.Context(), key, 0)
	must(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := ask(t.Context(), sandbox.Change{})
		done <- err
	}()
	<-begun
	gone := make(chan struct{})
	go func() { leave(t.Context()); close(gone) }()
	select {
	case <-gone:
		t.Error("it did not wait")
	case <-time.After(50 * time.Millisecond): // what is awaited is that nothing happens
	}
	close(go1)
	must(t, <-done)
	<-gone
	if _, err := ask(t.Context(), sandbox.Change{}); !errors.Is(err, sandbox.ErrDriverGone) {
		t.Errorf("%v", err)
	}
}

// TestKilled: what a killed process left is nobody, and does not stay.
func TestKilled(t *testing.T) {
	t.Parallel()
	here, there := two(t)
	must(t, os.MkdirAll(here.dir, 0o700))
	abandon := func(of place, age time.Duration) string {
		path := filepath.Join(here.dir, of.name())
		l, err := unixsock.Listen(path)
		must(t, err)
		must(t, l.Close())
		must(t, os.Chtimes(path, time.Time{}, time.Now().Add(-age)))
		return path
	}
	old := abandon(place{sandboxOf(key), 7, 1}, time.Hour)
	fresh := abandon(place{sandboxOf(key), 8, 1}, 0)
	others := abandon(place{"0123", 9, 1}, time.Hour)
	must(t, os.WriteFile(filepath.Join(here.dir, "something.else"), nil, 0o600))
	here.Enter(key, 6, says("alive"))
	if got := found(t, there, key, 0); got != "alive 6" {
		t.Error(got)
	}
	for path, want := range map[string]bool{old: false, others: false, fresh: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// raw is a driver's socket with somebody else behind it.
func raw(t *testing.T, d *Drivers, behind func(conn net.Conn)) (end func()) {
	t.Helper()
	must(t, os.MkdirAll(d.dir, 0o700))
	l, err := unixsock.Listen(filepath.Join(d.dir, place{sandboxOf(key), 1, 4711}.name()))
	must(t, err)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { defer func() { _ = conn.Close() }(); behind(conn) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	return func() { _ = l.Close() }
}

// head reads a request and returns its first line.
func head(conn net.Conn) string {
	buf := make([]byte, 64<<10)
	n, _ := conn.Read(buf)
	line, _, _ := strings.Cut(string(buf[:n]), "\r\n")
	return line
}

// TestStopped: a process that does not answer is told of, and is not told anything.
func TestStopped(t *testing.T) {
	t.Parallel()
	here, _ := two(t)
	here.within = 100 * time.Millisecond
	raw(t, here, func(conn net.Conn) {
		if line := head(conn); line != "" && !strings.HasPrefix(line, "GET ") {
			t.Errorf("it was sent %s", line)
		}
		_, _ = io.Copy(io.Discard, conn)
	})
	ask, _, err := here.Find(t.Context(), key, 0)
	if ask != nil || err == nil || !strings.Contains(err.Error(), "process 4711 drives the sandbox and does not answer") {
		t.Errorf("%v", err)
	}
}

// TestAnswersLater: a driver that cuts a connection, and is there, has not gone.
func TestAnswersLater(t *testing.T) {
	t.Parallel()
	here, _ := two(t)
	var cut atomic.Int64
	raw(t, here, func(conn net.Conn) {
		if line := head(conn); strings.HasPrefix(line, "GET ") && cut.Add(1) > 3 {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})
	if ask, epoch, err := here.Find(t.Context(), key, 0); ask == nil || epoch != 1 || err != nil {
		t.Errorf("found %t, %d, %v", ask != nil, epoch, err)
	}
}

// TestEnds: whether a process that ends had begun decides what is known.
func TestEnds(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	for name, test := range map[string]struct {
		answer string
		want   error
	}{
		"before it began":     {"", sandbox.ErrDriverGone},
		"not at all":          {"", store.ErrUnavailable},
		"after it began":      {ok, store.ErrUnknownOutcome},
		"while it answered":   {ok + "5\r\n{\"fai", store.ErrUnknownOutcome},
		"of another version":  {"HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nno\n", errOther},
		"that speaks nothing": {"220 welcome\r\n", store.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			here, _ := two(t)
			var end func()
			end = raw(t, here, func(conn net.Conn) {
				if line := head(conn); strings.HasPrefix(line, "GET ") {
					_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
				} else if line != "" {
					_, _ = io.WriteString(conn, test.answer)
					if name == "before it began" {
						_ = conn.Close()
						time.Sleep(50 * time.Millisecond) // one is closed after the other
						end()
					}
				}
			})
			ask, _, err := here.Find(t.Context(), key, 0)
			must(t, err)
			if _, err := ask(t.Context(), sandbox.Change{}); !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
		})
	}
}

// TestUnknownChange: what a newer version asks for is not done in part.
func TestUnknownChange(t *testing.T) {
	t.Parallel()
	here, there := two(t)
	here.Enter(key, 1, func(context.Context, sandbox.Change) (*opensandbox.PolicyStatus, error) {
		t.Error("it was done")
		return nil, nil //nolint:nilnil // nothing to say
	})
	all, err := there.places()
	must(t, err)
	_, err = there.asker(all[0]).do( //nolint:bodyclose // there is none with an error
		t.Context(), "POST", routeChange, []byte(`{"removeRules":["a"],"only":"tomorrow"}`))
	if !errors.Is(err, errOther) || !strings.Contains(err.Error(), `unknown field "only"`) {
		t.Errorf("%v", err)
	}
}

// TestAlone: one at a time, also of two processes, and without a directory all the same.
func TestAlone(t *testing.T) {
	t.Parallel()
	here, there := two(t)
	var inside atomic.Int32
	var all sync.WaitGroup
	for _, d := range []*Drivers{here, there, here, there} {
		all.Go(func() {
			err := d.Alone(t.Context(), func() error {
				if inside.Add(1) > 1 {
					t.Error("somebody else is inside")
				}
				time.Sleep(2 * again)
				inside.Add(-1)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()

	must(t, here.Alone(t.Context(), func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 2*again)
		defer cancel()
		if err := there.Alone(ctx, func() error { t.Error("it went in"); return nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		return nil
	}))

	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	nowhere := New(file, hclog.NewNullLogger())
	called := errors.New("called")
	if err := nowhere.Alone(t.Context(), func() error { return called }); !errors.Is(err, called) {
		t.Errorf("%v", err)
	}
	nowhere.Enter(key, 1, says("unheard"))(t.Context())
}
