package engine_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/alineo-labs/alineo-host/host/engine"
)

// serveEnv makes this binary an engine process of its own, for the tests that
// need one to kill.
const serveEnv = "ENGINE_TEST_SERVE"

// attackEnv makes this binary try to get out of the sandbox that it is run in.
const attackEnv = "ENGINE_TEST_ATTACK"

func TestMain(m *testing.M) {
	engine.Init() // this binary is also its sandboxes' shims and inits
	if os.Getenv(attackEnv) != "" {
		os.Exit(attack())
	}
	if dir := os.Getenv(serveEnv); dir != "" {
		os.Exit(serve(dir))
	}
	code := m.Run()
	if code == 0 {
		if err := leaked(20 * time.Second); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// leaked tells of goroutines that don't end in time. A deleted sandbox's shim is waited for in the
// background, and on a busy machine takes longer to go than goleak looks.
func leaked(within time.Duration) error {
	for end := time.Now().Add(within); ; {
		err := goleak.Find()
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}

// serve opens the engine, says so on standard output, and stays until
// standard input closes. For every line there it says how many goroutines it has.
func serve(dir string) int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	e, err := engine.Open(ctx, engine.Options{DataDir: dir})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println(runtime.NumGoroutine())
	}
	ctx, cancel = context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := e.Close(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
