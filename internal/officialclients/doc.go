// Package officialclients holds the tests that drive the embedded engine with the official OpenSandbox
// clients, as anybody gets them from npm and PyPI. It has no code of its own.
//
//	scripts/official-clients.sh          # installs the clients into bin/official-clients
//	go test ./internal/officialclients
//
// Each client's story, testdata/LANGUAGE/story.*, is what a program does from create to kill; its steps
// are the tests. The lock files beside it pin the client: to try a newer one, change package.json or
// requirements.in, lock again (the files say how), and install.
//
// imports: host/engine.
package officialclients
