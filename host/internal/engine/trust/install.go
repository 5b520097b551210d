//go:build unix

package trust

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Authority is what is to be trusted.
type Authority struct {
	// Certificate is the authority's, in PEM.
	Certificate []byte
	// Roots are the certificates that the machine trusts, in PEM: for a sandbox that has none.
	Roots []byte
	// Extra are more files that may be bundles: those that the environment names.
	Extra []string
}

// maxBundle is the largest file, in bytes, that is taken for a bundle.
const maxBundle = 16 << 20

// Marks around the certificate in a bundle.
const (
	begin = "# alineo-host: this sandbox's credential proxy\n"
	end   = "# alineo-host: end\n"
)

// Install makes what runs below root, which is "/" but for tests, trust an authority. Files below one of
// avoid are not the sandbox's to write.
func Install(root string, a Authority, avoid []string) error {
	if root != "/" {
		for i := range avoid {
			avoid[i] = filepath.Join(root, avoid[i])
		}
	}
	at := func(p string) string { return filepath.Join(root, p) }
	system := a.Roots
	bundles := existing(root, slices.Concat(Bundles(), a.Extra))
	if len(bundles) > 0 {
		b, err := read(bundles[0])
		if err != nil {
			return err
		}
		system = b
	}
	if err := os.MkdirAll(at(Dir), 0o755); err != nil {
		return fmt.Errorf("installing the credential proxy's certificate: %w", err)
	}
	for name, content := range map[string][]byte{File: a.Certificate, Bundle: with(system, a.Certificate)} {
		if err := os.WriteFile(at(name), content, 0o644); err != nil {
			return fmt.Errorf("installing the credential proxy's certificate: %w", err)
		}
	}
	for _, path := range bundles {
		if err := extend(path, at(Bundle), a.Certificate, avoid); err != nil {
			return fmt.Errorf("installing the credential proxy's certificate in %s: %w", path, err)
		}
	}
	if err := link(at(hashed), a.Certificate, avoid); err != nil && !refused(err) {
		return fmt.Errorf("installing the credential proxy's certificate in %s: %w", hashed, err)
	}
	for _, dir := range anchors() {
		dir = at(dir)
		st, err := os.Stat(dir)
		if err != nil || !st.IsDir() || below(dir, avoid) {
			continue
		}
		if err := replace(filepath.Join(dir, "alineo-host-sandbox.crt"), a.Certificate, 0o644); err != nil && !refused(err) {
			return fmt.Errorf("installing the credential proxy's certificate: %w", err)
		}
	}
	return nil
}

// existing are the bundles that are there, each once, without links.
func existing(root string, paths []string) []string {
	var found []string
	for _, p := range paths {
		if !filepath.IsAbs(p) || strings.HasPrefix(p, Dir+"/") {
			continue
		}
		p, err := filepath.EvalSymlinks(filepath.Join(root, p))
		if err != nil || slices.Contains(found, p) {
			continue
		}
		if b, err := read(p); err == nil && bytes.Contains(b, []byte("-----BEGIN CERTIFICATE-----")) {
			found = append(found, p)
		}
	}
	return found
}

// read reads a file that may be anything: it waits for nobody and stays small.
func read(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > maxBundle {
		return nil, fmt.Errorf("%s is no bundle of certificates", path)
	}
	return io.ReadAll(io.LimitReader(f, maxBundle))
}

// with is a bundle with the certificate at its end, in place of one that an earlier sandbox put there.
func with(bundle, cert []byte) []byte {
	out := bundle
	if head, rest, ok := bytes.Cut(bundle, []byte(begin)); ok {
		_, tail, _ := bytes.Cut(rest, []byte(end))
		out = slices.Concat(head, tail)
	}
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(slices.Clip(out), '\n')
	}
	return slices.Concat(out, []byte(begin), cert, []byte(end))
}

// extend puts the certificate into a bundle, or covers it with one that has it.
func extend(path, cover string, cert []byte, avoid []string) error {
	b, err := read(path)
	if err != nil {
		return err
	}
	if !below(path, avoid) {
		mode := fs.FileMode(0o644)
		if st, err := os.Stat(path); err == nil {
			mode = st.Mode().Perm()
		}
		if err := replace(path, with(b, cert), mode); err == nil || !refused(err) {
			return err
		}
	}
	return bind(cover, path)
}

// replace replaces a file as a whole.
func replace(path string, content []byte, mode fs.FileMode) error {
	tmp := path + ".alineo-new"
	if err := os.WriteFile(tmp, content, mode); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		_ = os.Remove(tmp)
		return err
	}
	return nil
}

func below(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return path == d || strings.HasPrefix(path, strings.TrimSuffix(d, "/")+"/") })
}

// refused tells that a file is somebody else's, which it is where the machine's root owns what an
// ordinary user's sandbox sees.
func refused(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EOVERFLOW)
}
