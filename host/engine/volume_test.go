package engine_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/engine"
)

// volume is a host path volume of a request.
func volume(name, host, mount string, more ...any) map[string]any {
	v := map[string]any{"name": name, "host": map[string]any{"path": host}, "mountPath": mount}
	for i := 0; i+1 < len(more); i += 2 {
		v[more[i].(string)] = more[i+1]
	}
	return v
}

func TestVolumes(t *testing.T) {
	t.Parallel()
	shared := t.TempDir()
	e := openEngine(t, engine.Options{DataDir: t.TempDir(), HostPaths: []string{shared}})
	for path, content := range map[string]string{"in/one": "1\n", "ro/two": "2\n", "file": "3\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(shared, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(shared, path), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	box := e.create(map[string]any{"volumes": []any{
		volume("rw", shared+"/in", "/mnt/rw"),
		volume("ro", shared, "/workspace/deep/ro", "subPath", "ro", "readOnly", true),
		volume("file", shared+"/file", "/etc/the-file", "readOnly", true),
		volume("made", shared, "/made", "subPath", "new/dir"),
	}})
	if got := box.must("cat /mnt/rw/one deep/ro/two /etc/the-file; echo w > /mnt/rw/written; echo m > /made/m; ls /made"); got != "1\n2\n3\nm\n" {
		t.Errorf("%q", got)
	}
	for path, want := range map[string]string{"in/written": "w\n", "new/dir/m": "m\n"} {
		if b, err := os.ReadFile(filepath.Join(shared, path)); err != nil || string(b) != want {
			t.Errorf("%s on the host: %q %v", path, b, err)
		}
	}
	for _, c := range []string{"echo x > deep/ro/x", "echo x > /etc/the-file", "mount -o remount,rw deep/ro", "umount deep/ro", "ls /mnt/rw/../ro"} {
		if r := box.run(c); r.Code == "0" {
			t.Errorf("%s: %s", c, r.Stdout)
		}
	}
	if got := box.must("grep -c -e ' /mnt/rw .*nosuid,nodev' /proc/self/mounts"); got != "1\n" {
		t.Errorf("mount options: %s", got)
	}
	// A snapshot has none of a volume's files, and its sandbox may have it
	// again.
	snap := e.snapshot(box, "")
	again := e.create(map[string]any{"image": nil, "snapshotId": snap, "volumes": []any{volume("rw", shared+"/in", "/mnt/rw")}})
	if got := again.must("ls /made deep/ro; cat /mnt/rw/written"); got != "/made:\n\ndeep/ro:\nw\n" {
		t.Errorf("after the restore: %q", got)
	}
	box.delete()
	again.delete()
	assertGone(t, e, box.ID)
	if b, err := os.ReadFile(filepath.Join(shared, "in/one")); err != nil || string(b) != "1\n" {
		t.Errorf("the volume after its sandbox: %q %v", b, err)
	}
}

// TestVolumesLeadNowhere tries to have what is not below an allowed path.
func TestVolumesLeadNowhere(t *testing.T) {
	t.Parallel()
	shared, outside := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "canary"), []byte("canary"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"abs": outside, "rel": "../" + filepath.Base(outside), "root": "/", "inside": "real"} {
		if err := os.Symlink(target, filepath.Join(shared, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(shared, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	e := openEngine(t, engine.Options{DataDir: t.TempDir(), HostPaths: []string{shared}})
	big := strings.Repeat("a", 64)
	for _, c := range []struct {
		name   string
		volume any
		code   int
		want   string
	}{
		{"not allowed", volume("v", "/etc", "/v"), 400, "VOLUME::HOST_PATH_NOT_ALLOWED"},
		{"a name that begins alike", volume("v", shared+"x", "/v"), 400, "VOLUME::HOST_PATH_NOT_ALLOWED"},
		{"above", volume("v", filepath.Dir(shared), "/v"), 400, "VOLUME::HOST_PATH_NOT_ALLOWED"},
		{"dots", volume("v", shared+"/../"+filepath.Base(outside), "/v"), 400, "VOLUME::INVALID_HOST_PATH"},
		{"a link out", volume("v", shared+"/abs", "/v"), 400, "VOLUME::HOST_PATH_NOT_ALLOWED"},
		{"a relative link out", volume("v", shared+"/rel", "/v"), 400, "VOLUME::HOST_PATH_NOT_ALLOWED"},
		{"below a link out", volume("v", shared, "/v", "subPath", "abs/new"), 400, "VOLUME::HOST_PATH_NOT_ALLOWED"},
		{"a link to everything", volume("v", shared, "/v", "subPath", "root/etc"), 400, "VOLUME::HOST_PATH_NOT_ALLOWED"},
		{"dots in the sub path", volume("v", shared, "/v", "subPath", "real/../.."), 400, "VOLUME::INVALID_SUB_PATH"},
		{"an absolute sub path", volume("v", shared, "/v", "subPath", "/etc"), 400, "VOLUME::INVALID_SUB_PATH"},
		{"on the root", volume("v", shared, "/"), 400, "VOLUME::INVALID_MOUNT_PATH"},
		{"on proc", volume("v", shared, "/proc/x"), 400, "VOLUME::INVALID_MOUNT_PATH"},
		{"dots in the mount path", volume("v", shared, "/a/../proc"), 400, "VOLUME::INVALID_MOUNT_PATH"},
		{"windows", volume("v", `C:\x`, "/v"), 400, "VOLUME::INVALID_HOST_PATH"},
		{"a relative host path", volume("v", "x", "/v"), 422, `"loc":["body","volumes",0,"host","path"]`},
		{"a relative mount path", volume("v", shared, "v"), 422, `{"type":"string_pattern_mismatch","loc":["body","volumes",0,"mountPath"],"msg":"String should match pattern '^/.*'","input":"v","ctx":{"pattern":"^/.*"}}`},
		{"an odd name", volume("V_", shared, "/v"), 422, `"loc":["body","volumes",0,"name"]`},
		{"a long name", volume(big, shared, "/v"), 422, `"type":"string_too_long"`},
		{"no kind", map[string]any{"name": "v", "mountPath": "/v"}, 422, "but none was provided"},
		{"two kinds", volume("v", shared, "/v", "pvc", map[string]any{"claimName": "x"}), 422, "but multiple were provided"},
		{"a claim that isn't there", map[string]any{"name": "v", "mountPath": "/v", "pvc": map[string]any{"claimName": "x", "createIfNotExists": false}}, 400, "VOLUME::PVC_NOT_FOUND"},
		{"a claim with an odd name", map[string]any{"name": "v", "mountPath": "/v", "pvc": map[string]any{"claimName": "X"}}, 422, `"claimName"`},
		{"a claim of an odd size", map[string]any{"name": "v", "mountPath": "/v", "pvc": map[string]any{"claimName": "x", "storage": "big"}}, 422, `"storage"`},
		{"a bucket", map[string]any{"name": "v", "mountPath": "/v", "ossfs": map[string]any{"bucket": "abc", "endpoint": "e", "accessKeyId": "i", "accessKeySecret": "s3cr3t"}}, 400, "VOLUME::UNSUPPORTED_BACKEND"},
		{"a bucket without keys", map[string]any{"name": "v", "mountPath": "/v", "ossfs": map[string]any{"bucket": "abc", "endpoint": "e", "accessKeySecret": "s3cr3t"}}, 422, "inline credentials are required"},
	} {
		body := hostImage()
		body["volumes"] = []any{c.volume}
		if code, _, out := e.do(http.MethodPost, "/sandboxes", body); code != c.code || !strings.Contains(out, c.want) || strings.Contains(out, "s3cr3t") {
			t.Errorf("%s: %d %s, want %d …%s…", c.name, code, out, c.code, c.want)
		}
	}
	for name, volumes := range map[string][]any{
		"VOLUME::DUPLICATE_NAME":     {volume("v", shared, "/v"), volume("v", shared, "/w")},
		"VOLUME::INVALID_MOUNT_PATH": {volume("v", shared, "/v"), volume("w", shared, "/v/")},
	} {
		body := hostImage()
		body["volumes"] = volumes
		if code, _, out := e.do(http.MethodPost, "/sandboxes", body); code != 400 || !strings.Contains(out, name) {
			t.Errorf("%s: %d %s", name, code, out)
		}
	}
	// Links that stay inside are fine; those that a sandbox makes lead to
	// somewhere in the sandbox.
	box := e.create(map[string]any{"volumes": []any{volume("v", shared+"/inside", "/v")}})
	if got := box.must("ln -s " + outside + " /v/escape; cat /v/escape/canary 2>&1 || true; ln -s /proc /workspace/p"); strings.Contains(got, "canary\n") && !strings.Contains(got, "No such file") {
		t.Errorf("through a link in the volume: %q", got)
	}
	body := hostImage()
	body["volumes"] = []any{volume("v", shared+"/real", "/v", "subPath", "escape")}
	if code, _, out := e.do(http.MethodPost, "/sandboxes", body); code != 400 || !strings.Contains(out, "VOLUME::HOST_PATH_NOT_ALLOWED") {
		t.Errorf("through a sandbox's own link: %d %s", code, out)
	}
	snap := e.snapshot(box, "")
	body = hostImage()
	delete(body, "image")
	body["snapshotId"], body["volumes"] = snap, []any{volume("v", shared, "/workspace/p/1")}
	if code, _, out := e.do(http.MethodPost, "/sandboxes", body); code != 500 || !strings.Contains(out, "belongs to the kernel") {
		t.Errorf("onto a snapshot's link to /proc: %d %s", code, out)
	}
}

// TestNoVolumesAllowed is an engine that was given no host paths.
func TestNoVolumesAllowed(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	body := hostImage()
	body["volumes"] = []any{volume("v", "/tmp", "/v")}
	if code, _, out := e.do(http.MethodPost, "/sandboxes", body); code != 400 || !strings.Contains(out, "VOLUME::HOST_PATH_NOT_ALLOWED") {
		t.Errorf("%d %s", code, out)
	}
	for _, p := range []string{"relative", e.dir, filepath.Join(e.dir, "sandboxes"), "/tmp/"} {
		if _, err := engine.Open(t.Context(), engine.Options{DataDir: e.dir, HostPaths: []string{p}}); err == nil || !strings.Contains(err.Error(), "host_paths") {
			t.Errorf("host path %q: %v", p, err)
		}
	}
}
