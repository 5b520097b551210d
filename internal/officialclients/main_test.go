package officialclients_test

import (
	"os"
	"testing"

	"github.com/alineo-labs/alineo-host/host/engine"
)

func TestMain(m *testing.M) {
	engine.Init() // this binary is also its sandboxes' shims and inits
	os.Exit(m.Run())
}
