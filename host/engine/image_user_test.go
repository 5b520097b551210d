package engine_test

import (
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/alineo-labs/alineo-host/host/engine"
)

// imagesOf writes an image of some programs and accounts for each user and returns their paths by user.
func imagesOf(t *testing.T, users ...string) map[string]string {
	t.Helper()
	layer := layerOf(t, append(programs(t, "sh", "bash", "cat", "tail", "stat", "id", "tty"),
		tarFile{name: "etc/passwd", mode: 0o644, text: "root:x:0:0::/root:/bin/sh\napp:x:1000:1001::/home/app:/bin/sh\n"},
		tarFile{name: "etc/group", mode: 0o644, text: "root:x:0:\napp:x:1001:\nextra:x:2000:app,other\n"},
		tarFile{name: "tmp/", mode: 0o1777}, tarFile{name: "opt/", mode: 0o755}))
	images := map[string]string{}
	for _, user := range users {
		img, err := mutate.AppendLayers(empty.Image, layer)
		if err != nil {
			t.Fatal(err)
		}
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		config = config.DeepCopy()
		config.OS, config.Architecture, config.Config.Env, config.Config.User = "linux", runtime.GOARCH, []string{"PATH=/bin"}, user
		if img, err = mutate.ConfigFile(img, config); err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(t.TempDir(), "image.tar")
		if err := tarball.WriteToFile(at, name.MustParseReference("test/user:1"), img); err != nil {
			t.Fatal(err)
		}
		images["user-"+strings.ReplaceAll(user, ":", "-")] = at
	}
	return images
}

// TestImageUser runs images whose processes are to be somebody.
func TestImageUser(t *testing.T) {
	t.Parallel()
	e := openEngine(t, engine.Options{DataDir: t.TempDir(), Images: imagesOf(t, "app", "1000", "4242", "app:extra", "root", "stranger")})
	box := func(user string) *testBox {
		return e.create(map[string]any{"image": map[string]string{"uri": "user-" + user}})
	}
	const who = `id -u; id -g; id -G; echo $HOME; pwd; stat -c %u:%g . /proc/1`
	if ordinaryUser() {
		b := box("app")
		if got := b.must("id -u"); got != "0\n" {
			t.Errorf("an ordinary user's sandbox: %q", got)
		}
		e.want(http.MethodGet, "/sandboxes/"+b.ID+"/diagnostics/inspect", 200, "app (ignored:")
		return
	}
	for user, want := range map[string]string{
		"app":       "1000\n1001\n1001 2000\n/home/app\n/workspace\n1000:1001\n0:0\n",
		"1000":      "1000\n1001\n1001 2000\n/home/app\n/workspace\n1000:1001\n0:0\n",
		"app-extra": "1000\n2000\n2000\n/home/app\n/workspace\n1000:2000\n0:0\n",
		"4242":      "4242\n0\n0\n/\n/workspace\n4242:0\n0:0\n",
		"root":      "0\n0\n0\n/root\n/workspace\n0:0\n0:0\n",
	} {
		if got := box(user).must(who); got != want {
			t.Errorf("%s:\n got %q\nwant %q", user, got, want)
		}
	}
	code, _, out := e.do(http.MethodPost, "/sandboxes", with(hostImage(), "image", map[string]string{"uri": "user-stranger"}))
	if code != http.StatusInternalServerError || !strings.Contains(out, "DOCKER::SANDBOX_START_FAILED") || !strings.Contains(out, `user \"stranger\"`) {
		t.Errorf("a user whom the image doesn't know: %d %s", code, out)
	}

	b := box("app")
	if r := b.run("echo x > /opt/x"); r.Code == "0" {
		t.Error("the image's user writes what is root's")
	}
	if r := b.run(who, "uid", 0); !strings.HasPrefix(r.Stdout, "0\n0\n0\n") {
		t.Errorf("a command that is to be root's: %+v", r)
	}
	if got := b.must("echo again > /dev/stdout; echo x > f; stat -c %u f"); got != "again\n1000\n" {
		t.Errorf("opening what it inherits: %q", got)
	}
	if got := b.shell(map[string]string{"cwd": "/home/app/deep"}).run("id -u; stat -c %u . ..; export A=1"); got.Stdout != "1000\n1000\n1000\n" {
		t.Errorf("a session: %+v", got)
	}
	if got := b.code(map[string]string{"language": "bash"}, "id -u"); got.stdout != "1000\n" {
		t.Errorf("a cell: %+v", got)
	}
	s := b.pty(map[string]string{}).open("")
	s.keys(`id -u; echo "again" > "$(tty)"; exit` + "\n")
	if s.end(); !strings.Contains(s.out, "\r\n1000\r\nagain\r\n") {
		t.Errorf("a terminal: %q", s.out)
	}
	if code, out := b.upload(file{`{"path":"/opt/new/up"}`, "text"}, file{`{"path":"/opt/owned","owner":"root"}`, "text"}); code != 200 {
		t.Errorf("upload: %d %s", code, out)
	}
	if code, _, out := e.do(http.MethodPost, b.execd("/directories"), map[string]any{"/opt/made/deep": map[string]any{}}); code != 200 {
		t.Errorf("making a directory: %d %s", code, out)
	}
	if got := b.must("stat -c %u /opt /opt/new /opt/new/up /opt/owned /opt/made /opt/made/deep"); got != "0\n1000\n1000\n0\n1000\n1000\n" {
		t.Errorf("owners of what the API made: %q", got)
	}
	e.want(http.MethodGet, "/sandboxes/"+b.ID+"/diagnostics/inspect", 200, "User: ")
	snap := e.snapshot(b, "")
	if got := e.create(map[string]any{"image": nil, "snapshotId": snap}).must("id -u"); got != "1000\n" {
		t.Errorf("after a snapshot: %q", got)
	}
}
