//go:build !linux

package trust

import "errors"

// bind needs Linux's mount namespaces.
func bind(_, _ string) error { return errors.ErrUnsupported }
