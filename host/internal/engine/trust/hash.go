//go:build unix

package trust

import (
	"crypto/sha1" //nolint:gosec // OpenSSL's directories are made with it
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// hashed is the directory in which OpenSSL looks for a certificate by its subject.
const hashed = "/etc/ssl/certs"

// link makes the certificate found there, if there is such a directory.
func link(dir string, cert []byte, avoid []string) error {
	others, err := filepath.Glob(filepath.Join(dir, "*.0"))
	if err != nil || len(others) == 0 || below(dir, avoid) {
		return nil //nolint:nilerr // no such directory
	}
	block, _ := pem.Decode(cert)
	if block == nil {
		return nil // not a certificate: a test's
	}
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return fmt.Errorf("reading the certificate: %w", err)
	}
	hash, err := subjectHash(parsed)
	if err != nil {
		return err
	}
	err = os.Symlink(File, filepath.Join(dir, fmt.Sprintf("%08x.0", hash)))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// subjectHash is what OpenSSL's X509_NAME_hash makes of a subject: its parts, all as UTF-8, in lower case
// and with single spaces.
func subjectHash(cert *x509.Certificate) (uint32, error) {
	var subject pkix.RDNSequence
	if _, err := asn1.Unmarshal(cert.RawSubject, &subject); err != nil {
		return 0, fmt.Errorf("reading the certificate's subject: %w", err)
	}
	var canonical []byte
	for _, set := range subject {
		for i := range set {
			text, _ := set[i].Value.(string) //nolint:errcheck // nothing else is in ours
			b, err := asn1.MarshalWithParams(strings.Join(strings.Fields(strings.ToLower(text)), " "), "utf8")
			if err != nil {
				return 0, fmt.Errorf("writing the certificate's subject: %w", err)
			}
			set[i].Value = asn1.RawValue{FullBytes: b}
		}
		b, err := asn1.MarshalWithParams([]pkix.AttributeTypeAndValue(set), "set")
		if err != nil {
			return 0, fmt.Errorf("writing the certificate's subject: %w", err)
		}
		canonical = append(canonical, b...)
	}
	sum := sha1.Sum(canonical) //nolint:gosec // as above
	return binary.LittleEndian.Uint32(sum[:]), nil
}
