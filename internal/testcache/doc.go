// Package testcache says where tests keep the machine code of guests: one place for all test binaries, which
// stays when they end. Compiling a guest takes a second, and under the race detector half a minute.
//
//	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+testcache.Home())
//	rt, err := plugin.NewRuntime(ctx, plugin.RuntimeOptions{CacheDir: testcache.Plugins()})
//
// What is kept there is found by the digest of its module and bounded in size by the runtime; it may be
// removed at any time.
//
// imports: nothing of ours.
package testcache

import (
	"os"
	"path/filepath"
	"strconv"
)

// Home is what $XDG_CACHE_HOME is for a program under test.
func Home() string {
	return filepath.Join(os.TempDir(), "alineo-host-test-cache-"+strconv.Itoa(os.Getuid()))
}

// Plugins is where such a program keeps compiled plugins.
func Plugins() string { return filepath.Join(Home(), "alineo-host", "plugins") }
