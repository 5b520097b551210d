// Package trust makes a sandbox's programs trust the certificate authority of its credential proxy.
//
// The init calls [Install] in the sandbox's root, before anything else runs there:
//
//	err := trust.Install("/", trust.Authority{Certificate: pem, Roots: roots}, volumes)
//
// Afterwards there are, in the sandbox alone:
//
//	/run/opensandbox/ca.pem           the certificate
//	/run/opensandbox/ca-bundle.pem    the system's certificates, or the machine's where there are none, and it
//	the system's bundle               the same, where there is one (Debian, Alpine, Fedora, openSUSE)
//	/etc/ssl/certs/HASH.0             a link to the certificate, where OpenSSL looks for it
//	/usr/local/share/ca-certificates, /etc/pki/ca-trust/source/anchors
//	                                  the certificate, for when the system makes its bundle anew
//
// and [Environment] tells programs that don't look there. A bundle that can't be written is covered by a
// mount. What an earlier sandbox wrote, whose files these are made of, is replaced.
//
// imports: nothing of ours.
package trust
