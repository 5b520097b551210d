package opensandbox_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// What is asked for is what execd gets, in its own units: milliseconds, where the control server has seconds.
func TestRunSendsEverything(t *testing.T) {
	t.Parallel()
	uid, gid := uint32(0), uint32(54321) // 0 is somebody, too
	for want, req := range map[string]opensandbox.RunRequest{
		`{"command":"true"}`: {Command: "true"},
		`{"command":"echo <a>","cwd":"/w","timeout":1001,"uid":0,"gid":54321,"envs":{"A":"b"}}`: {
			Command: "echo <a>", Cwd: "/w", Env: map[string]string{"A": "b"}, Timeout: time.Second + time.Microsecond, UID: &uid, GID: &gid,
		},
	} {
		calls, execd := recordExecd(t, reply(`{"type":"init","text":"c"}`+"\n\n"+`{"type":"execution_complete"}`+"\n\n"))
		check := func(want string) {
			t.Helper()
			call, body := calls.last(t)
			same(t, "call", call, "POST /command")
			same(t, "body", strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(body), want)
		}
		stream, err := execd.Run(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		_ = stream.Close()
		check(want)
		job, err := execd.Start(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		_ = job.Close()
		// A job is the same, and says that it is one.
		if strings.Contains(want, `"timeout"`) {
			check(strings.Replace(want, `"timeout"`, `"background":true,"timeout"`, 1))
		} else {
			check(strings.TrimSuffix(want, "}") + `,"background":true}`)
		}
	}
}

// What no server takes is not sent.
func TestRunRefuses(t *testing.T) {
	t.Parallel()
	gid := uint32(0)
	calls, execd := recordExecd(t, status(http.StatusOK))
	for what, req := range map[string]opensandbox.RunRequest{
		"no command":           {},
		"a negative timeout":   {Command: "true", Timeout: -1},
		"a group without user": {Command: "true", GID: &gid},
		"a variable in a path": {Command: "true", Cwd: "/$HOME"},
	} {
		if _, err := execd.Run(t.Context(), req); !errors.Is(err, opensandbox.ErrInvalid) && !errors.Is(err, opensandbox.ErrPath) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if calls.count() != 0 {
		t.Errorf("%d were sent", calls.count())
	}
}

// A server that asks for time gets it from whoever follows a command, too.
func TestJobWaitsAsAsked(t *testing.T) {
	t.Parallel()
	server := &backgroundExecd{pieces: []string{"x"}, code: `"exit_code":0`}
	var asked atomic.Int32
	busy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			status(http.StatusTooManyRequests, "Retry-After", "1")(w, r)
			return
		}
		server.ServeHTTP(w, r)
	})
	began := time.Now()
	job := execdAt(t, strings.TrimPrefix(busy.URL, "http://"), opensandbox.Options{}).Follow(t.Context(), "job1", opensandbox.Position{})
	defer func() { _ = job.Close() }()
	raw, err := io.ReadAll(job)
	if took := time.Since(began); err != nil || string(raw) != "x" || took < time.Second {
		t.Errorf("got %q after %s, %v", raw, took, err)
	}
}
