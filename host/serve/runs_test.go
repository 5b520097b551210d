package serve_test

import (
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/store"
)

// TestRun starts a run, leaves it, comes back for the rest, emits an event into it and sees its end.
func TestRun(t *testing.T) {
	t.Parallel()
	onEach(t, token, testRun)
}

func testRun(t *testing.T, r *rig) {
	t.Helper()
	const command = `echo first; until test -e /tmp/go; do sleep 0.05; done; echo last; exit 3`
	body := `{"runId":"run/1","threadId":"thread 1","command":"` + command + `","env":{"SECRET":"canary-5f1b"}}`
	r.want(http.StatusCreated, http.MethodPost, "/v1/runs", body, nil)
	if text := r.want(http.StatusConflict, http.MethodPost, "/v1/runs", body, nil); !strings.Contains(text, `"code":"exists"`) {
		t.Errorf("started twice: %s", text)
	}
	var found store.Run
	if r.want(http.StatusOK, http.MethodGet, "/v1/threads/thread%201/run", "", &found); found.ID != "run/1" {
		t.Errorf("found %+v", found)
	}
	viewer := r.view("run%2F1", "")
	var last event
	for last.Text != "first\n" {
		var ok bool
		if last, ok = viewer.next(); !ok {
			t.Fatal("the stream ended before the output began")
		}
	}
	viewer.close()

	var emitted struct{ Offset uint64 }
	r.want(http.StatusCreated, http.MethodPost, "/v1/runs/run%2F1/events", `{"kind":"note","data":{"n":[1,null]}}`, &emitted)
	for _, kind := range []string{"output", "run.ended", ""} {
		r.want(http.StatusBadRequest, http.MethodPost, "/v1/runs/run%2F1/events", `{"kind":"`+kind+`"}`, nil)
	}
	r.want(http.StatusCreated, http.MethodPost, "/v1/runs", `{"runId":"go","threadId":"thread 1","command":"touch /tmp/go"}`, nil)

	viewer = r.view("run%2F1", last.ID)
	note, ok := viewer.next()
	if !ok || note.Kind != "note" || string(note.Data) != `{"n":[1,null]}` || note.Offset != emitted.Offset {
		t.Errorf("got %+v behind event %s", note, last.ID)
	}
	text, end := viewer.rest()
	if text != "last\n" || end.Kind != "run.ended" || !strings.Contains(string(end.Data), `"exitCode":3`) {
		t.Errorf("got %q and %s", text, end.Data)
	}
	// A browser comes back after the end, and is told to stay away.
	after := r.view("run%2F1", end.ID)
	after.close()
	if after.resp.StatusCode != http.StatusNoContent {
		t.Errorf("after the end: %s", after.resp.Status)
	}
	if text, _ := r.view("run%2F1", "").rest(); text != "first\nlast\n" {
		t.Errorf("from the beginning: %q", text)
	}
	var page struct{ Runs []store.Run }
	if r.want(http.StatusOK, http.MethodGet, "/v1/runs?thread=thread+1&status=failed", "", &page); len(page.Runs) != 1 {
		t.Errorf("listed %+v", page)
	}
	r.want(http.StatusNotFound, http.MethodGet, "/v1/runs/nobody/events", "", nil)
	metrics := r.want(http.StatusOK, http.MethodGet, "/metrics", "", nil)
	for _, line := range []string{"alineo_serve_runs_started_total 2", `alineo_serve_requests_total{endpoint="POST /v1/runs",code="409"} 1`} {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("the metrics have no %s:\n%s", line, metrics)
		}
	}
	secret, ok, err := r.runs.Stores().Runs.Secret(t.Context(), "run/1")
	if err != nil || !ok {
		t.Fatalf("the run has no secret: %v", err)
	}
	for _, form := range []string{string(secret), hex.EncodeToString(secret), base64.StdEncoding.EncodeToString(secret)} {
		if strings.Contains(r.said.String(), form) || strings.Contains(r.log.String(), form) {
			t.Errorf("the run's secret was told")
		}
	}
	if strings.Contains(metrics, "thread 1") || strings.Contains(r.log.String(), "canary-5f1b") || strings.Contains(r.log.String(), token) {
		t.Error("what is nobody's business is in the metrics or the log")
	}
}

// TestCancel ends a run, and what is a run of an application's own is left to it.
func TestCancel(t *testing.T) {
	t.Parallel()
	onEach(t, "", testCancel)
}

func testCancel(t *testing.T, r *rig) {
	t.Helper()
	r.want(http.StatusCreated, http.MethodPost, "/v1/runs", `{"runId":"r","threadId":"t","command":"sleep 1000","reuse":"none"}`, nil)
	viewer := r.view("r", "")
	r.want(http.StatusAccepted, http.MethodPost, "/v1/runs/r/cancel", "", nil)
	if _, end := viewer.rest(); !strings.Contains(string(end.Data), `"status":"aborted"`) {
		t.Errorf("it ended as %s", end.Data)
	}
	if text := r.want(http.StatusConflict, http.MethodPost, "/v1/runs/r/cancel", "", nil); !strings.Contains(text, `"code":"ended"`) {
		t.Errorf("canceled twice: %s", text)
	}
	r.want(http.StatusNotFound, http.MethodPost, "/v1/runs/nobody/cancel", "", nil)
	r.want(http.StatusCreated, http.MethodPut, "/v1/runs/own", `{"threadId":"t","startedAt":5}`, nil)
	for method, path := range map[string]string{http.MethodPost: "/v1/runs/own/cancel", http.MethodGet: "/v1/runs/own/events"} {
		if text := r.want(http.StatusConflict, method, path, "", nil); !strings.Contains(text, `"code":"foreign"`) {
			t.Errorf("%s: %s", path, text)
		}
	}
	// Nor does a sweep touch it, however long nobody looked.
	r.want(http.StatusOK, http.MethodPatch, "/v1/runs/own", `{"set":{"sandboxKey":"of-theirs","detachedSince":5}}`, nil)
	if _, err := r.runs.Reap(t.Context()); err != nil {
		t.Error(err)
	}
	const untouched = `{"runId":"own","threadId":"t","status":"running","startedAt":5,"sandboxKey":"of-theirs","detachedSince":5}`
	if text := r.want(http.StatusOK, http.MethodGet, "/v1/runs/own", "", nil); text != untouched {
		t.Errorf("a sweep left %s", text)
	}
}

// TestStop stops a daemon while a run goes on and is viewed; the next one has the rest.
func TestStop(t *testing.T) {
	t.Parallel()
	onEach(t, token, testStop)
}

func testStop(t *testing.T, r *rig) {
	t.Helper()
	const command = `echo first; until test -e /tmp/go; do sleep 0.05; done; echo last`
	r.want(http.StatusCreated, http.MethodPost, "/v1/runs", `{"runId":"r","threadId":"t","command":"`+command+`"}`, nil)
	viewer := r.view("r", "")
	seen, last := "", event{}
	for seen == "" {
		var ok bool
		if last, ok = viewer.next(); !ok {
			t.Fatal("the stream ended before the output began")
		}
		seen += last.Text
	}
	// It is asked for and not begun yet when the daemon is told to end: it begins all the same.
	r.want(http.StatusCreated, http.MethodPost, "/v1/runs", `{"runId":"late","threadId":"t","command":"echo late"}`, nil)
	r.stop()
	if text, _ := viewer.rest(); text != "" {
		t.Errorf("the stopped daemon told %q", text)
	}
	next := startIn(t, r.dir, token)
	viewer = next.view("r", last.ID)
	next.want(http.StatusCreated, http.MethodPost, "/v1/runs", `{"runId":"go","threadId":"t","command":"touch /tmp/go"}`, nil)
	if text, _ := viewer.rest(); seen+text != "first\nlast\n" {
		t.Errorf("the viewer got %q and %q", seen, text)
	}
	if text, end := next.view("late", "").rest(); text != "late\n" || end.Kind != "run.ended" {
		t.Errorf("the late run told %q and ended as %s", text, end.Data)
	}
}
