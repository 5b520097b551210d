package serve_test

import (
	"bytes"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/store"
)

// TestContentFree holds that where only the sandbox is kept, what anyone typed and what commands printed is in no file
// of the host's and in no line of its log, at any level, whether a run goes well or not; and that viewers get it.
func TestContentFree(t *testing.T) {
	t.Parallel()
	const canary = "tHe-cAnArY"
	r := startOn(t, token, "[plugins.sqlite.config]\npath = \"ledger.db\"\n[plugins.sqlite.limits]\ndeadline = \"1m\"\n[runs]\nkeep = \"sandbox\"\n")
	begin := func(id, more string) {
		t.Helper()
		r.want(http.StatusCreated, http.MethodPost, "/v1/runs", `{"runId":"`+id+`","threadId":"t",`+more+`}`, nil)
	}
	begin("good", `"command":"echo `+canary+`; echo `+canary+` >&2; exit 3","env":{"A":"`+canary+`"},"setup":["mkdir -p /tmp/`+canary+`"],
		"sandbox":{"env":{"B":"`+canary+`"}},"cwd":"/tmp","definition":"`+canary+`","tenant":{"userId":"`+canary+`"}`)
	text, end := r.view("good", "").rest()
	if text != canary+"\n" || !strings.Contains(string(end.Data), `"exitCode":3`) {
		t.Errorf("the viewer got %q and %s", text, end.Data)
	}
	begin("lost", `"command":"true","cwd":"/not/`+canary+`"`)
	r.view("lost", "").rest()
	begin("unprepared", `"command":"true","setup":["echo `+canary+` >&2; false"]`)
	r.view("unprepared", "").rest()
	begin("canceled", `"command":"sleep 1000 # `+canary+`"`)
	viewer := r.view("canceled", "")
	r.want(http.StatusAccepted, http.MethodPost, "/v1/runs/canceled/cancel", "", nil)
	viewer.rest()
	r.want(http.StatusBadRequest, http.MethodPost, "/v1/runs", `{"runId":"bad","threadId":"t","command":"`+canary+`","reuse":"maybe"}`, nil)
	for id, code := range map[string]string{"good": "exit", "lost": "not-started", "unprepared": "sandbox", "canceled": "canceled"} {
		var run store.Run
		if r.want(http.StatusOK, http.MethodGet, "/v1/runs/"+id, "", &run); run.Error == nil || run.Error.Code != code {
			t.Errorf("run %q ended with %+v, not with %q", id, run.Error, code)
		}
	}
	r.stop()
	if !strings.Contains(r.log.String(), "run=good") {
		t.Error("the log says nothing of the runs")
	}
	for line := range strings.Lines(r.log.String()) {
		if strings.Contains(line, canary) {
			t.Errorf("the log has %s", line)
		}
	}
	files := 0
	err := filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(canary)) {
			t.Errorf("%s has the canary", path)
		}
		return err
	})
	if err != nil || files < 2 { // the configuration and the database
		t.Errorf("%d files were looked at: %v", files, err)
	}
}
