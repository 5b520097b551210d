//go:build unix

package trust

import (
	"crypto/x509"
	"encoding/pem"
	"testing"
)

// TestSubjectHash knows what openssl x509 -hash says of a certificate.
func TestSubjectHash(t *testing.T) {
	t.Parallel()
	block, _ := pem.Decode([]byte(`-----BEGIN CERTIFICATE-----
MIIBpTCCAUugAwIBAgIUC147zPl54ZEu04oKOo4tlbw1xNgwCgYIKoZIzj0EAwIw
JzElMCMGA1UEAwwcYWxpbmVvLWhvc3Qgc2FuZGJveCA0ZkExYjJjMzAgFw0yNjEx
MzAwMDQwMTRaGA8yMTI2MTEwNjAwNDAxNFowJzElMCMGA1UEAwwcYWxpbmVvLWhv
c3Qgc2FuZGJveCA0ZkExYjJjMzBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABNTr
RvasWSlhhUIZRh7+aJcJQ2teOXr9GvITGvTrW839i2OkizKAE/rWUf2u0g6Q5nWT
5hBkg2w8xzqg1WUFx5ijUzBRMB0GA1UdDgQWBBRmmcN8Uk5kgFMhiEXp3hCetSjR
9TAfBgNVHSMEGDAWgBRmmcN8Uk5kgFMhiEXp3hCetSjR9TAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0gAMEUCIHMWty2+YBKX/vaFZuxYUQhvimc/959cKlif
0GDdnEYxAiEA9ZfQAwvgWnvoZdYLSBVdY9m815TR/1YbZWX67eLviAk=
-----END CERTIFICATE-----`))
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := subjectHash(cert); err != nil || got != 0x07ac5518 {
		t.Errorf("%08x %v", got, err)
	}
}
