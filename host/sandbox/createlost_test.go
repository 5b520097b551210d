package sandbox_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/internal/nativebroker"
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

// Of a sandbox that was given up, the ledger says that it is over if it may know of it, and nothing at all if
// it doesn't.
func TestCreateWritesOff(t *testing.T) {
	t.Parallel()
	for _, why := range []error{store.ErrInvalid, store.ErrUnavailable} {
		r := newRig(t)
		r.store.set(failOn(store.EventSandboxCreated, why))
		if _, err := r.client.Create(t.Context(), sandbox.CreateOptions{Name: "lost"}); !errors.Is(err, why) {
			t.Errorf("got %v", err)
		}
		must(t, r.client.Close(t.Context())) // it waits for what is done behind the caller's back
		for _, id := range r.wire.made() {
			if left := r.entriesOf(store.Key{Name: "lost", SandboxID: id}); len(left) > 0 {
				t.Errorf("%v: the ledger has %s", why, short(left))
			}
		}
	}
	r := newRig(t, withBroker(nativebroker.New(nativebroker.Options{}), map[string]string{"API_KEY": canary}))
	h := r.proxied()
	r.set(h, "api", canary, credential.Bearer("api.example.com"), credential.Env("API_KEY"))
	r.wire.on(http.MethodPost, vaultPath, says{http.StatusBadRequest, `{"code":"X","message":"no"}`})
	if _, err := h.Fork(t.Context(), sandbox.ForkOptions{}); !errors.Is(err, credential.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	must(t, h.Close(t.Context()))
	must(t, r.client.Close(t.Context()))
	page, err := r.client.ListSandboxes(t.Context(), store.ListOptions{})
	must(t, err)
	if len(page.Sandboxes) != 2 {
		t.Errorf("the ledger has %+v", page.Sandboxes)
	}
	for _, details := range page.Sandboxes {
		if details.Status != store.StatusCompleted {
			t.Errorf("the ledger has %+v", details)
		}
	}
	if r.writer.Redactor().Has(canary) {
		t.Error("the value that it was to have is still kept")
	}
}
