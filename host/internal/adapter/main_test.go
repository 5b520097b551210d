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
	dir, err := os.MkdirTemp("", "alineo-host-adapter-*")
	if err != nil {
		panic(err)
	}
	compiled = dir
	code := pgtest.Main(m)
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// compiled keeps compiled guests for all tests: the race detector makes compiling one take half a
// minute.
var compiled string
