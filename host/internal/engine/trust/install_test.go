//go:build unix

package trust_test

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/internal/engine/trust"
)

const (
	system = "-----BEGIN CERTIFICATE-----\nsystem\n-----END CERTIFICATE-----\n"
	ours   = "-----BEGIN CERTIFICATE-----\nours\n-----END CERTIFICATE-----\n"
	older  = "-----BEGIN CERTIFICATE-----\nolder\n-----END CERTIFICATE-----\n"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestInstall knows where systems keep their certificates.
func TestInstall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, bundle, link, anchors string
	}{
		{"Debian", "/etc/ssl/certs/ca-certificates.crt", "", "/usr/local/share/ca-certificates"},
		{"Alpine", "/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/cert.pem", "/usr/local/share/ca-certificates"},
		{"Fedora", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/pki/ca-trust/source/anchors"},
		{"its own", "/opt/app/roots.pem", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			bundle := filepath.Join(root, c.bundle)
			write(t, bundle, strings.TrimSuffix(system, "\n"))
			if c.link != "" {
				link := filepath.Join(root, c.link)
				if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(bundle, link); err != nil {
					t.Fatal(err)
				}
			}
			if c.anchors != "" {
				write(t, filepath.Join(root, c.anchors, "x.crt"), older)
			}
			// A second sandbox may be made of the files of a first one.
			for _, cert := range []string{older, ours} {
				err := trust.Install(root, trust.Authority{Certificate: []byte(cert), Roots: []byte("machine"), Extra: []string{"", "relative", "/opt/app/roots.pem", "/dev/null"}}, nil)
				if err != nil {
					t.Fatal(err)
				}
			}
			for _, path := range []string{c.bundle, trust.Bundle} {
				got := read(t, filepath.Join(root, path))
				if strings.Count(got, system) != 1 || strings.Count(got, ours) != 1 || strings.Contains(got, older) || strings.Contains(got, "machine") {
					t.Errorf("%s: %s", path, got)
				}
			}
			if got := read(t, filepath.Join(root, trust.File)); got != ours {
				t.Errorf("%s", got)
			}
			if c.anchors != "" {
				if got := read(t, filepath.Join(root, c.anchors, "alineo-host-sandbox.crt")); got != ours {
					t.Errorf("%s", got)
				}
			}
			if c.link != "" {
				if st, err := os.Lstat(filepath.Join(root, c.link)); err != nil || st.Mode()&os.ModeSymlink == 0 {
					t.Errorf("the link has gone: %v %v", st, err)
				}
			}
		})
	}
}

// TestInstallBare trusts what the machine does where there is nothing else.
func TestInstallBare(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, filepath.Join(root, "/etc/ssl/certs/ca-certificates.crt"), "not a bundle")
	if err := trust.Install(root, trust.Authority{Certificate: []byte(ours), Roots: []byte(system)}, nil); err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(root, trust.Bundle)); !strings.Contains(got, system) || !strings.Contains(got, ours) {
		t.Error(got)
	}
	if got := read(t, filepath.Join(root, "/etc/ssl/certs/ca-certificates.crt")); got != "not a bundle" {
		t.Errorf("a file that is no bundle was changed: %q", got)
	}
}

// TestInstallKeepsVolumes doesn't write to what is the machine's.
func TestInstallKeepsVolumes(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	bundle := filepath.Join(root, "/etc/ssl/certs/ca-certificates.crt")
	write(t, bundle, system)
	write(t, filepath.Join(root, "/usr/local/share/ca-certificates/x"), "")
	err := trust.Install(root, trust.Authority{Certificate: []byte(ours)}, []string{"/etc/ssl", "/usr/local"})
	if os.Geteuid() != 0 && err == nil {
		t.Error("covered without the right to mount")
	}
	if got := read(t, bundle); err != nil && got != system {
		t.Errorf("a volume's file was changed: %q", got)
	}
	if err == nil {
		uncover(t, bundle)
	}
	if got := read(t, bundle); got != system {
		t.Errorf("a volume's file was changed: %q", got)
	}
	if _, err := os.Stat(filepath.Join(root, "/usr/local/share/ca-certificates/alineo-host-sandbox.crt")); err == nil {
		t.Error("a volume has a new file")
	}
}

// TestMachine reads certificates that can be used.
func TestMachine(t *testing.T) {
	t.Parallel()
	b, err := trust.Machine()
	if err != nil {
		t.Skipf("LEFT OUT: %v", err)
	}
	block, _ := pem.Decode(b)
	if block == nil {
		t.Fatal("no certificate")
	}
	if _, err := x509.ParseCertificate(block.Bytes); err != nil {
		t.Error(err)
	}
}

// FuzzInstall takes any file for a bundle: what it was is kept, and a second time changes nothing.
func FuzzInstall(f *testing.F) {
	f.Add(system)
	f.Add(system + "# alineo-host: this sandbox's credential proxy\n" + older)
	f.Fuzz(func(t *testing.T, content string) {
		root := t.TempDir()
		bundle := filepath.Join(root, "/etc/ssl/certs/ca-certificates.crt")
		write(t, bundle, content)
		var got [2]string
		for i := range got {
			if err := trust.Install(root, trust.Authority{Certificate: []byte(ours)}, nil); err != nil {
				t.Fatal(err)
			}
			got[i] = read(t, bundle)
		}
		if got[0] != got[1] {
			t.Errorf("%q became %q, then %q", content, got[0], got[1])
		}
		if strings.Contains(content, "-----BEGIN CERTIFICATE-----") != strings.Contains(got[0], ours) {
			t.Errorf("%q became %q", content, got[0])
		}
	})
}
