// Package sidecar is an egress sidecar's credential vault on a socket of its own, for trying brokers: the
// embedded engine's vault, in which requests can be looked up, and which can be made to fail.
//
//	s, err := sidecar.Open(brokertest.SidecarOptions{})
//	err = broker.Set(ctx, s.Sandbox(), "key", value, binding)
//	given, err := s.Request(brokertest.Request{Host: "api.example.com"})
//
// With a lag it is like the sidecars of OpenSandbox, where requests get for half a second what the vault
// said before a change.
//
// imports: host/credential, host/internal/engine/vault.
package sidecar
