package engine_test

import "os"

// ordinaryUser tells whether the engine has no special rights here. make check runs these tests as root
// and as somebody else.
func ordinaryUser() bool { return os.Geteuid() != 0 }
