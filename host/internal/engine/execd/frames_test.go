//go:build unix

package execd

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// FuzzClientFrame checks that no frame of a viewer's does more than it may: a
// terminal on pipes whose process has ended takes all of them.
func FuzzClientFrame(f *testing.F) {
	f.Add(true, []byte("\x00keys"))
	for _, s := range []string{`{"type":"stdin","data":"x"}`, `{"type":"resize","cols":70000}`, `{"type":"signal","signal":"SIGINT"}`, `{"type":1}`, `{"type":"bogus"}`, `[`} {
		f.Add(false, []byte(s))
	}
	f.Fuzz(func(t *testing.T, isBinary bool, b []byte) {
		table := &Table{}
		v := &viewer{t: newTerminal("x", "/", ""), run: &terminalRun{ended: true, proc: &Process{ended: true, table: table}}}
		answer := v.obey(isBinary, b)
		if answer == nil {
			return
		}
		if isBinary && (len(b) == 0 || b[0] != kindInput) {
			t.Errorf("%q was answered: %+v", b, answer)
		}
		if _, err := json.Marshal(answer); err != nil || answer.Type != "pong" && (answer.Type != "error" || answer.Code == "" || answer.Error == "") {
			t.Errorf("%q: %+v %v", b, answer, err)
		}
	})
}

// FuzzBodies sends odd bodies to what answers before it starts a process.
func FuzzBodies(f *testing.F) {
	f.Add("/code", `{"context":{"language":"nope"},"code":"1"}`)
	f.Add("/code", `{"context":{"id":"nope"},"code":"1"}`)
	f.Add("/code/context", `{"language":"java"}`)
	f.Add("/session/nope/run", `{"command":"x","timeout":1}`)
	f.Add("/session/nope/run", `{"command":1}`)
	f.Fuzz(func(t *testing.T, path, body string) {
		known := path == "/code" || path == "/code/context" || path == "/session/nope/run"
		var q struct {
			Context  struct{ Language, ID string }
			Language string
		}
		_ = json.Unmarshal([]byte(body), &q)
		if !known || q.Context.Language == "" && q.Context.ID == "" || strings.Contains(body, "command") && path == "/code" || strings.Contains(body, "wd") {
			return // it could start something
		}
		s := New(Options{Env: map[string]string{"PATH": "/nowhere"}, Dir: "/"})
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
		var e apiError
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code < 400 || e.Code == "" || e.Message == "" {
			t.Errorf("%s %q: %d %s", path, body, w.Code, w.Body)
		}
	})
}
