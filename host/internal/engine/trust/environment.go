package trust

// Where the certificate and the bundle are in a sandbox.
const (
	Dir    = "/run/opensandbox"
	File   = Dir + "/ca.pem"
	Bundle = Dir + "/ca-bundle.pem"
)

// Environment are the variables by which programs find what they trust.
func Environment() map[string]string {
	return map[string]string{
		"SSL_CERT_FILE":       Bundle, // OpenSSL, Go, Ruby, Rust
		"REQUESTS_CA_BUNDLE":  Bundle, // Python's requests, pip
		"CURL_CA_BUNDLE":      Bundle,
		"GIT_SSL_CAINFO":      Bundle,
		"AWS_CA_BUNDLE":       Bundle,
		"NODE_EXTRA_CA_CERTS": File, // beside its own
	}
}

// Bundles are where systems keep their certificates in one file.
func Bundles() []string {
	return []string{
		"/etc/ssl/certs/ca-certificates.crt",                // Debian, Alpine, Arch
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", // Fedora
		"/etc/pki/tls/certs/ca-bundle.crt",                  // the same, older
		"/etc/ssl/ca-bundle.pem",                            // openSUSE
		"/etc/ssl/cert.pem",                                 // Alpine's OpenSSL
		"/etc/pki/tls/cert.pem",
	}
}

// anchors are directories of certificates that bundles are made of.
func anchors() []string {
	return []string{"/usr/local/share/ca-certificates", "/etc/pki/ca-trust/source/anchors", "/etc/pki/trust/anchors"}
}
