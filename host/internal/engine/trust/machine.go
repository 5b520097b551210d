//go:build unix

package trust

import "errors"

// Machine is the bundle of this machine, in PEM.
func Machine() ([]byte, error) {
	for _, path := range existing("/", Bundles()) {
		return read(path)
	}
	return nil, errors.New("this machine has no bundle of certificates in any of the usual places (is the package ca-certificates installed?)")
}
