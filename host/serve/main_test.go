package serve_test

import (
	"os"
	"testing"

	"github.com/alineo-labs/alineo-host/host"
)

func TestMain(m *testing.M) {
	host.Init() // this binary is also its sandboxes' shims and inits
	os.Exit(m.Run())
}
