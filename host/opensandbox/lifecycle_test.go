package opensandbox_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// recorder answers everything with one answer and notes what came.
type recorder struct {
	mu     sync.Mutex
	calls  []string // method, path and query
	bodies []string
	answer http.HandlerFunc
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	r.calls = append(r.calls, req.Method+" "+req.URL.RequestURI())
	r.bodies = append(r.bodies, string(body))
	r.mu.Unlock()
	r.answer(w, req)
}

func (r *recorder) last(t *testing.T) (call, body string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.calls) == 0 {
		t.Fatal("nothing was sent")
	}
	return r.calls[len(r.calls)-1], r.bodies[len(r.bodies)-1]
}

func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.calls)
}

// record serves a control server that notes its calls.
func record(t *testing.T, answer http.HandlerFunc) (*recorder, *opensandbox.Client) {
	t.Helper()
	r := &recorder{answer: answer}
	return r, newClient(t, opensandbox.Options{BaseURL: serve(t, r.ServeHTTP).URL})
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\ngot  %s\nwant %s", what, got, want)
	}
}

func TestCreateSendsEverything(t *testing.T) {
	t.Parallel()
	calls, client := record(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"id":"8f","status":{"state":"Running","reason":"CONTAINER_RUNNING"},"platform":{"os":"linux","arch":"arm64"},
			"createdAt":"2026-06-15T10:00:00.123456Z","extensions":{"a":"b"},"newer":{"field":[1]}}`)
	})
	no := false
	box, err := client.CreateSandbox(t.Context(), opensandbox.CreateRequest{
		Image:           &opensandbox.Image{URI: "registry/x:1", Auth: &opensandbox.ImageAuth{Username: "u", Password: "p"}},
		Entrypoint:      []string{"tail", "-f", "/dev/null"},
		Timeout:         600,
		ResourceLimits:  map[string]string{"cpu": "500m", "gpu": "all", "memory": "512Mi"},
		Env:             map[string]string{"A": "b"},
		Metadata:        map[string]string{"team.example.com/run-id": "7", "empty": ""},
		NetworkPolicy:   &opensandbox.NetworkPolicy{DefaultAction: "deny", Egress: []opensandbox.NetworkRule{{Action: "allow", Target: "*.example.org"}}},
		CredentialProxy: &opensandbox.CredentialProxy{Enabled: true},
		SecureAccess:    true,
		Volumes: []opensandbox.Volume{
			{Name: "data", Host: &opensandbox.HostVolume{Path: "/srv/data"}, MountPath: "/data", ReadOnly: true, SubPath: "a/b"},
			{Name: "pvc", PVC: &opensandbox.PVCVolume{ClaimName: "c", CreateIfNotExists: &no}, MountPath: "/p"},
		},
		Platform:   &opensandbox.Platform{OS: "linux", Arch: "arm64"},
		Extensions: map[string]string{"access.renew.extend.seconds": "600"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if box.Platform == nil || box.Platform.Arch != "arm64" || box.Status.Reason != "CONTAINER_RUNNING" {
		t.Errorf("got %+v", box)
	}
	call, body := calls.last(t)
	same(t, "call", call, "POST /v1/sandboxes")
	same(t, "body", body, `{"image":{"uri":"registry/x:1","auth":{"username":"u","password":"p"}},"entrypoint":["tail","-f","/dev/null"],"timeout":600,`+
		`"resourceLimits":{"cpu":"500m","gpu":"all","memory":"512Mi"},"env":{"A":"b"},"metadata":{"empty":"","team.example.com/run-id":"7"},`+
		`"networkPolicy":{"defaultAction":"deny","egress":[{"action":"allow","target":"*.example.org"}]},"credentialProxy":{"enabled":true},"secureAccess":true,`+
		`"volumes":[{"name":"data","host":{"path":"/srv/data"},"mountPath":"/data","readOnly":true,"subPath":"a/b"},`+
		`{"name":"pvc","pvc":{"claimName":"c","createIfNotExists":false},"mountPath":"/p"}],`+
		`"platform":{"os":"linux","arch":"arm64"},"extensions":{"access.renew.extend.seconds":"600"}}`)
}

func TestCreateFromSnapshotAndPool(t *testing.T) {
	t.Parallel()
	calls, client := record(t, reply(`{"id":"8f","snapshotId":"s","status":{"state":"Allocated"}}`))
	for want, req := range map[string]opensandbox.CreateRequest{
		`{"snapshotId":"s","networkPolicy":{"egress":[]}}`: {SnapshotID: "s", NetworkPolicy: &opensandbox.NetworkPolicy{}},
		`{"extensions":{"poolRef":"warm"}}`:                {Extensions: map[string]string{"poolRef": "warm"}},
	} {
		box, err := client.CreateSandbox(t.Context(), req)
		if err != nil || box.Status.State != "Allocated" {
			t.Fatalf("%s: got %+v, %v", want, box, err)
		}
		_, body := calls.last(t)
		same(t, "body", body, want)
	}
}

// What every server would refuse is refused at once, with all that is wrong.
func TestCreateFindsProblems(t *testing.T) {
	t.Parallel()
	calls, client := record(t, reply(`{"id":"8f"}`))
	image := &opensandbox.Image{URI: "x"}
	for want, req := range map[string]opensandbox.CreateRequest{
		"the image has no uri": {Image: &opensandbox.Image{URI: " "}},
		"can't be made from a snapshot": {
			SnapshotID: "s", Extensions: map[string]string{"poolRef": "p"},
		},
		"needs a network policy":            {Image: image, CredentialProxy: &opensandbox.CredentialProxy{Enabled: true}},
		`not "linux" and ""`:                {Image: image, Platform: &opensandbox.Platform{OS: "linux"}},
		`default action "block"`:            {Image: image, NetworkPolicy: &opensandbox.NetworkPolicy{DefaultAction: "block"}},
		`the action "" is neither`:          {Image: image, NetworkPolicy: &opensandbox.NetworkPolicy{Egress: []opensandbox.NetworkRule{{Target: "x"}}}},
		"the server's own":                  {Image: image, Metadata: map[string]string{"opensandbox.io/x": "y"}},
		`the value "a b" is no label`:       {Image: image, Metadata: map[string]string{"x": "a b"}},
		"the key is no label":               {Image: image, Metadata: map[string]string{strings.Repeat("x", 64): ""}},
		"no DNS name":                       {Image: image, Metadata: map[string]string{"Bad_/x": ""}},
		"another one has the same name":     {Image: image, Volumes: []opensandbox.Volume{pvc("a", "/a"), pvc("a", "/b")}},
		"lower-case letters":                {Image: image, Volumes: []opensandbox.Volume{pvc("A", "/a")}},
		`mount path "a" is not absolute`:    {Image: image, Volumes: []opensandbox.Volume{pvc("a", "a")}},
		"exactly one of host, pvc":          {Image: image, Volumes: []opensandbox.Volume{{Name: "a", MountPath: "/a"}}},
		`sub path "../x" must be relative`:  {Image: image, Volumes: []opensandbox.Volume{{Name: "a", MountPath: "/a", SubPath: "../x", PVC: &opensandbox.PVCVolume{ClaimName: "c"}}}},
		`host path "/a/../b" must be`:       {Image: image, Volumes: []opensandbox.Volume{{Name: "a", MountPath: "/a", Host: &opensandbox.HostVolume{Path: "/a/../b"}}}},
		"1 to 253 characters":               {Image: image, Volumes: []opensandbox.Volume{{Name: "a", MountPath: "/a", PVC: &opensandbox.PVCVolume{}}}},
		"key id and key secret":             {Image: image, Volumes: []opensandbox.Volume{{Name: "a", MountPath: "/a", OSSFS: &opensandbox.OSSFSVolume{Bucket: "b"}}}},
		"shorter than the least; a platfor": {Image: image, Timeout: 5, Platform: &opensandbox.Platform{}},
	} {
		_, err := client.CreateSandbox(t.Context(), req)
		if want == "shorter than the least; a platfor" {
			if err == nil || !strings.Contains(err.Error(), "shorter than the least") || !strings.Contains(err.Error(), "a platform needs both") {
				t.Errorf("not all problems at once: %v", err)
			}
			continue
		}
		if !errors.Is(err, opensandbox.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	if calls.count() != 0 {
		t.Error("something was sent")
	}
}

func pvc(name, path string) opensandbox.Volume {
	return opensandbox.Volume{Name: name, MountPath: path, PVC: &opensandbox.PVCVolume{ClaimName: "c"}}
}

func TestSecretsDoNotPrint(t *testing.T) {
	t.Parallel()
	req := opensandbox.CreateRequest{
		Image:   &opensandbox.Image{URI: "x", Auth: &opensandbox.ImageAuth{Username: "u", Password: "s3cret"}},
		Volumes: []opensandbox.Volume{{OSSFS: &opensandbox.OSSFSVolume{AccessKeySecret: "s3cret"}}},
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		for _, value := range []any{*req.Image.Auth, req.Image.Auth, *req.Volumes[0].OSSFS, req.Volumes[0].OSSFS} {
			if got := fmt.Sprintf(format, value); strings.Contains(got, "s3cret") {
				t.Errorf("%s prints %s", format, got)
			}
		}
	}
}

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	calls, client := record(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/endpoints/") {
			_, _ = fmt.Fprintf(w, `{"endpoint":%q}`, r.Host)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	})
	if err := client.Execd("box").Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := client.PauseSandbox(t.Context(), "box"); err != nil {
		t.Fatal(err)
	}
	call, body := calls.last(t)
	same(t, "pause", call+" "+body, "POST /v1/sandboxes/box/pause ")
	if err := client.ResumeSandbox(t.Context(), "box"); err != nil {
		t.Fatal(err)
	}
	call, body = calls.last(t)
	same(t, "resume", call+" "+body, "POST /v1/sandboxes/box/resume ")
	// Its addresses may have changed: they are asked for again.
	before := calls.count()
	if err := client.Execd("box").Ping(t.Context()); err != nil || calls.count() != before+2 {
		t.Errorf("%d calls, %v", calls.count()-before, err)
	}
}

// A pause whose answer was lost is not sent again: the second would be refused for the first's sake.
func TestTransitionsAreSentOnce(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]http.HandlerFunc{
		"hung up": hangUp, "503": status(503), "409": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, `{"code":"DOCKER::SANDBOX_NOT_RUNNING","message":"not running"}`)
		},
	} {
		calls, client := record(t, fail)
		err := client.PauseSandbox(t.Context(), "box")
		if err == nil || calls.count() != 1 || (name == "409") != errors.Is(err, opensandbox.ErrConflict) {
			t.Errorf("%s: %d calls, %v", name, calls.count(), err)
		}
	}
}

func TestPatchMetadata(t *testing.T) {
	t.Parallel()
	calls, client := record(t, reply(`{"id":"box","status":{"state":"Running"},"metadata":{"a":"1"}}`))
	one := "1"
	box, err := client.PatchMetadata(t.Context(), "box", map[string]*string{"a": &one, "gone": nil})
	if err != nil || box.Metadata["a"] != "1" {
		t.Fatalf("got %+v, %v", box, err)
	}
	call, body := calls.last(t)
	same(t, "call", call+" "+body, `PATCH /v1/sandboxes/box/metadata {"a":"1","gone":null}`)
	if _, err := client.PatchMetadata(t.Context(), "box", nil); err != nil {
		t.Error(err)
	}
	_, body = calls.last(t)
	same(t, "no change", body, `{}`)
	if _, err := client.PatchMetadata(t.Context(), "box", map[string]*string{"opensandbox.io/a": &one}); !errors.Is(err, opensandbox.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

func TestListSnapshots(t *testing.T) {
	t.Parallel()
	calls, client := record(t, func(w http.ResponseWriter, r *http.Request) {
		more := r.URL.Query().Get("page") == "1"
		_, _ = fmt.Fprintf(w, `{"items":[{"id":"s%s","sandboxId":"box","name":"n","status":{"state":"Ready"},"createdAt":"2026-06-15T10:00:00Z"}],
			"pagination":{"page":1,"pageSize":200,"totalItems":2,"totalPages":2,"hasNextPage":%v}}`, r.URL.Query().Get("page"), more)
	})
	var ids []string
	for snapshot, err := range client.ListSnapshots(t.Context(), opensandbox.SnapshotFilter{SandboxID: "box", States: []string{"Ready", "Failed"}}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, snapshot.ID+" "+snapshot.SandboxID+" "+snapshot.Status.State)
	}
	same(t, "snapshots", strings.Join(ids, ","), "s1 box Ready,s2 box Ready")
	call, _ := calls.last(t)
	same(t, "call", call, "GET /v1/snapshots?page=2&pageSize=200&sandboxId=box&state=Ready&state=Failed")
	for _, err := range client.ListSnapshots(t.Context(), opensandbox.SnapshotFilter{}) {
		if err != nil {
			t.Error(err)
		}
		break // one page is enough for whoever stops early
	}
	if calls.count() != 3 {
		t.Errorf("%d calls", calls.count())
	}
}

func TestDiagnostics(t *testing.T) {
	t.Parallel()
	calls, client := record(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Query().Get("scope") == "container":
			w.WriteHeader(http.StatusNotImplemented)
			_, _ = io.WriteString(w, `{"code":"DIAGNOSTICS_NOT_IMPLEMENTED","message":"no"}`)
		case r.URL.Query().Get("scope") != "":
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			_, _ = io.WriteString(w, `{"sandboxId":"box","kind":"logs","scope":"pod","delivery":"url","contentType":"text/plain","contentUrl":"https://x/y","contentLength":7,
				"expiresAt":"2026-06-15T10:00:00Z","truncated":true,"warnings":["w"]}`)
		default:
			w.Header().Set("Deprecation", "true")
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = io.WriteString(w, "line 1\nline 2\xff\n")
		}
	})
	got, err := client.DiagnosticLogs(t.Context(), "box", opensandbox.DiagnosticsQuery{Tail: 50, Since: "10m"})
	if err != nil || got.Content != "line 1\nline 2\ufffd\n" || got.Delivery != "inline" || got.Kind != "logs" || got.Truncated {
		t.Errorf("got %+v, %v", got, err)
	}
	call, _ := calls.last(t)
	same(t, "call", call, "GET /v1/sandboxes/box/diagnostics/logs?since=10m&tail=50")
	got, err = client.DiagnosticEvents(t.Context(), "box", opensandbox.DiagnosticsQuery{Scope: "pod", Limit: 5})
	if err != nil || got.ContentURL != "https://x/y" || got.ContentLength != 7 || !got.Truncated || len(got.Warnings) != 1 || got.ExpiresAt.IsZero() {
		t.Errorf("got %+v, %v", got, err)
	}
	call, _ = calls.last(t)
	same(t, "call", call, "GET /v1/sandboxes/box/diagnostics/events?limit=5&scope=pod")
	if _, err := client.DiagnosticEvents(t.Context(), "box", opensandbox.DiagnosticsQuery{Scope: "container"}); !errors.Is(err, opensandbox.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}

// Each form in which servers name an endpoint.
func TestEndpointForms(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, body, url, header string }{
		{"host network", `{"endpoint":"10.0.0.5:3000"}`, "http://10.0.0.5:3000", ""},
		{"bridge, through execd", `{"endpoint":"10.0.0.5:40772/proxy/3000"}`, "http://10.0.0.5:40772/proxy/3000", ""},
		{"server proxy", `{"endpoint":"api.example.com/sandboxes/box/proxy/3000"}`, "http://api.example.com/sandboxes/box/proxy/3000", ""},
		{"pod", `{"endpoint":"[fd00::1]:3000"}`, "http://[fd00::1]:3000", ""},
		{"gateway, wildcard", `{"endpoint":"box-3000.sb.example.com"}`, "http://box-3000.sb.example.com", ""},
		{"gateway, header", `{"endpoint":"gw.example.com","headers":{"OpenSandbox-Ingress-To":"box-3000"}}`, "http://gw.example.com", "Opensandbox-Ingress-To: box-3000"},
		{"secure access", `{"endpoint":"gw/box/3000","headers":{"OpenSandbox-Secure-Access":"t"}}`, "http://gw/box/3000", "Opensandbox-Secure-Access: t"},
		{"signed path", `{"endpoint":"gw/box/3000/t9x/abcdef01k"}`, "http://gw/box/3000/t9x/abcdef01k", ""},
		{"with a scheme", `{"endpoint":"https://gw/box/"}`, "https://gw/box", ""},
		{"rewritten", `{"endpoint":"host.docker.internal:40772/proxy/3000"}`, "http://127.0.0.1:40772/proxy/3000", ""},
		{"rewritten with a port", `{"endpoint":"inner:80/x"}`, "http://outer:9000/x", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, reply(test.body))
			client := newClient(t, opensandbox.Options{
				BaseURL: server.URL, EndpointHosts: map[string]string{"host.docker.internal": "127.0.0.1", "inner": "outer:9000"},
			})
			got, err := client.Endpoint(t.Context(), "box", 3000)
			if err != nil {
				t.Fatal(err)
			}
			var header strings.Builder
			_ = got.Header.Write(&header)
			same(t, "url", got.URL, test.url)
			same(t, "header", strings.TrimSpace(header.String()), test.header)
		})
	}
}

func TestEndpointQueries(t *testing.T) {
	t.Parallel()
	calls, client := record(t, reply(`{"endpoint":"x"}`))
	expires := time.Unix(1800000000, 5)
	for want, opts := range map[string]opensandbox.EndpointOptions{
		"":                       {},
		"?use_server_proxy=true": {UseServerProxy: true},
		"?expires=1800000000":    {Expires: expires},
	} {
		if _, err := client.LookUpEndpoint(t.Context(), "box", 80, opts); err != nil {
			t.Fatal(err)
		}
		call, _ := calls.last(t)
		same(t, "call", call, "GET /v1/sandboxes/box/endpoints/80"+want)
	}
	before := calls.count()
	for _, port := range []int{0, -1, 65536} {
		if _, err := client.LookUpEndpoint(t.Context(), "box", port, opensandbox.EndpointOptions{}); !errors.Is(err, opensandbox.ErrInvalid) {
			t.Errorf("port %d: %v", port, err)
		}
	}
	if _, err := client.LookUpEndpoint(t.Context(), "box", 80, opensandbox.EndpointOptions{UseServerProxy: true, Expires: expires}); !errors.Is(err, opensandbox.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	if calls.count() != before {
		t.Error("something was sent")
	}
}

func TestNetworkPolicyJSON(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(opensandbox.NetworkPolicy{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "no rules", string(raw), `{"egress":[]}`)
}
