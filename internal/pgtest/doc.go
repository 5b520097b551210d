// Package pgtest starts a PostgreSQL server for the tests of one package.
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
//
//	func TestSomething(t *testing.T) {
//		server := pgtest.Server(t)           // skips, loudly, where PostgreSQL is not installed
//		dsn := server.Database(t)            // an empty database of its own
//
// New starts another server for a test that must restart it (Down, Up) or set it up in its own way:
// passwords, TLS, few connections. Pooler puts PgBouncer before a server.
//
// The server is the installed one (Debian: apt-get install postgresql) with a cluster of its own in a
// temporary folder. It listens on a socket there and on a free port of the loopback interface, and
// ends with the test binary, however that ends. Root can't run it, so root starts it as the user
// postgres.
//
// imports: nothing of ours.
package pgtest
