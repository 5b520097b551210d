package plugintest_test

import (
	"os"
	"testing"

	"github.com/alineo-labs/alineo-host/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
