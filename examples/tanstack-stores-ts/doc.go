// Package tanstackstores holds the test that type-checks stores.ts and runs check.ts against a daemon. It has
// no code of its own.
//
//	scripts/tanstack-stores.sh           # installs what package-lock.json says into bin/tanstack-stores
//	go test ./examples/tanstack-stores-ts
//
// imports: host, host/serve.
package tanstackstores
