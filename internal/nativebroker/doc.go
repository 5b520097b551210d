// Package nativebroker is a credential broker written in plain Go, for tests: it delivers into the
// credential vault of an OpenSandbox egress sidecar, and resolves references from a table.
//
//	broker := nativebroker.New(nativebroker.Options{Known: map[string]string{"table:github": value}})
//	client, err := sandbox.New(sandbox.Options{Broker: broker, …})
//
// It is what host/sandbox is tested over, and an example for whoever writes a broker as a part of their
// program: it passes every case of host/credential/brokertest. It is not part of the product: the product's
// broker is plugins/broker-vault.
//
// imports: host/credential.
package nativebroker
