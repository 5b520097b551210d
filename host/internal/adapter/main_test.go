package adapter_test

import (
	"os"
	"testing"

	"github.com/alineo-labs/alineo-host/internal/pgtest"
)

// childEnv makes the test binary a writer of its own: see TestPostgresManyProcesses.
const childEnv = "ALINEO_TEST_WRITER"

func TestMain(m *testing.M) {
	if dsn := os.Getenv(childEnv); dsn != "" {
		os.Exit(writerProcess(dsn, os.Args[1]))
	}
	os.Exit(pgtest.Main(m))
}
