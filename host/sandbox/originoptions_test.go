package sandbox_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// refuseAndKeep lets no sandbox be made, and hands on what was asked for, without its metadata.
func refuseAndKeep(t *testing.T, r *rig) (asked func() (request, runID string)) {
	t.Helper()
	bodies := make(chan []byte, 1)
	r.wire.do(http.MethodPost, "=/v1/sandboxes", func(req *http.Request) (*http.Response, error) {
		raw, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		bodies <- raw
		return says{http.StatusTeapot, `{"code":"X","message":"no tea"}`}.RoundTrip(req)
	})
	return func() (request, runID string) {
		t.Helper()
		var sent map[string]any
		select {
		case raw := <-bodies:
			must(t, json.Unmarshal(raw, &sent))
		default:
			t.Fatal("nothing was asked for")
		}
		metadata, _ := sent["metadata"].(map[string]any)
		runID, _ = metadata["runId"].(string)
		delete(sent, "metadata")
		text, err := json.Marshal(sent)
		must(t, err)
		return string(text), runID
	}
}

// However a sandbox comes to be, what its options say is what the server is asked for.
func TestOriginsSendEverything(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	policy := &opensandbox.NetworkPolicy{DefaultAction: "deny", Egress: []opensandbox.NetworkRule{{Action: "allow", Target: " 10.0.0.0/8\t"}}}
	parent := r.create(sandbox.CreateOptions{RunID: "first", NetworkPolicy: policy, CredentialProxy: true})
	snapshot := r.checkpoint(parent, "first")
	must(t, r.store.SaveEnvironment(t.Context(), store.Environment{Name: "tools", SnapshotID: snapshot, Image: "host"}))
	asked := refuseAndKeep(t, r)
	env := map[string]string{"A": "b"}
	volumes := []opensandbox.Volume{{Name: "data", Host: &opensandbox.HostVolume{Path: "/srv"}, MountPath: "/data"}}
	const lifetime = 90 * time.Second
	other := sandbox.Resources{CPU: "500m", Memory: "1Gi", GPU: "all"}
	const common = `"env":{"A":"b"},"networkPolicy":{"defaultAction":"deny","egress":[{"action":"allow","target":"10.0.0.0/8"}]},"resourceLimits":`
	const mount = `"timeout":90,"volumes":[{"host":{"path":"/srv"},"mountPath":"/data","name":"data"}]}`
	own := `{"credentialProxy":{"enabled":true},` + common + `{"cpu":"2","memory":"256Mi"},"snapshotId":"` + snapshot + `",` + mount
	for name, origin := range map[string]struct {
		make  func() error
		want  string
		runID string
	}{
		"resume": {func() error {
			_, err := r.client.Resume(t.Context(), parent.ID(), sandbox.ResumeOptions{Tag: "first", Env: env, Volumes: volumes, Lifetime: lifetime})
			return err
		}, own, "first"},
		"fork": {func() error {
			_, err := parent.Fork(t.Context(), sandbox.ForkOptions{
				RunID: "mine", Env: env, Volumes: volumes, Lifetime: lifetime, NetworkPolicy: policy, CredentialProxy: true,
			})
			return err
		}, "", "mine"},
		"restore": {func() error {
			_, err := r.client.RestoreSnapshot(t.Context(), snapshot, sandbox.RestoreOptions{
				RunID: "mine", Resources: other, Env: env, Volumes: volumes, Lifetime: lifetime, NetworkPolicy: policy, CredentialProxy: true,
			})
			return err
		}, `{"credentialProxy":{"enabled":true},` + common + `{"cpu":"500m","gpu":"all","memory":"1Gi"},"snapshotId":"` + snapshot + `",` + mount, "mine"},
		"environment": {func() error {
			_, err := r.client.Environment("tools", sandbox.EnvironmentOptions{}).Create(t.Context(), sandbox.SpawnOptions{
				RunID: "mine", Env: env, Volumes: volumes, Lifetime: lifetime, NetworkPolicy: policy, CredentialProxy: true,
			})
			return err
		}, own, "mine"},
	} {
		if err := origin.make(); err == nil {
			t.Errorf("%s: it was made", name)
		}
		got, runID := asked()
		want := origin.want
		if name == "fork" { // of a snapshot of its own
			list, err := parent.Checkpoints(t.Context())
			must(t, err)
			want = `{"credentialProxy":{"enabled":true},` + common + `{"cpu":"2","memory":"256Mi"},"snapshotId":"` + list[len(list)-1].SnapshotID + `",` + mount
		}
		if got != want || runID != origin.runID {
			t.Errorf("%s of run %q:\ngot  %s\nwant %s", name, runID, got, want)
		}
	}
	if policy.Egress[0].Target != " 10.0.0.0/8\t" {
		t.Errorf("the caller's policy has become %+v", policy)
	}
	// While an environment is built, too.
	_, err := r.client.Environment("new", sandbox.EnvironmentOptions{
		Image: "registry.example.com/tool:1", ImageAuth: &sandbox.ImageAuth{Username: "me", Password: "pw"}, Resources: other, Env: env,
	}).Build(t.Context())
	if err == nil {
		t.Error("it was built")
	}
	const want = `{"entrypoint":["tail","-f","/dev/null"],"env":{"A":"b"},"image":{"auth":{"password":"pw","username":"me"},"uri":"registry.example.com/tool:1"},` +
		`"resourceLimits":{"cpu":"500m","gpu":"all","memory":"1Gi"}}`
	if got, _ := asked(); got != want {
		t.Errorf("building:\ngot  %s\nwant %s", got, want)
	}
}

// What a sandbox may reach is recorded however it came to be, so that its children and those that are resumed
// from it are locked as well.
func TestOriginsRecordTheirPolicy(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	policy := &opensandbox.NetworkPolicy{DefaultAction: "deny", Egress: []opensandbox.NetworkRule{{Action: "allow", Target: "a.example.com"}}}
	first := r.create(sandbox.CreateOptions{})
	snapshot := r.checkpoint(first, "")
	must(t, r.store.SaveEnvironment(t.Context(), store.Environment{Name: "tools", SnapshotID: snapshot, Image: "host"}))
	for name, origin := range map[string]func() (*sandbox.Handle, error){
		"restore": func() (*sandbox.Handle, error) {
			return r.client.RestoreSnapshot(t.Context(), snapshot, sandbox.RestoreOptions{NetworkPolicy: policy, CredentialProxy: true})
		},
		"environment": func() (*sandbox.Handle, error) {
			return r.client.Environment("tools", sandbox.EnvironmentOptions{}).Create(t.Context(), sandbox.SpawnOptions{NetworkPolicy: policy, CredentialProxy: true})
		},
	} {
		h := r.keep(origin())
		const want = `"networkPolicy":{"defaultAction":"deny","egress":[{"action":"allow","target":"a.example.com"}]},"credentialProxy":`
		if got := r.payloads(h, store.EventSandboxCreated)[0]; !strings.Contains(got, want+"true") {
			t.Errorf("%s: created as %s", name, got)
		}
		r.checkpoint(h, "")
		for from, next := range map[string]*sandbox.Handle{
			"resumed": r.resume(h.ID(), sandbox.ResumeOptions{}), "forked": r.keep(h.Fork(t.Context(), sandbox.ForkOptions{})),
		} {
			if got := r.payloads(next, store.EventSandboxCreated)[0]; !strings.Contains(got, want) {
				t.Errorf("%s, %s: created as %s", name, from, got)
			}
			if status, err := next.NetworkPolicy(t.Context()); err != nil || status.Policy == nil || status.Policy.DefaultAction != "deny" || len(status.Policy.Egress) != 1 {
				t.Errorf("%s, %s: %+v, %v", name, from, status, err)
			}
		}
	}
}
