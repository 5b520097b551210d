package engine_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/alineo-labs/alineo-host/host/engine"
)

// claim is a named volume of a request.
func claim(name, mount string, more ...any) map[string]any {
	pvc := map[string]any{"claimName": name}
	v := map[string]any{"name": "v" + strings.ReplaceAll(mount, "/", "-"), "pvc": pvc, "mountPath": mount}
	for i := 0; i+1 < len(more); i += 2 {
		switch key := more[i].(string); key {
		case "subPath", "readOnly":
			v[key] = more[i+1]
		default:
			pvc[key] = more[i+1]
		}
	}
	return v
}

// TestNamedVolumes has volumes that outlive sandboxes, and some that don't.
func TestNamedVolumes(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	with := func(volumes ...any) *testBox { return e.create(map[string]any{"volumes": volumes}) }
	there := func() string {
		names, err := os.ReadDir(filepath.Join(e.dir, "volumes"))
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, n := range names {
			all = append(all, n.Name())
		}
		return strings.Join(all, " ")
	}
	first := with(claim("data", "/data"), claim("data", "/again", "subPath", "deep/er"), claim("tmp", "/t", "deleteOnSandboxTermination", true))
	if got := first.must("echo kept > /data/f; echo two > /again/g; echo gone > /t/h; cat /data/deep/er/g; ls -ld /data | cut -c1-10"); got != "two\ndrwxr-xr-x\n" {
		t.Errorf("the first sandbox: %q", got)
	}
	second := with(claim("data", "/d", "createIfNotExists", false, "readOnly", true, "deleteOnSandboxTermination", true))
	if got := second.must("cat /d/f; echo x > /d/f 2>/dev/null || echo refused"); got != "kept\nrefused\n" {
		t.Errorf("the second: %q", got)
	}
	first.delete()
	if got := there(); got != "data" {
		t.Errorf("after the first, of data and tmp there are %q", got)
	}
	second.delete() // it didn't make data, so it doesn't end it
	if got := with(claim("data", "/d")).must("cat /d/f"); got != "kept\n" {
		t.Errorf("the third: %q", got)
	}

	t.Log("what others have by then stays")
	maker, user := with(claim("shared", "/s", "deleteOnSandboxTermination", true)), with(claim("shared", "/s"))
	maker.must("echo s > /s/f")
	maker.delete()
	user.delete()
	if got := there(); got != "data shared" {
		t.Errorf("there are %q", got)
	}

	t.Log("a request that fails leaves none, and a link leads nowhere")
	box := with(claim("data", "/d"))
	box.must("ln -s /etc /d/out; ln -s deep /d/in")
	for _, c := range []struct {
		volumes []any
		want    string
	}{
		{[]any{claim("new", "/n"), claim("none", "/x", "createIfNotExists", false)}, "VOLUME::PVC_NOT_FOUND"},
		{[]any{claim("new", "/n"), volume("h", "/etc", "/h")}, "VOLUME::HOST_PATH_NOT_ALLOWED"},
		{[]any{claim("new", "/n"), claim("data", "/d", "subPath", "out")}, "VOLUME::INVALID_SUB_PATH"},
		{[]any{claim("new", "/n"), claim("data", "/d", "subPath", "../../x")}, "VOLUME::INVALID_SUB_PATH"},
	} {
		body := hostImage()
		body["volumes"] = c.volumes
		code, _, out := e.do(http.MethodPost, "/sandboxes", body)
		if code != 400 || !strings.Contains(out, `"code":"`+c.want+`"`) {
			t.Errorf("%v: %d %s, want 400 %s", c.volumes, code, out, c.want)
		}
	}
	body := hostImage()
	body["volumes"], body["entrypoint"] = []any{claim("new", "/n")}, []string{"/no/such/program"}
	if code, _, out := e.do(http.MethodPost, "/sandboxes", body); code != 500 {
		t.Errorf("an entry point that isn't there: %d %s", code, out)
	}
	if got := there(); got != "data shared" {
		t.Errorf("there are %q", got)
	}
	if got := with(claim("data", "/d", "subPath", "in/er")).must("cat /d/g"); got != "two\n" {
		t.Errorf("through a link inside: %q", got)
	}
}

// TestNamedVolumeEndsWithoutEngine has a sandbox with a volume of its own end while no engine is there.
func TestNamedVolumeEndsWithoutEngine(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(map[string]any{"volumes": []any{claim("own", "/v", "deleteOnSandboxTermination", true)}})
	dir := filepath.Join(e.dir, "volumes", "own")
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := openEngine(t, engine.Options{DataDir: e.dir})
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("while its sandbox lives: %v", err)
	}
	if err := again.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(shimPid(t, box.ID), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the sandbox to end", func() bool { return len(processesOf(t, box.ID)) == 0 })
	e.Engine = openEngine(t, engine.Options{DataDir: e.dir}).Engine // for its clean-up
	eventually(t, "the volume to end", func() bool {
		_, err := os.Stat(dir)
		return os.IsNotExist(err)
	})
}
