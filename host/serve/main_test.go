package serve_test

import (
	"os"
	"testing"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/internal/pgtest"
)

func TestMain(m *testing.M) {
	host.Init() // this binary is also its sandboxes' shims and inits
	os.Exit(pgtest.Main(m))
}
