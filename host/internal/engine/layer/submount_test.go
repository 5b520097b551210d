package layer

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestSubmounts(t *testing.T) {
	t.Parallel()
	got, err := submounts(strings.NewReader(`21 1 8:1 / / rw - ext4 /dev/sda1 rw
22 21 8:1 /x /etc/hosts rw - ext4 /dev/sda1 rw
23 21 8:1 / /etc rw - ext4 /dev/sda2 rw
24 21 0:5 / /usr/share/a\040b rw - tmpfs none rw
25 21 0:5 / /etcetera/x rw - tmpfs none rw
rubbish
`), []string{"etc", "usr"})
	want := map[string][]string{"etc": {"/etc/hosts"}, "usr": {"/usr/share/a b"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v %v, want %v", got, err, want)
	}
}

// TestCopyTop copies a directory, but for what is hidden or mounted there.
func TestCopyTop(t *testing.T) {
	t.Parallel()
	root, dir := t.TempDir(), t.TempDir()
	for path, mode := range map[string]os.FileMode{"etc/a": 0o644, "etc/d/b": 0o755, "etc/secret": 0o600, "etc/private/c": 0o644, "etc/mounted/token": 0o644, "etc/hosts": 0o644} {
		at := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(path), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(root, "etc/link")); err != nil {
		t.Fatal(err)
	}
	b := &Base{mounts: []string{"/etc/mounted", "/etc/hosts"}, hidden: []hidden{{path: "etc/secret"}, {path: "etc/private", dir: true}}}
	if err := b.copyTop(root, dir, "etc"); err != nil {
		t.Fatal(err)
	}
	var found []string
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if rel, rerr := filepath.Rel(dir, path); rerr == nil && !e.IsDir() {
			found = append(found, rel)
		}
		return err
	})
	if err != nil || strings.Join(found, " ") != "etc/a etc/d/b etc/link" {
		t.Errorf("%v %v", found, err)
	}
	if st, err := os.Stat(filepath.Join(dir, "etc/d/b")); err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("%v %v", st, err)
	}
}

func FuzzSubmounts(f *testing.F) {
	f.Add("22 21 8:1 /x /etc/hosts rw - ext4 /dev/sda1 rw\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := submounts(strings.NewReader(text), []string{"etc"})
		if err == nil && len(got) > 1 {
			t.Errorf("%v", got)
		}
	})
}
