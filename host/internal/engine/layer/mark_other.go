//go:build !linux

package layer

import "errors"

var errNoOverlay = errors.New("overlays need Linux")

func whiteout(string) error { return errNoOverlay }

func makeOpaque(string) error { return errNoOverlay }

func isOpaque(string) bool { return false }
