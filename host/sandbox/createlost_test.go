package sandbox_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/sandbox"
)

// One that is gone, or has ended, is not waited for until it answers.
func TestCreateGivesUpWhatIsGone(t *testing.T) {
	t.Parallel()
	for words, answer := range map[string]action{
		"it is gone": says{404, `{"code":"X","message":"no"}`},
		"OOMKilled":  says{200, `{"id":"x","status":{"state":"Failed","reason":"OOMKilled"}}`},
	} {
		r := newRig(t, func(o *sandbox.Options) { o.ExecdTimeout = time.Hour })
		r.wire.on("GET", "/ping", says{502, ""})
		r.wire.do("GET", "/v1/sandboxes/", func(req *http.Request) (*http.Response, error) {
			if strings.Contains(req.URL.Path, "/endpoints/") {
				return pass(req)
			}
			return answer.RoundTrip(req)
		})
		if _, err := r.client.Create(t.Context(), sandbox.CreateOptions{}); !errors.Is(err, sandbox.ErrNotReady) || !strings.Contains(err.Error(), words) {
			t.Errorf("got %v, want %q", err, words)
		}
	}
}

// When the answer is lost, what was made is looked for and deleted; also on a server that lists all there is,
// whatever is asked for, and then nothing else is.
func TestLostAnswerSparesOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	other := r.create(sandbox.CreateOptions{RunID: "same"})
	r.wire.do(http.MethodPost, "=/v1/sandboxes", func(req *http.Request) (*http.Response, error) {
		if resp, err := pass(req); err == nil {
			_ = resp.Body.Close()
		}
		return nil, errors.New("lost")
	})
	r.wire.do(http.MethodGet, "=/v1/sandboxes", func(req *http.Request) (*http.Response, error) {
		all := req.Clone(req.Context())
		query := all.URL.Query()
		query.Del("metadata")
		all.URL.RawQuery = query.Encode()
		resp, err := pass(all)
		if err != nil {
			return nil, err
		}
		var page struct {
			Items []map[string]any `json:"items"`
		}
		if err := json.NewDecoder(resp.Body).Decode(&page); err != nil {
			return nil, err
		}
		_ = resp.Body.Close()
		// Of the tests' own engine, only this test's.
		page.Items = slices.DeleteFunc(page.Items, func(box map[string]any) bool {
			metadata, _ := box["metadata"].(map[string]any)
			return metadata["runId"] != "same"
		})
		body, err := json.Marshal(page)
		if err != nil {
			return nil, err
		}
		return says{http.StatusOK, string(body)}.RoundTrip(req)
	})
	if _, err := r.client.Create(t.Context(), sandbox.CreateOptions{RunID: "same"}); err == nil {
		t.Error("no error")
	}
	if left := ofRun(t, "same"); len(left) != 1 || left[0] != other.ID() {
		t.Errorf("left: %v, want %s", left, other.ID())
	}
}
